"""Reports of laws: parameters, residuals, errors, predictions against measurements.

Reports of levels: value, speed-up and efficiency with intervals, and worker time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.scaling.schema import LawReport, LevelReport, Prediction, Residual
from pyrometer.statistics.scaling import forecast
from pyrometer.statistics.scaling.forecast import FAR, POOLED, Model, Predictor
from pyrometer.statistics.scaling.laws import DRAWN, TAILS, USL, Array, Fitted
from pyrometer.statistics.scaling.levels import Kind, Level, cpus_used, worker_time
from pyrometer.statistics.two import logs
from pyrometer.statistics.welch import welch


@dataclass(frozen=True)
class Curve:
    """What laws are fitted to and compared with.

    Attributes
    ----------
    levels, fitted : sequence of Level
        All measured levels, and those that are fitted.
    targets : sequence of (float, float)
        Workers and work to predict.
    """

    levels: Sequence[Level]
    fitted: Sequence[Level]
    targets: Sequence[tuple[float, float]]
    kind: Kind


def law_report(name: str, model: Predictor | str, curve: Curve) -> LawReport:
    """Report on one law or other predictor."""
    if isinstance(model, str):
        return LawReport(name=name, reason=model)
    fitted = curve.fitted
    times = model.unit_times([one.p for one in fitted], [one.work for one in fitted])
    report = LawReport(
        name=name,
        residuals=[
            Residual(p=one.p, work=one.work, ratio=_residual(one.unit_time / t, curve.kind))
            for one, t in zip(fitted, map(float, times), strict=True)
        ],
    )
    if curve.targets:
        p, work = ([one[at] for one in curve.targets] for at in (0, 1))
        report.predictions = _predictions(
            model.unit_times(p, work), model.draws(p, work), curve, model.method
        )
    if isinstance(model, Model):
        _add_fitted(report, model, fitted)
    else:
        # Its value at each level already comes from the other levels.
        report.left_out_ratio = statistics.median(
            abs(t / one.unit_time - 1) for one, t in zip(fitted, map(float, times), strict=True)
        )
    return report


def _add_fitted(report: LawReport, model: Model, levels: Sequence[Level]) -> None:
    law = model.fitted.law
    report.parameters = model.fitted.parameters()
    if model.ceiling is None:
        report.left_out_ratio = forecast.left_out(law, levels)
        report.half_ratio = forecast.half(law, levels)
    if law is USL:
        report.peak = _peak(model.fitted)


def ensemble(models: Sequence[Predictor], curve: Curve, error: float | None) -> list[Prediction]:
    """Predict by all laws together, with the error that they had beyond the fitted levels."""
    p, work = ([one[at] for one in curve.targets] for at in (0, 1))
    pool = forecast.pooled(models, p, work, curve.fitted, error) if curve.targets else None
    return [] if pool is None else _predictions(np.median(pool, axis=0), pool, curve, POOLED)


def _predictions(points: Array, draws: Array | None, curve: Curve, method: str) -> list[Prediction]:
    most = max(one.p for one in curve.fitted)
    predictions = []
    for at, (p, work) in enumerate(curve.targets):
        drawn = None if draws is None else draws[:, at]
        value = forecast.estimate(
            drawn, float(points[at]), work, curve.kind, len(curve.fitted), method
        )
        measured = next(
            (
                one.value
                for one in curve.levels
                if (one.p, one.work) == (p, work) and one not in curve.fitted
            ),
            None,
        )
        predictions.append(
            Prediction(
                p=p, work=work, value=value, far=p > FAR * most, measured=measured,
                inside=None if measured is None else _inside(value, measured.value),
            )
        )  # fmt: skip
    return predictions


def _inside(interval: Estimate, value: float | None) -> bool | None:
    if value is None or (interval.low is None and interval.high is None):
        return None
    above = interval.low is None or interval.low <= value
    return above and (interval.high is None or value <= interval.high)


def _residual(ratio: float, kind: Kind) -> float:
    return (ratio if kind == "elapsed" else 1 / ratio) - 1


def _peak(usl: Fitted) -> Estimate | None:
    """Give the workers with the largest throughput, √((1 - α)/β); ``None`` if β may be 0."""
    c, drawn = usl.coefficients, usl.drawn
    if drawn is None or c[2] <= 0 or np.quantile(drawn[:, 2], TAILS[0]) <= 0:
        return None
    peaks = drawn[drawn[:, 2] > 0]
    low, high = np.quantile(np.sqrt(np.maximum(peaks[:, 1], 0) / peaks[:, 2]), TAILS)
    return Estimate(
        value=math.sqrt(max(c[1], 0.0) / c[2]), low=float(low), high=float(high),
        level=LEVEL, n=usl.levels_count, method=DRAWN,
    )  # fmt: skip


def level_report(level: Level, first: Level, fitted: bool) -> LevelReport:
    """Report on one level, relative to the first."""
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
        # The interval of the ratio of geometric means, centred on the ratio of means.
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
