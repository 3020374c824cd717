"""Configurations to choose from: changes of good ones, what experience says, and new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from pyrometer.core.errors import UsageError
from pyrometer.tune.space.cube import UNSET, choices, decode, draw, encode, key, near, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.space import Configuration, Space

MUTATIONS = 120
CROSSED = 40
DRAWN = 60
GRID = 12
"""Levels of a range, where one knob is tried over all of it."""

FURTHER = 0.35
"""Chance that a further knob is changed, after the first."""

MOST_DRAWN = 4
"""Knobs that are drawn at once: changing everything teaches little."""


def candidates(
    space: Space,
    good: Sequence[Configuration],
    active: Sequence[str],
    known: Iterable[str],
    rng: np.random.Generator,
) -> list[dict[str, str]]:
    """Make configurations that may be launched and are not known yet.

    Parameters
    ----------
    good : sequence of mapping
        The incumbent and what comes near it, the best first; may be empty.
    active : sequence of str
        Factors that do something: all others stay as the first of the good ones has them.
    known : iterable of str
        Keys of configurations not to give.
    """
    seen, found = set(known), []
    for one in _proposed(space, list(good) or [{}], list(active), rng):
        name = key(one)
        if name not in seen and infeasible(space, one) is None:
            seen.add(name)
            found.append(one)
    return found


def neighbours(
    space: Space, configuration: Configuration, active: Sequence[str]
) -> list[dict[str, str]]:
    """Give configurations that differ in one knob, over its whole range; unchecked."""
    point = encode(space, configuration)
    found = {}
    for at, one in enumerate(space.knobs):
        if one.factor not in active:
            continue
        count = len(choices(one)) if one.kind == "choice" else GRID
        for place in range(count):
            moved = point.copy()
            moved[at] = (place + 0.5) / count
            other = decode(space, moved)
            found[key(other)] = other
    found.pop(key(configuration), None)
    return list(found.values())


def first_levels(space: Space, active: Sequence[str]) -> dict[str, str]:
    """Give what experience tries first, of every knob that has such a level."""
    return {one.factor: one.first[0] for one in space.knobs if one.first and one.factor in active}


def feasible_part(space: Space, wanted: Configuration) -> dict[str, str]:
    """Take levels in the order of the space as long as all of them may be launched together."""
    found: dict[str, str] = {}
    for factor, level in wanted.items():
        more = plain(space, {**found, factor: level})
        if infeasible(space, more) is None:
            found = more
    return found


def _proposed(
    space: Space, good: list[Configuration], active: list[str], rng: np.random.Generator
) -> Iterator[dict[str, str]]:
    best = good[0]
    yield from _single_steps(space, best, active)
    for at in range(MUTATIONS if active else 0):
        base = good[0] if at % 2 else good[int(rng.integers(len(good)))]
        number = 1
        while number < len(active) and rng.random() < FURTHER:
            number += 1
        changed = rng.choice(len(active), number, replace=False)
        step = 0.1 if at % 3 else 0.3
        yield near(space, base, rng, [active[one] for one in changed], step)
    for _ in range(CROSSED if len(good) > 1 else 0):
        one, other = (good[int(at)] for at in rng.choice(len(good), 2, replace=False))
        yield plain(space, _crossed(one, other, rng))
    for _ in range(DRAWN):
        try:
            fresh = draw(space, rng)
        except UsageError:
            return
        some = rng.choice(len(active), min(MOST_DRAWN, len(active)), replace=False)
        yield plain(
            space, {**best, **{n: fresh[n] for n in (active[at] for at in some) if n in fresh}}
        )


def _single_steps(
    space: Space, best: Configuration, active: Sequence[str]
) -> Iterator[dict[str, str]]:
    """Put each knob to the levels that experience names, to each other choice, and back."""
    for one in space.knobs:
        if one.factor not in active:
            continue
        levels = dict.fromkeys([*one.first, *(choices(one) if one.kind == "choice" else ())])
        for level in levels:
            if level != UNSET:
                yield plain(space, {**best, one.factor: level})
        if one.factor in best:
            yield plain(space, {name: x for name, x in best.items() if name != one.factor})


def _crossed(one: Configuration, other: Configuration, rng: np.random.Generator) -> dict[str, str]:
    found = {}
    for name in dict.fromkeys([*one, *other]):
        source: Mapping[str, str] = one if rng.random() < 0.5 else other
        if name in source:
            found[name] = source[name]
    return found
