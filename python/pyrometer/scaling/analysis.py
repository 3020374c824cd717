"""The analysis of a curve: levels, all laws, predictions, knee, verdict, doubts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.schema import doubt
from pyrometer.scaling.laws import Curve, ensemble, law_report, level_report
from pyrometer.scaling.schema import FitReport
from pyrometer.scaling.verdict import doubts_of, verdict
from pyrometer.statistics.scaling import forecast
from pyrometer.statistics.scaling.forecast import FAR, Model, Predictor
from pyrometer.statistics.scaling.knee import flat_from, knee
from pyrometer.statistics.scaling.laws import LAWS, USL, fit
from pyrometer.statistics.scaling.levels import Kind, Level, Observation, levels_of

MOST_LEVELS = 500


@dataclass(frozen=True)
class Question:
    """Options of the analysis of a curve.

    Attributes
    ----------
    predict, predict_work : sequence of float, float or None
        Workers to predict, and their work: by default the largest that was measured.
    up_to : float or None
        Fit the levels up to this number of workers; the others are only compared with predictions.
    without : sequence of float
        Levels to leave out of the fit.
    cpus, cores : float or None
        Logical CPUs, and cores, that the workers may use.
    limit, limit_sd : float or None
        Attainable memory bandwidth and its standard error, in the unit of the observations.
    """

    predict: Sequence[float] = ()
    predict_work: float | None = None
    up_to: float | None = None
    without: Sequence[float] = ()
    cpus: float | None = None
    cores: float | None = None
    limit: float | None = None
    limit_sd: float = 0.0


def analyse(
    observations: Sequence[Observation],
    kind: Kind,
    ask: Question,
    *,
    source: str,
    workers: str = "workers",
    what: str = "value",
    others: Mapping[str, Predictor | str] | None = None,
) -> FitReport:
    """Fit all laws to a curve, predict, and judge.

    Parameters
    ----------
    others : mapping, optional
        Other predictors by name, or why one is missing.

    Raises
    ------
    UsageError
        If there are fewer than two levels to fit, or a named level does not exist.
    """
    levels = levels_of(observations, kind)
    _check(levels, ask, source)
    fitted = [one for one in levels if _is_fitted(one, ask)]
    count = len({one.p for one in fitted})
    if count < 2:
        raise UsageError(
            f"{source}: two levels are needed to fit, there are {count}",
            f"measure more levels, or leave fewer out; measured: {_numbers(levels)}",
        )
    curve = Curve(levels, fitted, _targets(levels, fitted, ask), kind)
    models = {**_models(fitted, ask), **(others or {})}
    laws = [law_report(name, one, curve) for name, one in models.items()]
    # Knee and verdict are of one amount of work: the largest.
    whole = [one for one in levels if one.work == max(other.work for other in levels)]
    shape = knee(whole)
    plateau = flat_from([(one.p, 1 / one.unit_time) for one in whole])
    usl = next(one for one in laws if one.name == USL.name)
    error = forecast.error_beyond(fitted) if curve.targets else None
    return FitReport(
        source=source, workers=workers, what=what, kind=kind,
        levels=[level_report(one, levels[0], one in fitted) for one in levels],
        laws=laws,
        ensemble=ensemble(
            [one for one in models.values() if not isinstance(one, str)], curve, error
        ),
        error_at_twice_ratio=None if error is None else math.expm1(error * math.log(2)),
        knee=shape, plateau_from=plateau,
        verdict=verdict(whole, shape, plateau, usl, limit=ask.limit),
        doubts=[*doubts_of(whole, cpus=ask.cpus, cores=ask.cores), *_far(curve)],
    )  # fmt: skip


def _models(fitted: Sequence[Level], ask: Question) -> dict[str, Predictor | str]:
    """Fit each law, or say why it cannot be fitted."""
    models: dict[str, Predictor | str] = {}
    for law in LAWS:
        found = fit(law, fitted)
        models[law.name] = found if isinstance(found, str) else Model(found)
    if ask.limit is not None:
        models["roofline"] = forecast.roofline(fitted, ask.limit, ask.limit_sd)
    return models


def _check(levels: Sequence[Level], ask: Question, source: str) -> None:
    if len(levels) > MOST_LEVELS:
        raise UsageError(
            f"{source}: {len(levels)} levels, at most {MOST_LEVELS}",
            "name the column of workers: --workers COLUMN",
        )
    there = {one.p for one in levels}
    for p in ask.without:
        if p not in there:
            raise UsageError(
                f"{source}: no level {p:g} to leave out",
                f"choose from those measured: {_numbers(levels)}",
            )


def _numbers(levels: Sequence[Level]) -> str:
    return ", ".join(dict.fromkeys(f"{one.p:g}" for one in levels))


def _is_fitted(level: Level, ask: Question) -> bool:
    return level.p not in ask.without and (ask.up_to is None or level.p <= ask.up_to)


def _targets(
    levels: Sequence[Level], fitted: Sequence[Level], ask: Question
) -> list[tuple[float, float]]:
    """Workers and work to predict: those asked for, else the levels that were not fitted."""
    if ask.predict:
        whole = max(one.work for one in levels) if ask.predict_work is None else ask.predict_work
        return [(p, whole) for p in ask.predict]
    return [(one.p, one.work) for one in levels if one not in fitted]


def _far(curve: Curve) -> list[Doubt]:
    most = max(one.p for one in curve.fitted)
    far = [p for p, _ in curve.targets if p > FAR * most]
    if not far:
        return []
    named = ", ".join(f"{p:g}" for p in far)
    return [doubt("scaling_far_prediction", f"{named}: the largest fitted level is {most:g}")]
