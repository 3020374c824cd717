"""The report on a scaling curve: the structure of ``fit --json``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.scaling.knee import Knee
from pyrometer.statistics.scaling.levels import Kind, WorkerTime


class LevelReport(BaseModel):
    """One level.

    Attributes
    ----------
    value : Estimate
        Mean of the observations, in their unit.
    speedup, efficiency : Estimate
        Relative to the level with the fewest workers; ideal are the ratio of workers, and 1.
    worker_time : WorkerTime
        Workers times elapsed time for one unit of work, times the task slots of each executor
        where workers are executors, and its parts.
    cpus_used, bandwidth : float or None
        CPUs that tasks kept busy; memory throughput, in the unit of the observations.
    fitted : bool
        Whether the laws were fitted to it.
    """

    p: float
    work: float
    value: Estimate
    speedup: Estimate
    efficiency: Estimate
    worker_time: WorkerTime
    cpus_used: float | None
    bandwidth: float | None
    fitted: bool


class Prediction(BaseModel):
    """What a new level is predicted to show.

    Attributes
    ----------
    far : bool
        More than twice the most workers that were fitted: no single law is reliable there.
    measured : Estimate or None
        The measured value, if the level was measured but not fitted.
    inside : bool or None
        Whether the measured mean lies in the interval.
    """

    p: float
    work: float
    value: Estimate
    far: bool
    measured: Estimate | None = None
    inside: bool | None = None


class Residual(BaseModel):
    """Measured over fitted, minus 1, of times or of rates."""

    p: float
    work: float
    ratio: float


class LawReport(BaseModel):
    """One law.

    Attributes
    ----------
    peak : Estimate or None
        USL: workers at which throughput is largest, where there is evidence of a peak.
    left_out_ratio : float or None
        Median relative error for a level that was left out of the fit.
    half_ratio : float or None
        Relative error at the largest level when only the levels up to half of it are fitted:
        what this law would have predicted.
    told : str or None
        What its parameters mean.
    reason : str or None
        Why it could not be fitted.
    """

    name: str
    parameters: dict[str, Estimate] = Field(default_factory=dict)
    peak: Estimate | None = None
    residuals: list[Residual] = Field(default_factory=list)
    left_out_ratio: float | None = None
    half_ratio: float | None = None
    predictions: list[Prediction] = Field(default_factory=list)
    told: str | None = None
    reason: str | None = None


class FitReport(BaseModel):
    """Structure of ``fit --json`` (``pyrometer/fit/1``).

    Attributes
    ----------
    ensemble : list of Prediction
        Predictions by all laws together.
    error_at_twice_ratio : float or None
        Error of the laws' median, refitted to fewer levels, at twice their workers (root mean
        square); the ensemble's intervals include it. ``None`` with fewer than five levels.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/fit/1"] = Field("pyrometer/fit/1", alias="schema")
    source: str
    workers: str
    what: str
    kind: Kind
    levels: list[LevelReport]
    laws: list[LawReport]
    ensemble: list[Prediction]
    error_at_twice_ratio: float | None = None
    knee: Knee
    plateau_from: float | None
    verdict: list[str]
    doubts: list[Doubt] = Field(default_factory=list)
