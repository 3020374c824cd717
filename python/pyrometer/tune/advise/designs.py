"""First trials: which levels are compared, and in which combinations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pyrometer.tune.advise.candidates import feasible_part, first_levels
from pyrometer.tune.advise.screening import plackett_burman
from pyrometer.tune.space.cube import decode, encode, key
from pyrometer.tune.space.space import Space

FAR = (0.9, 0.1)
"""Places of a level that is far from a default in the lower half; of one in the upper, reversed."""


def changed_levels(space: Space) -> dict[str, str]:
    """Give another level of each knob: experience's first, else one far from the default."""
    found = first_levels(space, [one.factor for one in space.knobs])
    start = encode(space, {})
    for at, one in enumerate(space.knobs):
        if one.factor in found:
            continue
        for place in FAR if start[at] < 0.5 else FAR[::-1]:
            point = start.copy()
            point[at] = place
            level = decode(space, point).get(one.factor)
            if level is not None:
                found[one.factor] = level
                break
    return {one.factor: found[one.factor] for one in space.knobs if one.factor in found}


def screening_rows(
    space: Space, changed: Mapping[str, str], rng: np.random.Generator
) -> list[dict[str, str]]:
    """Give the trials of a screening: the baseline, by which others are stopped, then the rest.

    What may not be launched together is left out of a row.
    """
    rows = _rows(space, changed, rng)
    fresh = [one for one in rows if one]
    return [{}, *(fresh[int(at)] for at in rng.permutation(len(fresh)))]


def half_rows(
    space: Space, changed: Mapping[str, str], rng: np.random.Generator
) -> list[dict[str, str]]:
    """Give configurations that change half of the knobs each, every knob as often as the others.

    Half of the changes are those given, the others anything: an optimum between two levels shows
    at neither of them.
    """
    return [one for one in _rows(space, changed, rng, 0.5) if key(one)]


def _rows(
    space: Space, changed: Mapping[str, str], rng: np.random.Generator, other: float = 0.0
) -> list[dict[str, str]]:
    """Give rows of a design; `other` is the chance of another level than the one given."""
    names = list(changed)
    found = []
    for row in plackett_burman(max(len(names), 3))[:, : len(names)]:
        wanted = [name for name, sign in zip(names, row, strict=True) if sign > 0]
        # In random order, so that it is not always the same knob that finds no room.
        mixed = [wanted[int(at)] for at in rng.permutation(len(wanted))]
        anything = decode(space, rng.random(len(space.knobs)))
        levels = {
            name: anything.get(name, changed[name]) if rng.random() < other else changed[name]
            for name in mixed
        }
        found.append(feasible_part(space, levels))
    return found
