"""Many treatments: all pairs, each beside a control, and what testing many times does to p."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from pyrometer.analyse.compare.studentized_range import quantile, upper_tail
from pyrometer.analyse.compare.two import LEVEL, logs
from pyrometer.estimate import Estimate


@dataclass(frozen=True)
class Pair:
    """One pair of many: B over A minus 1, with p and interval that hold for all pairs together."""

    a: str
    b: str
    change: Estimate
    p: float


def all_pairs(values: Mapping[str, Sequence[float]], level: float = LEVEL) -> list[Pair]:
    """Compare every pair with unequal variances (Games and Howell 1976), on logarithms.

    Parameters
    ----------
    values : mapping of str to sequence of float
        Times of each treatment, at least two treatments with two values each.

    Raises
    ------
    ValueError
        If there are fewer, or a value is not above zero.
    """
    names, lists = _lists(values)
    means = [float(np.mean(one)) for one in lists]
    errors = [float(np.var(one, ddof=1)) / len(one) for one in lists]
    made = []
    for i, j in itertools.combinations(range(len(names)), 2):
        difference, half, p = means[j] - means[i], 0.0, float(means[i] == means[j])
        if squares := errors[i] + errors[j]:
            freedom = squares**2 / sum(errors[at] ** 2 / (len(lists[at]) - 1) for at in (i, j))
            error = math.sqrt(squares / 2)
            half = quantile(level, len(names), freedom) * error
            p = upper_tail(abs(difference) / error, len(names), freedom)
        n = min(len(lists[i]), len(lists[j]))
        change = _change(
            difference, difference - half, difference + half, level, n, "games-howell of logs"
        )
        made.append(Pair(names[i], names[j], change, p))
    return made


def beside_control(
    values: Mapping[str, Sequence[float]], control: str, level: float = LEVEL, seed: int = 0
) -> list[Pair]:
    """Compare each treatment with the control (Dunnett 1955), on logarithms.

    Raises
    ------
    ValueError
        If there is no such treatment, or a list has fewer than two values.
    """
    if control not in values:
        raise ValueError(f"no treatment is called {control}")
    names, lists = _lists(values)
    at = names.index(control)
    others = [(name, one) for name, one in zip(names, lists, strict=True) if name != control]
    found = stats.dunnett(
        *(one for _, one in others), control=lists[at], rng=np.random.default_rng(seed)
    )
    interval = found.confidence_interval(level)
    return [
        Pair(
            control,
            name,
            _change(
                float(np.mean(one)) - float(np.mean(lists[at])),
                float(interval.low[i]),
                float(interval.high[i]),
                level,
                min(len(one), len(lists[at])),
                "dunnett of logs",
            ),
            float(found.pvalue[i]),
        )
        for i, (name, one) in enumerate(others)
    ]


def adjusted(p: Sequence[float], how: Literal["holm", "bh"] = "holm") -> list[float]:
    """Adjust p for testing many times: Holm to confirm, Benjamini and Hochberg to explore.

    Examples
    --------
    >>> [round(x, 3) for x in adjusted([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    >>> [round(x, 3) for x in adjusted([0.01, 0.04, 0.03], "bh")]
    [0.03, 0.04, 0.04]
    """
    if how == "bh":
        return [float(x) for x in stats.false_discovery_control(p, method="bh")] if p else []
    order = sorted(range(len(p)), key=lambda i: p[i])
    made, most = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, (len(p) - rank) * p[i]))
        made[i] = most
    return made


def _lists(values: Mapping[str, Sequence[float]]) -> tuple[list[str], list[list[float]]]:
    if len(values) < 2 or any(len(one) < 2 for one in values.values()):
        raise ValueError("at least two treatments with two values each are needed")
    return list(values), [logs(one) for one in values.values()]


def _change(value: float, low: float, high: float, level: float, n: int, method: str) -> Estimate:
    return Estimate(
        value=math.expm1(value),
        low=math.expm1(low),
        high=math.expm1(high),
        level=level,
        n=n,
        method=method,
    )
