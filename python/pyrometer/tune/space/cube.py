"""A space as the unit cube: one coordinate a knob, and back to levels that may be launched.

Special levels, and leaving a factor out where its default is not known, have a fifth of their
coordinate, so that they are tried at all (Kanellis et al. 2022, LlamaTune). Factors that have no
effect beside others (threads of a collector that has one) are dropped: such configurations are
the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.errors import UsageError
from pyrometer.tune.space.feasible import OWN_GENERATIONS, infeasible
from pyrometer.tune.space.levels import as_special, bounds, read_level, same_level, write_level
from pyrometer.tune.space.space import Configuration, Knob, Space

Array = NDArray[np.float64]

SPECIAL_SHARE = 0.2
"""Part of a coordinate that special levels have together."""

UNSET = ""
"""Stands for leaving a factor out, among special levels."""

TRIES = 200
"""Draws until a space is taken to have no room."""


def specials(knob: Knob) -> tuple[str, ...]:
    """List special levels, leaving out among them where nobody knows what holds then."""
    return (UNSET, *knob.special) if knob.default is None else knob.special


def choices(knob: Knob) -> tuple[str, ...]:
    """List levels of a choice, leaving out among them where nobody knows what holds then."""
    return (UNSET, *knob.levels) if knob.default is None else knob.levels


def encode(space: Space, configuration: Configuration) -> Array:
    """Place a configuration in the unit cube; what is left out stands at its default.

    Raises
    ------
    UsageError
        If a level is none.

    Examples
    --------
    >>> knob = Knob("spark.sql.shuffle.partitions", "int", 1, 10_000, log=True, default="100")
    >>> encode(Space("mine", (knob,)), {}).tolist()
    [0.5]
    """
    return np.array([_coordinate(one, configuration.get(one.factor)) for one in space.knobs])


def decode(space: Space, point: Sequence[float] | Array) -> dict[str, str]:
    """Read a point of the unit cube as a configuration, in its plain form.

    Examples
    --------
    >>> knob = Knob("spark.sql.shuffle.partitions", "int", 1, 10_000, log=True, default="100")
    >>> space = Space("mine", (knob,))
    >>> decode(space, [0.25]), decode(space, [0.5])
    ({'spark.sql.shuffle.partitions': '10'}, {})
    """
    found = {
        one.factor: level_at(one, float(place))
        for one, place in zip(space.knobs, point, strict=True)
    }
    return plain(space, {name: text for name, text in found.items() if text != UNSET})


def plain(space: Space, configuration: Configuration) -> dict[str, str]:
    """Leave out levels that hold anyway, and factors that have no effect beside the others.

    Examples
    --------
    >>> knob = Knob("jvm.gc", "choice", levels=("g1", "parallel"), default="g1")
    >>> plain(Space("mine", (knob,)), {"jvm.gc": "g1"})
    {}
    """
    known = {one.factor: one for one in space.knobs}
    kept = {}
    for name in [*(n for n in known if n in configuration), *(configuration.keys() - known)]:
        default = known[name].default if name in known else None
        if default is None or not same_level(known[name], configuration[name], default):
            kept[name] = configuration[name]
    return _without_idle(kept)


def draw(space: Space, rng: np.random.Generator, base: Array | None = None) -> dict[str, str]:
    """Draw a feasible configuration; where hardly any is, levels of one that go together.

    Parameters
    ----------
    base : array, optional
        A row of numbers to begin with, one a knob (of a space-filling sequence); the next draws
        are uniform.

    Raises
    ------
    UsageError
        If there is none to be had.
    """
    point = rng.random(len(space.knobs)) if base is None else base
    for _ in range(TRIES):
        found = decode(space, point)
        if infeasible(space, found) is None:
            return found
        point = rng.random(len(space.knobs))
    if part := _feasible_part(space, found, rng):
        return part
    raise UsageError(
        f"none of {TRIES} configurations of the space {space.name} may be launched: "
        f"{infeasible(space, found)}",
        "widen its ranges, or take constraints away",
    )


def _feasible_part(space: Space, wanted: Configuration, rng: np.random.Generator) -> dict[str, str]:
    """Take levels in a random order as long as all of them may be launched together."""
    found: dict[str, str] = {}
    names = sorted(wanted)
    for at in rng.permutation(len(names)):
        more = plain(space, {**found, names[at]: wanted[names[at]]})
        if infeasible(space, more) is None:
            found = more
    return found


def near(
    space: Space,
    configuration: Configuration,
    rng: np.random.Generator,
    factors: Sequence[str],
    step: float = 0.15,
) -> dict[str, str]:
    """Change a few factors of a configuration: by a step, or to another level."""
    point = encode(space, configuration)
    for at, one in enumerate(space.knobs):
        if one.factor not in factors:
            continue
        if one.kind == "choice" or (specials(one) and rng.random() < SPECIAL_SHARE):
            point[at] = rng.random()
        else:
            low = SPECIAL_SHARE if specials(one) else 0.0
            point[at] = float(np.clip(point[at] + rng.normal(0.0, step), low, 1.0))
    return decode(space, point)


def features(space: Space, configurations: Sequence[Configuration]) -> Array:
    """Describe configurations by numbers for a model: ranges from 0 to 1, other levels by marks.

    Columns of a knob follow each other, as :func:`columns` says.
    """
    rows = [
        [value for one in space.knobs for value in _described(one, found.get(one.factor))]
        for found in configurations
    ]
    return np.array(rows, float).reshape(len(configurations), len(columns(space)))


def columns(space: Space) -> tuple[int, ...]:
    """Give the number of the knob that each column of :func:`features` describes."""
    return tuple(at for at, one in enumerate(space.knobs) for _ in _described(one, None))


def key(configuration: Configuration) -> str:
    """Name a configuration, however its factors are ordered.

    Examples
    --------
    >>> key({"b": "2", "a": "1"}), key({})
    ('a=1 b=2', '')
    """
    return " ".join(f"{name}={configuration[name]}" for name in sorted(configuration))


def _coordinate(knob: Knob, text: str | None) -> float:
    text = knob.default if text is None else text
    if knob.kind == "choice":
        levels = choices(knob)
        at = _index(knob, levels, UNSET if text is None else text)
        return (at + 0.5) / len(levels)
    others = specials(knob)
    known = None if text is None else as_special(text, knob.special)
    if text is None or known is not None:
        at = others.index(known or UNSET)
        return SPECIAL_SHARE * (at + 0.5) / len(others)
    share = SPECIAL_SHARE if others else 0.0
    return share + (1 - share) * _scaled(knob, text)


def level_at(knob: Knob, place: float) -> str:
    """Give the level at a coordinate; :data:`UNSET` where the factor is left out.

    Examples
    --------
    >>> level_at(Knob("jvm.gc", "choice", levels=("g1", "parallel"), default="g1"), 0.9)
    'parallel'
    """
    place = min(max(place, 0.0), 1.0)
    if knob.kind == "choice":
        levels = choices(knob)
        return levels[min(int(place * len(levels)), len(levels) - 1)]
    others = specials(knob)
    if others and place < SPECIAL_SHARE:
        return others[min(int(place / SPECIAL_SHARE * len(others)), len(others) - 1)]
    share = SPECIAL_SHARE if others else 0.0
    low, high = bounds(knob)
    part = (place - share) / (1 - share)
    if knob.log:
        low, high = _logs(low, high)
        return write_level(knob, math.exp(low + part * (high - low)))
    return write_level(knob, low + part * (high - low))


def _scaled(knob: Knob, text: str) -> float:
    value = read_level(knob, text)
    low, high = bounds(knob)
    if value is None:
        raise UsageError(f"{knob.factor} has no level {text!r}")
    if knob.log:
        low, high = _logs(low, high)
        value = math.log(max(value, math.exp(low)))
    return min(max((value - low) / (high - low), 0.0), 1.0)


def _logs(low: float, high: float) -> tuple[float, float]:
    return math.log(max(low, 1e-12)), math.log(high)


def _index(knob: Knob, levels: Sequence[str], text: str) -> int:
    if text not in levels:
        raise UsageError(
            f"{knob.factor} has no level {text!r} here",
            f"use one of: {', '.join(one for one in levels if one != UNSET)}",
        )
    return list(levels).index(text)


def _described(knob: Knob, text: str | None) -> list[float]:
    text = knob.default if text is None else text
    if knob.kind == "choice":
        levels = choices(knob)
        at = _index(knob, levels, UNSET if text is None else text)
        if len(levels) == 2:
            return [float(at)]
        # Two different levels are as far apart as the ends of a range.
        return [math.sqrt(0.5) * (at == one) for one in range(len(levels))]
    others = specials(knob)
    known = None if text is None else as_special(text, knob.special)
    marks = [1.0 * ((UNSET if text is None else known) == one) for one in others]
    return [0.5 if text is None or known is not None else _scaled(knob, text), *marks]


def _without_idle(found: Mapping[str, str]) -> dict[str, str]:
    idle = set()
    if "layout.executors" not in found:
        idle |= {"layout.cores_per_executor"}
        idle |= {"cpu.bind"} if found.get("cpu.bind") == "own" else set()
    elif "layout.cores_per_executor" in found:
        idle |= {"layout.tasks"}
    if found.get("jvm.gc") == "serial":
        idle |= {"jvm.gc_threads"}
    if found.get("jvm.gc") in OWN_GENERATIONS:
        idle |= {"jvm.young"}
    return {name: text for name, text in found.items() if name not in idle}
