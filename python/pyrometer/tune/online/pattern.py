"""The next careful step: one knob a little further, as long as it helps (Hooke, Jeeves 1961)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from pyrometer.tune.space.cube import choices, decode, encode, key, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.space import Configuration, Space

STEPS = (0.2, 0.1)
"""Parts of a knob's range by which it is moved, the second where the first leads nowhere."""

CHOICE = 2.0
"""Choices have no direction: their places are written so much lower, and are no moves."""


def steps(
    space: Space,
    incumbent: Configuration,
    barred: Collection[str],
    seed: int,
    ideas: Sequence[Configuration] = (),
    went: tuple[str, float] | None = None,
) -> Iterator[tuple[dict[str, str], tuple[str, float], str]]:
    """Give careful steps from an incumbent, the most promising first.

    Parameters
    ----------
    barred : collection of str
        Keys of configurations that were tried.
    ideas : sequence of mapping
        What findings recommend: tried first, on top of the incumbent.
    went : (str, float), optional
        Knob and move of the last step that helped: it is gone on with.

    Yields
    ------
    (dict, (str, float), str)
        Configuration, knob and move, and why.
    """
    # The job as it is runs anyway, as a control.
    bad = {"", *barred, key(incumbent)}
    drawn = np.random.default_rng(seed).permutation(len(space.knobs))
    order = [space.knobs[int(at)] for at in drawn]
    for idea in ideas:
        found = plain(space, {**incumbent, **idea})
        if key(found) not in bad and infeasible(space, found) is None:
            yield found, ("", 0.0), "a finding's remedy"
    places = {knob.factor: at for at, knob in enumerate(space.knobs)}
    moves: list[tuple[str, float, str]] = []
    # Not further with what is varied no longer.
    if went is not None and went[0] in places:
        moves.append((*went, "further, since it helped"))
    for step in STEPS:
        for knob in order:
            if knob.kind == "choice":
                count = len(choices(knob))
                there = [(at + 0.5) / count for at in range(count)]
                moves += [(knob.factor, one - CHOICE, "another choice") for one in there]
            else:
                moves += [(knob.factor, sign * step, "a step") for sign in (1.0, -1.0)]
    start = encode(space, incumbent)
    for factor, move, why in moves:
        point = start.copy()
        at = places[factor]
        point[at] = move + CHOICE if move < -1 else float(np.clip(point[at] + move, 0.0, 1.0))
        found = decode(space, point)
        if key(found) in bad or infeasible(space, found) is not None:
            continue
        bad.add(key(found))
        yield found, (factor, move), why
