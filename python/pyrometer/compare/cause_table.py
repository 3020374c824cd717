"""Numbers of a table of causes, rounded so that what is printed adds up to the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

_DIGITS = 3
_HALF = 1e-9
"""What halves may have lost as binary numbers."""


def apportioned(values: Sequence[float], decimals: int) -> list[float]:
    """Round to some decimals so that the sum is the rounded sum of the values.

    The largest remainders are rounded up, as seats of a parliament are given; the sum is rounded
    half away from zero, as `units` does.

    Examples
    --------
    >>> apportioned([1 / 3, 1 / 3, 1 / 3], 1), apportioned([0.25, -0.15], 1)
    ([0.4, 0.3, 0.3], [0.3, -0.2])
    >>> sum(apportioned([-6.0, -2.5], 0)), apportioned([], 2)
    (-9.0, [])
    """
    factor = 10**decimals
    scaled = [value * factor for value in values]
    down = [math.floor(value) for value in scaled]
    whole = math.fsum(scaled)
    missing = int(math.copysign(abs(whole) + 0.5 + _HALF, whole)) - sum(down)
    order = sorted(range(len(down)), key=lambda n: down[n] - scaled[n])
    for n in order[:missing]:
        down[n] += 1
    return [value / factor for value in down]


def seconds_column(values: Sequence[float]) -> tuple[list[str], str]:
    """Write changes in one unit, so that they add up as printed; the last is the whole.

    Examples
    --------
    >>> seconds_column([3.654, -0.0701, 3.5839])
    (['+3.65 s', '−0.07 s', '+3.58 s'], 's')
    >>> seconds_column([0.0121, 0.0121])
    (['+12.1 ms', '+12.1 ms'], 'ms')
    """
    most = max((abs(value) for value in values), default=0.0)
    factor, unit = (1.0, "s") if most >= 1 or most <= 0 else (1e3, "ms")
    decimals = _decimals(most * factor)
    parts = apportioned([value * factor for value in values[:-1]], decimals)
    whole = math.fsum(parts)
    texts = [f"{_signed(part, decimals)} {unit}" for part in [*parts, whole]]
    return texts, unit


def shares_column(values: Sequence[float]) -> list[str]:
    """Write shares of a whole in per cent, so that they add up to 100.0 as printed.

    Examples
    --------
    >>> shares_column([2.0, -0.5, 0.5])
    ['100.0 %', '−25.0 %', '25.0 %']
    """
    whole = math.fsum(values)
    parts = apportioned([100 * value / whole for value in values], 1)
    return [f"{part + 0.0:.1f} %".replace("-", "−") for part in parts]


def _decimals(most: float) -> int:
    if most <= 0:
        return 0
    return max(0, _DIGITS - 1 - math.floor(math.log10(most)))


def _signed(value: float, decimals: int) -> str:
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return f"{sign}{abs(value):.{decimals}f}"
