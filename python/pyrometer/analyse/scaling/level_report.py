"""Levels as they are told: value, speed-up and efficiency with intervals, and worker time."""

from __future__ import annotations

import math

from pyrometer.analyse.compare.two import LEVEL, logs, welch
from pyrometer.analyse.scaling.levels import Level
from pyrometer.analyse.scaling.losses import cpus_used, worker_time
from pyrometer.analyse.scaling.model import LevelReport
from pyrometer.estimate import Estimate


def level_report(level: Level, first: Level, fitted: bool) -> LevelReport:
    """Tell one level beside the first."""
    speedup = _speedup(level, first)
    ideal = level.p / first.p
    return LevelReport(
        p=level.p, work=level.work, value=level.value, speedup=speedup,
        efficiency=_times(speedup, 1 / ideal),
        worker_time=worker_time(level), cpus_used=cpus_used(level),
        bandwidth=level.mean("bandwidth"), fitted=fitted,
    )  # fmt: skip


def _speedup(level: Level, first: Level) -> Estimate:
    """Give the ratio of throughputs: of means, or with Welch's interval of logarithms."""
    value = first.unit_time / level.unit_time
    tested = None if level is first else welch(logs(first.values), logs(level.values))
    low, high = None, None
    if tested is not None and tested.difference.low is not None:
        assert tested.difference.high is not None
        # The interval of the ratio of geometric means, laid around the ratio of means.
        half = (tested.difference.high - tested.difference.low) / 2
        low, high = value * math.exp(-half), value * math.exp(half)
    return Estimate(
        value=value, low=low, high=high, level=LEVEL, n=min(level.n, first.n),
        method="welch of logs",
    )  # fmt: skip


def _times(one: Estimate, factor: float) -> Estimate:
    ends = {
        name: None if (end := getattr(one, name)) is None else end * factor
        for name in ("value", "low", "high")
    }
    return one.model_copy(update=ends)
