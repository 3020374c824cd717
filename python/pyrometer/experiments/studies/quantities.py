"""Quantities of a run by dotted paths, and their ratios with intervals.

A quantity that every iteration has becomes its mean over the measured ones, with Student's
interval.
A ratio within one run is that of each iteration; one between runs has the interval of the
difference of log means (delta method, Welch's degrees of freedom).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pyrometer.core.estimate import Estimate
from pyrometer.statistics.distributions import t_quantile
from pyrometer.statistics.warmup import LEVEL, mean_estimate

NAMES = ("name", "category", "operator", "path", "event")
"""Fields by which an item of a list is found."""
Quantity = Estimate | list[float]
"""An estimate that a document holds, or a number for each iteration."""


def resolve(document: Mapping[str, Any], path: str) -> Quantity | str:
    """Follow a dotted path to an estimate or to numbers; text says why there are none.

    A word chooses a field; of a list, the item of that ``name``, ``category``, ``operator``,
    ``path`` or ``event``, or of that place (``0``, ``1:``), else the field of each item.

    Examples
    --------
    >>> resolve({"iterations": [{"elapsed_ns": 3}, {"elapsed_ns": 5}]}, "iterations.elapsed_ns")
    [3.0, 5.0]
    >>> resolve({"parts": [{"name": "q01", "times_ns": [9, 5, 4]}]}, "parts.q01.times_ns.1:")
    [5.0, 4.0]
    >>> resolve({"ipc": {"ipc": None, "reason": "no PMU"}}, "ipc.ipc")
    'no ipc: no PMU'
    """
    value: Any = document
    reason = None
    for word in path.split("."):
        if isinstance(value, Mapping) and isinstance(value.get("reason"), str):
            reason = value["reason"]
        value = _step(value, word)
        if value is None:
            return f"no {word}" + (f": {reason}" if reason else "")
    return quantity(value)


def ratio(over: Quantity, under: Quantity, *, paired: bool) -> Estimate | None:
    """Divide; the interval is that of pairs within one run, else of the difference of log means.

    ``None`` if the divisor is zero.
    """
    if paired and isinstance(over, list) and isinstance(under, list) and len(over) == len(under):
        pairs = list(zip(over, under, strict=True))
        return None if any(b == 0 for _, b in pairs) else mean_estimate([a / b for a, b in pairs])
    a, b = estimate(over), estimate(under)
    if not b.value or a.value is None:
        return None
    point, n = a.value / b.value, min(a.n, b.n)
    half = _log_half_width(a, b) if a.value > 0 and b.value > 0 else None
    return Estimate(
        value=point,
        low=None if half is None else point * math.exp(-half),
        high=None if half is None else point * math.exp(half),
        level=LEVEL,
        n=n,
        method="welch of logs",
    )


def _log_half_width(a: Estimate, b: Estimate) -> float | None:
    variances = []
    for one in (a, b):
        if one.low is None or one.value is None or one.n < 2:
            return None
        error = (one.value - one.low) / float(t_quantile((1 + one.level) / 2, one.n - 1))
        variances.append(((error / one.value) ** 2, one.n - 1))
    total = sum(variance for variance, _ in variances)
    if total == 0:
        return 0.0
    freedom = total**2 / sum(variance**2 / df for variance, df in variances)
    return float(t_quantile((1 + LEVEL) / 2, freedom)) * math.sqrt(total)


def _step(value: Any, word: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(word)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    if word.isdecimal():
        return value[int(word)] if int(word) < len(value) else None
    if word.endswith(":") and word[:-1].isdecimal():
        return list(value[int(word[:-1]) :]) or None
    for item in value:
        if isinstance(item, Mapping) and any(item.get(key) == word for key in NAMES):
            return item
    each = [_step(item, word) for item in value]
    return None if not each or any(item is None for item in each) else each


def quantity(value: Any) -> Quantity | str:
    """Take an estimate, a number or a list of numbers as a quantity; text says why it is none."""
    if isinstance(value, Mapping) and {"value", "low", "high"} <= set(value):
        found = Estimate.model_validate(value)
        return found if found.value is not None else "no value"
    many = value if isinstance(value, list) else [value]
    if not all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in many):
        return "not a number"
    return [float(one) for one in many]


def estimate(found: Quantity, factor: float = 1.0) -> Estimate:
    """Return the mean with its interval, multiplied by `factor`."""
    mean = found if isinstance(found, Estimate) else mean_estimate(found)
    return mean.model_copy(
        update={
            key: None if value is None else value * factor
            for key, value in (("value", mean.value), ("low", mean.low), ("high", mean.high))
        }
    )


def rest_to_one(found: Estimate) -> Estimate:
    """Return 1 minus an estimate."""
    return found.model_copy(
        update={
            "value": None if found.value is None else 1 - found.value,
            "low": None if found.high is None else 1 - found.high,
            "high": None if found.low is None else 1 - found.low,
        }
    )
