"""The analysis of a simulation: error, bounds, waste, sizes, stages.

What slots cost: a price file.

Where the slots' time goes, by cause, and how long it would take without each cause.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.toml_text import parse_toml
from pyrometer.core.user_files import user_text
from pyrometer.simulation.cluster import (
    Shape,
    check_layout,
    check_tasks,
    most_slots,
    plain,
    tasks_ratios,
)
from pyrometer.simulation.contention import Contention
from pyrometer.simulation.intervals import REPLICATES, coverage, draw_errors, interval
from pyrometer.simulation.measured import Floats, Measured
from pyrometer.simulation.scheduler import (
    Calibrated,
    Plan,
    Schedule,
    calibrate,
    doubts_of,
    schedules,
)
from pyrometer.simulation.schema import (
    Accuracy,
    Bounds,
    Level,
    MeasuredFacts,
    SimulationReport,
    StageReport,
    Waste,
)
from pyrometer.window.windows import Window


class Prices(BaseModel):
    """A price file (TOML): ``currency``, ``core_hour``, ``gb_hour``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    currency: str = ""
    core_hour: float = Field(0.0, ge=0, allow_inf_nan=False)
    gb_hour: float = Field(0.0, ge=0, allow_inf_nan=False)

    def of(self, core_hours: float, gb_hours: float) -> float:
        """Give the price of core-hours and GB-hours (10⁹ bytes)."""
        return core_hours * self.core_hour + gb_hours * self.gb_hour


def read_prices(path: Path) -> Prices:
    """Read a price file.

    Raises
    ------
    UsageError
        If it cannot be read, or is not a price file.
    """
    example = 'write lines like  currency = "EUR"  core_hour = 0.05  gb_hour = 0.005'
    data = parse_toml(user_text(path, example), str(path), example)
    try:
        return Prices(**data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {where}: {first['msg']}", example) from error


CAUSES = (
    "useful",
    "driver",
    "too_few_tasks",
    "stage_tail",
    "waiting_to_launch",
    "scheduling_delay",
    "retries",
)


def waste_of(calibrated: Calibrated, contention: Contention | None = None) -> list[Waste]:
    """Split the slots' time of the measured size by cause; the parts add up to all of it."""
    time = calibrated.schedule.slot_time
    total = time["total_ns"]
    plans = {
        "driver": replace(calibrated.plan, delay_ns=np.zeros(len(calibrated.plan.delay_ns))),
        "stage_tail": _with(calibrated.plan, duration_ns=_even(calibrated.plan)),
        "waiting_to_launch": calibrated.plan.anywhere(),
        "scheduling_delay": _with(
            calibrated.plan,
            duration_ns=calibrated.plan.tasks.duration_ns - calibrated.plan.tasks.delay_ns,
            delay_ns=np.zeros_like(calibrated.plan.tasks.delay_ns),
        ),
        "retries": _without_retries(calibrated.plan),
    }
    return [
        Waste(
            cause=cause,
            slot_ns=round(time[f"{cause}_ns"]),
            share=time[f"{cause}_ns"] / total if total else 0.0,
            without_ns=_elapsed(calibrated, plans[cause], contention) if cause in plans else None,
        )
        for cause in CAUSES
    ]


def _elapsed(calibrated: Calibrated, plan: Plan, contention: Contention | None) -> int:
    cluster = calibrated.cluster(Shape())
    if (
        plan.pool != calibrated.plan.pool
        or plan.locality_wait_ns != calibrated.plan.locality_wait_ns
    ):
        cluster = [{**executor, "pool": 0} for executor in cluster]
    return round(schedules(plan, [cluster], [{}], contention)[0].elapsed_ns)


def _with(plan: Plan, duration_ns: Floats, delay_ns: Floats | None = None) -> Plan:
    delays = plan.tasks.delay_ns if delay_ns is None else delay_ns
    return replace(plan, tasks=replace(plan.tasks, duration_ns=duration_ns, delay_ns=delays))


def _even(plan: Plan) -> Floats:
    """Give every task the mean duration of its node."""
    counts = np.array(plan.counts)
    filled = counts[counts > 0]
    starts = np.concatenate(([0], np.cumsum(filled)[:-1]))
    means = np.add.reduceat(plan.tasks.duration_ns, starts) / filled
    evened: Floats = np.repeat(means, filled)
    return evened


def _without_retries(plan: Plan) -> Plan:
    kept = plan.tasks.wasted == 0
    return _with(
        plan,
        duration_ns=np.where(kept, plan.tasks.duration_ns, 0.0),
        delay_ns=np.where(kept, plan.tasks.delay_ns, 0.0),
    )


PERCENTS = (10.0, 20.0, 50.0, 80.0, 100.0, 120.0, 150.0, 200.0, 300.0, 400.0, 500.0)
NS_PER_HOUR = 3.6e12
IDLE = ("driver_ns", "too_few_tasks_ns", "stage_tail_ns", "waiting_to_launch_ns")


@dataclass(frozen=True)
class Question:
    """Options of a simulation.

    Attributes
    ----------
    percents : sequence of float
        Sizes, in percent of the measured slots.
    executors, cores : int or None
        A further layout to simulate.
    tasks_ratio : float or None
        Tasks of each stage, over those measured, for stages of several tasks.
    stretch : dict of int to float
        Factor of the tasks' time, by stage.
    seed : int
        Seed of the random draws.
    """

    percents: Sequence[float] = PERCENTS
    executors: int | None = None
    cores: int | None = None
    tasks_ratio: float | None = None
    stretch: dict[int, float] = field(default_factory=dict)
    prices: Prices | None = None
    seed: int = 0


def analyse(
    measured: Measured,
    window: Window,
    run_dir: str,
    ask: Question | None = None,
    contention: Contention | None = None,
    doubts: Sequence[Doubt] = (),
) -> SimulationReport:
    """Simulate a run at its own size and at others."""
    ask = ask or Question()
    calibrated = calibrate(measured, contention)
    drawn = draw_errors(
        calibrated.measured_ns, calibrated.simulated_ns, len(calibrated.graph.after), ask.seed
    )
    shapes = [Shape(percent / 100) for percent in ask.percents]
    shapes += _requested(measured, ask)
    found = _schedules(calibrated, shapes, ask, drawn, contention)
    levels = [_level(calibrated, *one, ask) for one in zip(shapes, found, strict=True)]
    bounds = _bounds(calibrated)
    # Errors and waste are of the measured size on the measured host, whatever CPUs are asked for.
    same = None if contention is None else contention.unchanged()
    stages = _stages(calibrated, drawn, same, set(bounds.critical_stage_ids))
    kept = sum(schedule.kept_executors_count for point in found for schedule in point[:1])
    return SimulationReport(
        run_dir=run_dir,
        app_index=measured.app_index,
        app_name=measured.app_name,
        window=window.facts(),
        seed=ask.seed,
        measured=_facts(measured),
        accuracy=_accuracy(calibrated, stages, drawn),
        bounds=bounds,
        waste=waste_of(calibrated, same),
        levels=levels[: len(ask.percents)],
        asked=levels[-1] if len(levels) > len(ask.percents) else None,
        contention=None if contention is None else contention.words,
        currency=ask.prices.currency if ask.prices else None,
        stages=stages,
        doubts=[*doubts, *doubts_of(calibrated, kept)],
    )


def _requested(measured: Measured, ask: Question) -> list[Shape]:
    if ask.executors is None and ask.cores is None:
        return []
    most = most_slots(measured.executors)
    biggest = max(executor.slots for executor in measured.executors)
    size = biggest if ask.cores is None else measured.settings.slots(ask.cores)
    count = ask.executors or max(1, round(most / biggest))
    shape = Shape(size * count / most, size)
    check_layout(measured.executors, shape, count)
    return [shape]


def _schedules(
    calibrated: Calibrated,
    shapes: Sequence[Shape],
    ask: Question,
    drawn: Floats | None,
    contention: Contention | None,
) -> list[list[Schedule]]:
    """Give the schedule of each size and its replicates, from one call of the scheduler."""
    factors = np.ones(len(calibrated.graph.after))
    for stage in calibrated.measured.stages:
        factors[stage.number] = ask.stretch.get(stage.stage_id, 1.0)
    stretches = factors[None] if drawn is None else np.vstack([factors, factors * drawn])
    # The first cluster is the one that was measured.
    clusters = [calibrated.cluster(shape) for shape in (Shape(), *shapes)]
    scenarios: list[dict[str, Any]] = []
    for number, shape in enumerate(shapes, 1):
        ratios = tasks_ratios(calibrated.measured, shape.ratio, ask.tasks_ratio)
        check_tasks(calibrated.measured, ratios)
        what: dict[str, Any] = {"seed": ask.seed, "cluster": number}
        if ratios:
            what["tasks_ratios"] = ratios
        scenarios += [{**what, "stretch": stretch} for stretch in range(len(stretches))]
    found = schedules(calibrated.plan, clusters, scenarios, contention, stretches)
    each = len(stretches)
    return [found[first : first + each] for first in range(0, len(found), each)]


def _level(calibrated: Calibrated, shape: Shape, found: list[Schedule], ask: Question) -> Level:
    measured, point, prices = calibrated.measured, found[0], ask.prices
    time = point.slot_time
    biggest = max(measured.executors, key=lambda executor: executor.slots)
    slot_hours = time["total_ns"] / NS_PER_HOUR
    cores, slots = biggest.cores, biggest.slots
    if shape.cores is not None:
        cores, slots = ask.cores or cores, shape.cores
    core_hours = slot_hours * cores / slots
    gb_hours = slot_hours * measured.settings.memory_bytes / biggest.slots / 1e9
    return Level(
        percent=100 * shape.ratio,
        slots_count=math.ceil(most_slots(measured.executors) * shape.ratio - 1e-9),
        executors_count=len(calibrated.cluster(shape)),
        elapsed_ns=interval(
            point.elapsed_ns,
            np.array([one.elapsed_ns for one in found[1:]]),
            len(measured.stages),
        ),
        speedup=calibrated.schedule.elapsed_ns / point.elapsed_ns,
        used_ratio=1 - sum(time[name] for name in IDLE) / time["total_ns"],
        core_hours=core_hours,
        gb_hours=gb_hours,
        cost=prices.of(core_hours, gb_hours) if prices else None,
    )


def _bounds(calibrated: Calibrated) -> Bounds:
    measured, graph, tasks = calibrated.measured, calibrated.graph, calibrated.plan.tasks
    # With tasks of length 0, only the driver's time remains.
    path, one, driver = schedules(
        calibrated.plan.anywhere(),
        [plain(graph, max(1, tasks.duration_ns.size)), plain(graph, 1)],
        [{"cluster": 0, "nodes": True}, {"cluster": 1}, {"cluster": 1, "stretch": 0}],
        stretches=np.zeros((1, len(graph.after))),
    )
    work_ns = float(tasks.duration_ns.sum())
    return Bounds(
        critical_path_ns=round(path.elapsed_ns),
        ideal_ns=round(driver.elapsed_ns + work_ns / most_slots(measured.executors)),
        one_core_ns=round(one.elapsed_ns),
        critical_stage_ids=[
            measured.stages[node].stage_id
            for node in _path(path.released_by, graph.end)
            if node < len(measured.stages)
        ],
    )


def _path(released_by: Sequence[int | None], end: int) -> list[int]:
    """Give the critical path: from the end, each time the node that was complete last."""
    found: list[int] = []
    node: int | None = end
    while node is not None:
        found.append(node)
        node = released_by[node]
    return found[::-1]


def _stages(
    calibrated: Calibrated, drawn: Floats | None, contention: Contention | None, critical: set[int]
) -> list[StageReport]:
    stages = calibrated.measured.stages
    replicated: list[Schedule] = []
    if drawn is not None:
        scenarios = [{"nodes": True, "stretch": n} for n in range(len(drawn))]
        cluster = calibrated.cluster(Shape())
        replicated = schedules(calibrated.plan, [cluster], scenarios, contention, drawn)
    spans = np.array([one.complete_ns - one.submit_ns for one in replicated])
    spans = spans.reshape(len(replicated), len(calibrated.graph.after)) + calibrated.stage_delay_ns
    # The simulator's stage ends with its last task, Spark's when the driver has all results.
    return [
        StageReport(
            job_id=stage.job_id,
            stage_id=stage.stage_id,
            stage_attempt=stage.attempt,
            name=stage.name,
            called=stage.called,
            tasks_count=stage.tasks_count,
            measured_ns=stage.complete_ns - stage.submit_ns,
            simulated_ns=interval(
                float(calibrated.simulated_ns[stage.number]) + stage.fetch_ns,
                spans[:, stage.number] + stage.fetch_ns,
                len(stages) - 1,
            ),
            critical=stage.stage_id in critical,
        )
        for stage in stages
        if stage.tasks_count
    ]


def _accuracy(calibrated: Calibrated, stages: list[StageReport], drawn: Floats | None) -> Accuracy:
    return Accuracy(
        error_ratio=calibrated.error_ratio,
        stage_error_ratio=calibrated.stage_error_ratio,
        coverage=coverage([s.measured_ns for s in stages], [s.simulated_ns for s in stages]),
        startup_ns=round(calibrated.startup_ns),
        stage_delay_ns=round(calibrated.stage_delay_ns),
        reason=None
        if drawn is not None
        else f"no intervals: they take more than {REPLICATES} stages to judge by",
    )


def _facts(measured: Measured) -> MeasuredFacts:
    return MeasuredFacts(
        elapsed_ns=measured.elapsed_ns,
        stages_count=len(measured.stages),
        tasks_count=int(measured.tasks.duration_ns.size),
        jobs_count=len(measured.jobs),
        executors_count=len(measured.executors),
        slots_count=most_slots(measured.executors),
    )
