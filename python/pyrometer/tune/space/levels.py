"""Levels as numbers and as text: what is written is short, and reads back as itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from pyrometer.core.errors import UsageError
from pyrometer.core.schema import spark_unit
from pyrometer.experiments.plan.constraints import number_or_text
from pyrometer.tune.space.space import Knob

STEPS = 4
"""Sizes that are written, by octave: 64m, 80m, 96m, 112m, 128m."""

LEAST_BINARY = 256

_UNITS = (("t", 1 << 40), ("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10))


def read_level(knob: Knob, text: str) -> float | None:
    """Read a level as a number; ``None`` for choices and special levels.

    Raises
    ------
    UsageError
        If it is no level of this knob.

    Examples
    --------
    >>> read_level(Knob("jvm.heap", "size", 1 << 30, 8 << 30), "2g")
    2147483648.0
    """
    if as_special(text, knob.special) is not None:
        return None
    if knob.kind == "choice":
        if text not in knob.levels:
            raise UsageError(
                f"{knob.factor} has no level {text!r} here", f"use one of: {', '.join(knob.levels)}"
            )
        return None
    value = number_or_text(text)
    if isinstance(value, bool | str) or not math.isfinite(value):
        raise UsageError(f"{knob.factor}={text}: not a number", f"for example {_example(knob)}")
    if knob.kind == "int" and value != int(value):
        raise UsageError(f"{knob.factor}={text}: not a whole number")
    return value


def with_unit(factor: str, text: str) -> str:
    """Write the unit that Spark takes for a number alone in a setting that is a size.

    Examples
    --------
    >>> with_unit("spark.executor.memory", "4096"), with_unit("spark.sql.shuffle.partitions", "8")
    ('4096m', '8')
    """
    return f"{text}{spark_unit(factor)}" if text.isdigit() else text


def as_special(text: str, special: Sequence[str]) -> str | None:
    """Find the special level that a text means, however it is written; ``None``: it is another.

    Whatever is below zero means what ``-1`` does.

    Examples
    --------
    >>> as_special("0", ["0b"]), as_special("-1b", ["-1"]), as_special("64m", ["-1"])
    ('0b', '-1', None)
    """
    wanted = _signed(text)
    for one in special:
        known = _signed(one)
        if text == one or (wanted is not None and known == wanted):
            return one
    return None


def _signed(text: str) -> float | None:
    """Read a number; of those below zero it does not matter which it is."""
    value = number_or_text(text.removeprefix("-"))
    if not isinstance(value, float):
        return None
    return -1.0 if text.startswith("-") and value else value


def write_level(knob: Knob, value: float) -> str:
    """Write a number as a level: within the range, and no more exact than it matters.

    Examples
    --------
    >>> write_level(Knob("jvm.heap", "size", 1 << 30, 8 << 30, log=True), 3.3 * (1 << 30))
    '3584m'
    >>> write_level(Knob("spark.sql.shuffle.partitions", "int", 1, 5000, log=True), 1234.5)
    '1200'
    """
    low, high = bounds(knob)
    if knob.kind == "size":
        return _size(min(max(_stepped(value), low), high), low, high)
    if knob.kind == "int":
        rounded = round(value)
        if knob.log:
            # Where a range begins at a power of two, so do the levels that people write.
            binary = low >= LEAST_BINARY and math.log2(low).is_integer()
            rounded = int(_stepped(value)) if binary else _significant(value)
        return str(int(min(max(rounded, math.ceil(low)), math.floor(high))))
    return without_exponent(min(max(float(f"{value:.2g}"), low), high))


def without_exponent(value: float) -> str:
    """Write a number to six digits, as levels are read.

    Examples
    --------
    >>> without_exponent(0.6), without_exponent(1e-05), without_exponent(2.5e6)
    ('0.6', '0.00001', '2500000')
    """
    return f"{Decimal(f'{value:g}'):f}"


def bounds(knob: Knob) -> tuple[float, float]:
    """Give the range of a knob that has one.

    Raises
    ------
    ValueError
        For choices.
    """
    if knob.low is None or knob.high is None:
        raise ValueError(f"{knob.factor} has levels, not a range")
    return knob.low, knob.high


def same_level(knob: Knob, one: str, other: str) -> bool:
    """Whether two texts are the same level.

    Examples
    --------
    >>> same_level(Knob("jvm.heap", "size", 1 << 20, 1 << 40), "1g", "1024m")
    True
    """
    if one == other or (as_special(one, knob.special) or one) == as_special(other, knob.special):
        return True
    try:
        first, second = read_level(knob, one), read_level(knob, other)
    except UsageError:
        return False
    return first is not None and first == second


def _stepped(value: float) -> float:
    if value < 1:
        return value
    octave = 2.0 ** math.floor(math.log2(value))
    return octave * round(value / octave * STEPS) / STEPS


def _significant(value: float) -> int:
    return int(float(f"{value:.2g}")) if value >= 1 else 0


def _size(value: float, low: float, high: float) -> str:
    for name, unit in _UNITS:
        whole = round(value / unit)
        if whole * unit == value and whole:
            return f"{whole}{name}"
    # Not on a step, since an end of the range is none: the nearest whole number of a unit inside.
    for name, unit in _UNITS:
        for whole in (math.floor(value / unit), math.ceil(value / unit)):
            if whole >= 32 and low <= whole * unit <= high:
                return f"{whole}{name}"
    return f"{round(value)}b"


def _example(knob: Knob) -> str:
    return knob.levels[0] if knob.levels else write_level(knob, bounds(knob)[0])
