"""Which duets are played, in which order, and who gets which CPU. Pure, but for `two_cpus`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyrometer.collect.host import facts
from pyrometer.experiments.run.trials import shares
from pyrometer.trial.factors import parse_cpus

CANARY = "A/A"
"""Kind of a duet of two bare sides."""


@dataclass(frozen=True)
class Duet:
    """A pair of JVMs that run at once.

    Attributes
    ----------
    block, kind : int, str
        From 0; profile of the side that is measured, or `CANARY`.
    swapped : bool
        Whether the bare side has the second CPU instead of the first.
    bare_first : bool
        Whether the bare side is started first.
    """

    block: int
    kind: str
    swapped: bool
    bare_first: bool

    def cpus(self, both: tuple[int, int]) -> tuple[int, int]:
        """CPU of the bare side, and of the other.

        Examples
        --------
        >>> Duet(0, "light", swapped=True, bare_first=True).cpus((0, 1))
        (1, 0)
        """
        return (both[1], both[0]) if self.swapped else both


def blocks(profiles: Sequence[str], count: int, seed: int) -> Iterator[list[Duet]]:
    """Plan blocks: each has a duet of every profile and a canary, in random order.

    CPUs and the order of starts are drawn in every other block for each kind, and turned round in
    the one after it: after an even number of blocks no kind has had a CPU more often.
    """
    draw = random.Random(f"duets/{seed}")
    kinds = [CANARY, *profiles]
    drawn: dict[str, tuple[bool, bool]] = {}
    for block in range(count):
        for kind in kinds:
            swapped, bare_first = drawn.get(kind, (False, False))
            drawn[kind] = (
                (not swapped, not bare_first)
                if block % 2
                else (draw.random() < 0.5, draw.random() < 0.5)
            )
        yield [Duet(block, kind, *drawn[kind]) for kind in draw.sample(kinds, len(kinds))]


def two_cpus(allowed: frozenset[int]) -> tuple[int, int] | None:
    """Pick a CPU for each side, of different cores where there are two; ``None`` if only one is.

    Parameters
    ----------
    allowed : frozenset of int
        CPUs that may be used.
    """
    if len(allowed) < 2:
        return None
    cpus = [cpu for cpu in facts.read().cpus if cpu.number in allowed]
    first, second = (parse_cpus(half) for half in shares(cpus))
    assert isinstance(first, frozenset)
    assert isinstance(second, frozenset)
    return min(first), min(second)
