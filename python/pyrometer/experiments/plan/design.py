"""The order of trials: randomised complete blocks, the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

Kind = Literal["randomized-blocks", "fixed-order", "toggle", "duet"]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Slot:
    """One trial's place: its number and block (from 1), and which treatment.

    Attributes
    ----------
    iterations : tuple of int
        Where treatments take turns in one JVM: positions of this treatment's iterations.
    side : int or None
        Where two run in parallel: on which side this one runs.
    """

    number: int
    block: int
    treatment: str
    iterations: tuple[int, ...] = ()
    side: int | None = None


class Draw:
    """Random choices from a seed by PCG64.

    Only the generator's raw output is used: NumPy guarantees that stream, but not its methods.
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def below(self, limit: int) -> int:
        """Draw a whole number from 0 to `limit` - 1, uniformly."""
        accepted = (1 << 64) - (1 << 64) % limit
        while True:
            found = int(self._bits.random_raw())
            if found < accepted:
                return found % limit

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Permute (Fisher and Yates).

        Examples
        --------
        >>> Draw(1).shuffled("abcdef")
        ['a', 'c', 'd', 'e', 'f', 'b']
        """
        order = list(items)
        for at in range(len(order) - 1, 0, -1):
            other = self.below(at + 1)
            order[at], order[other] = order[other], order[at]
        return order


def schedule(
    treatments: Mapping[str, Mapping[str, object]],
    blocks: int,
    seed: int,
    *,
    kind: Kind = "randomized-blocks",
    split: Sequence[str] = (),
) -> list[Slot]:
    """Decide the order of all trials.

    Parameters
    ----------
    treatments : mapping
        Levels by factor, by the treatment's name.
    blocks : int
        Passes over all treatments.
    seed : int
        Of the permutations.
    kind : str
        ``fixed-order`` runs all blocks of one treatment after another, as a naive comparison does.
    split : sequence of str
        Factors that are dear to change: within a block, treatments that share their levels stand
        together (split plots); the order of the groups and within each is random.

    Examples
    --------
    >>> slots = schedule({"a": {}, "b": {}, "c": {}}, 2, seed=7)
    >>> [(one.block, one.treatment) for one in slots]
    [(1, 'c'), (1, 'b'), (1, 'a'), (2, 'b'), (2, 'a'), (2, 'c')]
    """
    if kind == "fixed-order":
        order = [(block, name) for name in treatments for block in range(1, blocks + 1)]
    else:
        draw = Draw(seed)
        order = []
        for block in range(1, blocks + 1):
            wholes: dict[tuple[str, ...], list[str]] = {}
            for name, levels in treatments.items():
                key = tuple(str(levels.get(factor)) for factor in split)
                wholes.setdefault(key, []).append(name)
            for key in draw.shuffled(list(wholes)):
                order += [(block, name) for name in draw.shuffled(wholes[key])]
    return [Slot(number, block, name) for number, (block, name) in enumerate(order, 1)]


def in_turn(treatments: Sequence[str], blocks: int, seed: int, rounds: int) -> list[Slot]:
    """Decide the order in which treatments take turns: a block is one JVM, a round runs all.

    Trials of a block stand in the order of their first iterations.

    Examples
    --------
    >>> [(one.block, one.treatment, one.iterations) for one in in_turn("ab", 2, seed=7, rounds=3)]
    [(1, 'a', (0, 2, 5)), (1, 'b', (1, 3, 4)), (2, 'b', (0, 3, 4)), (2, 'a', (1, 2, 5))]
    """
    draw = Draw(seed)
    turns: list[tuple[int, str, tuple[int, ...]]] = []
    for block in range(1, blocks + 1):
        places: dict[str, list[int]] = {}
        for start in range(0, rounds * len(treatments), len(treatments)):
            for at, name in enumerate(draw.shuffled(treatments), start):
                places.setdefault(name, []).append(at)
        turns += [(block, name, tuple(found)) for name, found in places.items()]
    return [Slot(number, *one) for number, one in enumerate(turns, 1)]


def in_parallel(pair: tuple[str, str], blocks: int, seed: int) -> list[Slot]:
    """Assign two treatments to sides: drawn in every odd block, swapped in the next.

    Examples
    --------
    >>> [(one.block, one.treatment, one.side) for one in in_parallel(("a", "b"), 2, seed=1)]
    [(1, 'a', 0), (1, 'b', 1), (2, 'b', 0), (2, 'a', 1)]
    """
    draw, sides = Draw(seed), []
    order: list[str] = []
    for block in range(1, blocks + 1):
        order = draw.shuffled(pair) if block % 2 else order[::-1]
        sides += [(block, name, side) for side, name in enumerate(order)]
    return [
        Slot(number, block, name, side=side) for number, (block, name, side) in enumerate(sides, 1)
    ]
