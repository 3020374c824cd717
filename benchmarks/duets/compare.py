"""Ratios of duets, with intervals, beside those of two bare sides. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.duets.plan import CANARY
from benchmarks.statistics import log_ratios, rank_interval, spread, t_interval
from pyrometer.core.estimate import Estimate

VALUES = ("iterations", "application")
"""The warm iterations; all from the driver's start to the exit of its JVM."""
RANKS_FROM = 10
"""Pairs from which the ranks have an interval."""
GOAL = 0.02

Times = Mapping[str, Any]
"""What a side wrote: begin and end of the application, and of each iteration."""


def iterations_ratio(bare: Times, other: Times, warmup: int) -> float | None:
    """Ratio of the warm iterations of a pair: the geometric mean of that of each two.

    Those of the same number are compared, since in a JVM later ones are faster. Once a side is
    through, the other has the machine to itself: iterations that ended later are left out.
    ``None`` if that leaves none.

    Examples
    --------
    >>> bare = {"iterations_ns": [(0, 50), (50, 60), (60, 70), (70, 80)]}
    >>> other = {"iterations_ns": [(0, 50), (50, 62), (62, 74), (74, 86)]}
    >>> round(iterations_ratio(bare, other, warmup=1), 3)
    1.2
    """
    both = list(zip(bare["iterations_ns"], other["iterations_ns"], strict=True))
    over = min(end for _, end in both[-1])
    kept = [(a, b) for a, b in both[warmup:] if max(a[1], b[1]) <= over]
    if not kept:
        return None
    logs = log_ratios([a[1] - a[0] for a, _ in kept], [b[1] - b[0] for _, b in kept])
    return math.exp(float(np.mean(logs)))


def application_ratio(bare: Times, other: Times) -> float:
    """Ratio of the whole application of a pair.

    Examples
    --------
    >>> application_ratio({"application_ns": (5, 15)}, {"application_ns": (6, 17)})
    1.1
    """
    return _application_ns(other) / _application_ns(bare)


def _application_ns(side: Times) -> int:
    began, ended = side["application_ns"]
    return int(ended - began)


def ratios(bare: Times, other: Times, warmup: int) -> dict[str, float | None]:
    """Both ratios of a pair, by the names of `VALUES`."""
    return {
        "iterations": iterations_ratio(bare, other, warmup),
        "application": application_ratio(bare, other),
    }


def interval(logs: Sequence[float]) -> Estimate:
    """Ratio with the interval of the ranks, or Student's where pairs are too few for it."""
    return rank_interval(logs) if len(logs) >= RANKS_FROM else t_interval(logs)


def pairs_needed(logs: Sequence[float], margin: float = GOAL) -> int | None:
    """Pairs of such noise whose interval ends no further than `margin` from the ratio.

    The noise is that which the width of the interval shows: pairs that met a stall count as little
    as they do there. ``None`` without an interval.

    Examples
    --------
    >>> pairs_needed([0.05, -0.05] * 4), pairs_needed([0.01])
    (31, None)
    """
    n, found = len(logs), interval(logs)
    if found.low is None or found.high is None:
        return None
    half = math.log(found.high / found.low) / 2
    noise = half * math.sqrt(n) / _quantile(n if n < RANKS_FROM else None)
    count = max(2, math.ceil((_quantile(None) * noise / math.log1p(margin)) ** 2))
    while _quantile(count) * noise / math.sqrt(count) > math.log1p(margin):
        count += 1
    return count


def _quantile(count: int | None) -> float:
    """Give Student's for so many pairs, or the normal one."""
    return float(stats.norm.ppf(0.975) if count is None else stats.t.ppf(0.975, count - 1))


def comparisons(pairs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Compare every profile of every workload with bare, and two bare sides beside it."""
    finished = [pair for pair in pairs if pair["failure"] is None]
    rows = []
    for workload in dict.fromkeys(pair["workload"] for pair in finished):
        by_kind: dict[str, list[Mapping[str, Any]]] = {}
        for pair in finished:
            if pair["workload"] == workload:
                by_kind.setdefault(pair["kind"], []).append(pair)
        bare = [
            _application_ns(pair["sides"]["bare"]) for kind in by_kind for pair in by_kind[kind]
        ]
        for profile in sorted(by_kind.keys() - {CANARY}, reverse=True):
            rows += [
                {
                    "workload": workload,
                    "profile": profile,
                    "value": value,
                    **_estimated(by_kind[profile], value),
                    "canary": _estimated(by_kind.get(CANARY, []), value),
                    "bare_application_ns": float(np.median(bare)),
                }
                for value in VALUES
            ]
    return rows


def _estimated(pairs: Iterable[Mapping[str, Any]], value: str) -> dict[str, Any]:
    found = [pair["ratios"][value] for pair in pairs]
    logs = [math.log(ratio) for ratio in found if ratio is not None]
    return {
        "ratio": interval(logs).model_dump(),
        "pair_sd": spread(logs),
        "pairs_needed": pairs_needed(logs),
    }


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Lay the comparisons out as text."""
    lines = [
        f"{'workload':<14}{'profile':<9}{'value':<13}{'n':>4}{'ratio':>8}  {'95 % interval':<18}"
        f"{'n':>4}{'A/A':>8}  {'95 % interval':<18}{'bare':>9}{'pairs for ±2 %':>16}"
    ]
    for row in rows:
        needed = "-" if row["pairs_needed"] is None else f"{row['pairs_needed']}"
        seconds = row["bare_application_ns"] / 1e9
        lines.append(
            f"{row['workload']:<14}{row['profile']:<9}{row['value']:<13}{_cells(row['ratio'])}"
            f"{_cells(row['canary']['ratio'])}{seconds:>7.1f} s{needed:>16}"
        )
    return "\n".join(lines)


def _cells(found: Mapping[str, Any]) -> str:
    value = "-" if found["value"] is None else f"{found['value']:.4f}"
    ends = "-" if found["low"] is None else f"{found['low']:.4f} … {found['high']:.4f}"
    return f"{found['n']:>4}{value:>8}  {ends:<18}"
