"""The report of a simulation: the structure of ``simulate --json``."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model
from pyrometer.window.windows import WindowFacts


class MeasuredFacts(Model):
    """Facts of the measured run."""

    elapsed_ns: int
    stages_count: int
    tasks_count: int
    jobs_count: int
    executors_count: int
    slots_count: int


class Accuracy(Model):
    """Difference of the simulation from the measurement, at the measured size.

    Attributes
    ----------
    error_ratio : float
        Simulated over measured elapsed time, less 1.
    stage_error_ratio : float or None
        Median over stages of the same, as an absolute value.
    coverage : Estimate
        Share of stages whose measured time lies in its 90 % interval, which comes from the errors
        of other stages.
    startup_ns, stage_delay_ns : int
        Estimated from the run as a whole: time from an executor's registration to its first
        task, and from a stage's submission to its first task and from its last to its completion.
    """

    error_ratio: float
    stage_error_ratio: float | None
    coverage: Estimate
    startup_ns: int
    stage_delay_ns: int
    reason: str | None = None


class Bounds(Model):
    """Lower bounds of elapsed time, and the time on one core.

    Attributes
    ----------
    critical_path_ns : int
        Elapsed time with a slot for every task, each as long as it was measured.
    ideal_ns : int
        The driver's time, plus all tasks spread evenly over the measured slots.
    one_core_ns : int
        Elapsed time with one slot.
    critical_stage_ids : list of int
        Stages on the critical path, in their order.
    """

    critical_path_ns: int
    ideal_ns: int
    one_core_ns: int
    critical_stage_ids: list[int]


class Waste(Model):
    """Slot time that went to one cause.

    Attributes
    ----------
    cause : str
        As in the ledger's slot view: ``driver``, ``too_few_tasks``,
        ``stage_tail``, ``waiting_to_launch``; and ``useful``, ``scheduling_delay``, ``retries``.
    slot_ns, share : int, float
        Time of slots, and its share of all.
    without_ns : int or None
        Elapsed time without the cause; ``None`` where there is no such schedule.
    """

    cause: str
    slot_ns: int
    share: float
    without_ns: int | None = None


class Level(Model):
    """One size of the cluster.

    Attributes
    ----------
    percent : float
        Size, in percent of the measured slots.
    slots_count, executors_count : int
        Most at one time.
    elapsed_ns : Estimate
        The schedule, and its 90 % interval.
    speedup : float
        Over the schedule of the measured size.
    used_ratio : float
        Share of the slots' time in which a task ran.
    core_hours, gb_hours : float
        Use of the executors.
    cost : float or None
        Cost by the price file.
    """

    percent: float
    slots_count: int
    executors_count: int
    elapsed_ns: Estimate
    speedup: float
    used_ratio: float
    core_hours: float
    gb_hours: float
    cost: float | None = None


class StageReport(Model):
    """One stage attempt, measured and simulated at the measured size."""

    job_id: int | None
    stage_id: int
    stage_attempt: int
    name: str | None
    called: str | None = None
    tasks_count: int
    measured_ns: int
    simulated_ns: Estimate
    critical: bool


class SimulationReport(Model):
    """``pyrometer simulate --json``."""

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/simulate/1"] = Field("pyrometer/simulate/1", alias="schema")
    run_dir: str
    app_index: int
    app_name: str | None
    window: WindowFacts
    seed: int
    measured: MeasuredFacts
    accuracy: Accuracy
    bounds: Bounds
    waste: list[Waste]
    levels: list[Level]
    asked: Level | None = None
    contention: str | None = None
    currency: str | None = None
    stages: list[StageReport]
    doubts: list[Doubt] = Field(default_factory=list)


class LeftOut(Model):
    """One level of a scaling experiment, predicted from runs of others.

    Attributes
    ----------
    measured_s, predicted_s : Estimate
        Time of an iteration: mean over the level's runs, and the prediction of the nearest level.
    from_slots_count, from_cpus : int, float or None
        The nearest other level.
    """

    slots_count: int
    cpus: float | None
    measured_s: Estimate
    predicted_s: Estimate
    from_slots_count: int
    from_cpus: float | None
    error_ratio: float


class LeftOutReport(Model):
    """``pyrometer simulate RUN RUN… --json``.

    Attributes
    ----------
    error_ratio, worst_error_ratio : float
        Median and largest absolute error over levels.
    coverage : Estimate
        Share of levels whose measured mean lies in its 90 % interval.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/simulate-levels/1"] = Field(
        "pyrometer/simulate-levels/1", alias="schema"
    )
    levels: list[LeftOut]
    error_ratio: float
    worst_error_ratio: float
    coverage: Estimate
    doubts: list[Doubt] = Field(default_factory=list)
