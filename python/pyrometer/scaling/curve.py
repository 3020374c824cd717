"""The curve that an experiment over one factor measured: laws, and what each level spent.

What a trial of a scaling curve measured, per iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from pyrometer.accounts.cpu import cpu
from pyrometer.accounts.hardware.bandwidth import attainable
from pyrometer.accounts.hardware.hardware import hardware
from pyrometer.accounts.io import io
from pyrometer.accounts.ledger.schema import View
from pyrometer.accounts.ledger.slot_view import slot_view
from pyrometer.accounts.spark import window_totals
from pyrometer.accounts.window import open_scope
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.core.schema import doubt
from pyrometer.experiments.folder import Ended, ExperimentPaths, Plan
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.judge.machines import IN_TURN
from pyrometer.experiments.judge.schema import Measures, TrialsReport, in_none, unread
from pyrometer.scaling.analysis import Question, analyse
from pyrometer.scaling.plan import OF_CLUSTERS, SLOTS, WORKERS, level_number, slots_of_worker
from pyrometer.scaling.processors import cpus_of_trials
from pyrometer.scaling.schema import FitReport
from pyrometer.scaling.simulated import simulated, sized
from pyrometer.simulation.intervals import Sized
from pyrometer.simulation.scheduler import of_runs
from pyrometer.statistics.scaling.levels import Observation
from pyrometer.statistics.two import mean_of
from pyrometer.store import Run

MEASURES = {
    "run_time_s": "run time of tasks (Spark)",
    "cpu_time_s": "CPU time of tasks (Spark)",
    "process_cpu_s": "CPU time of all threads of the application",
    "run_queue_s": "task threads wait for a CPU",
    "gc_s": "task threads are stopped for collections",
    "read_bytes": "bytes read by system calls",
    "disk_bytes": "bytes read from disk",
    "ipc": "instructions per cycle",
    "memory_bytes_per_s": "memory traffic",
    "memory_share": "memory traffic, of what the host card attained",
    "link_bytes_per_s": "traffic of links between nodes",
    "moved_ratio": "bytes moved to and from memory, per byte of input files",
}
"""What is reported of each level; those in ``_s`` and ``_bytes`` are of one iteration."""


@dataclass(frozen=True)
class Measured(Measures):
    """One trial: those of :data:`MEASURES` that are known, and more.

    Attributes
    ----------
    ledger : dict of str to float
        Slot-seconds of one iteration, by row of the slot view; the rows do not overlap.
    attainable : Estimate or None
        Memory throughput that the host card attained, bytes a second.
    """

    ledger: dict[str, float] = field(default_factory=dict)
    attainable: Estimate | None = None


def measured(run: Run, seconds: float) -> Measured:
    """Read what a run measured.

    Parameters
    ----------
    seconds : float
        Time of one of its iterations, as the experiment counts it: sums over the window are scaled
        to it.
    """
    scope = open_scope(run, None)
    length = scope.window.length_ns / 1e9
    each = seconds / length if length else 0.0
    succeeded, failed = window_totals(scope)
    none = None if succeeded["tasks_count"] else "no task of Spark succeeded"
    tasks = {} if none else succeeded
    process, (files, _) = cpu(scope, succeeded, failed), io(scope, succeeded, failed)
    counters = hardware(scope)
    memory = counters.bandwidth
    view = slot_view(scope)
    ledger = _apart(view, each)
    # The ledger leaves out rows of no time; as measures they are known, and 0.
    took = {row.path: _times(row.value_ns, each / 1e9) for row in view.rows}
    links = [one.bytes_per_s for one in memory.links if one.bytes_per_s is not None]
    share = memory.share_of_attainable
    moved = None
    if memory.total_bytes is not None and files.scan_files_size_bytes:
        moved = memory.total_bytes / files.scan_files_size_bytes
    found: dict[str, tuple[float | None, str | None]] = {
        "run_time_s": (_times(tasks.get("executor_run_time_ns"), each / 1e9), none),
        "cpu_time_s": (_times(tasks.get("executor_cpu_time_ns"), each / 1e9), none),
        "process_cpu_s": (_times(process.process_cpu_ns, each / 1e9), process.reason),
        "run_queue_s": (took.get("task/run_queue"), "no probe: light or full profile"),
        "gc_s": (took.get("task/gc_pause"), "no GC log: light or full profile"),
        "read_bytes": (_times(files.process_read_chars_bytes, each), files.reason),
        "disk_bytes": (_times(files.process_read_bytes, each), files.reason),
        "ipc": (counters.ipc.ipc, counters.ipc.reason),
        "memory_bytes_per_s": (memory.bytes_per_s, memory.reason),
        "memory_share": (share.value if share else None, memory.reason),
        "link_bytes_per_s": (sum(links) if links else None, "no counter of links"),
        "moved_ratio": (moved, memory.reason or "the size of the files read is not known"),
    }
    manifest = run.manifest
    return Measured(
        measures={name: value for name, (value, _) in found.items() if value is not None},
        missing={
            name: why or "not counted" for name, (value, why) in found.items() if value is None
        },
        ledger=ledger,
        attainable=attainable(manifest.host.card)[0] if manifest else None,
    )


def _times(value: int | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _apart(view: View, each: float) -> dict[str, float]:
    """Seconds of the first two levels of rows: a row, or its parts if it has any."""
    top = [row for row in view.rows if row.parent is None]
    seconds: dict[str, float] = {}
    for row in top:
        parts = [part for part in view.rows if part.parent == row.path and part.value_ns]
        for one in parts or [row]:
            if one.value_ns:
                seconds[one.path] = one.value_ns * each / 1e9
        if parts and row.value_ns is not None:
            rest = row.value_ns - sum(part.value_ns or 0 for part in parts)
            if abs(rest) > UNSEEN * row.value_ns:
                seconds[f"{row.path}/rest"] = rest * each / 1e9
    return seconds


UNSEEN = 0.001
"""Least share of a row for which the remainder beyond its parts is reported."""


class CurveLevel(BaseModel):
    """One level of the factor.

    Attributes
    ----------
    level : float
        The level as a number.
    elapsed_s : Estimate
        Time of an iteration, mean over trials.
    measures : dict of str to Estimate
        See :data:`pyrometer.scaling.curve.MEASURES`.
    ledger_s : dict of str to Estimate
        Slot-seconds of an iteration, by row of the ledger; the rows do not overlap.
    lost_s : dict of str to float
        Increase of each row over the level whose slots spent least: the lost efficiency.
    """

    name: str
    level: float
    elapsed_s: Estimate
    measures: dict[str, Estimate] = Field(default_factory=dict)
    ledger_s: dict[str, Estimate] = Field(default_factory=dict)
    lost_s: dict[str, float] = Field(default_factory=dict)


class CurveReport(TrialsReport):
    """Structure of ``scale --json`` (``pyrometer/scale/1``).

    Attributes
    ----------
    fit : FitReport or None
        Laws, if the factor counts workers; `reason` says why there are none.
    missing : dict of str to str
        Measures that no trial has, and why.
    """

    schema_name: Literal["pyrometer/scale/1"] = Field("pyrometer/scale/1", alias="schema")
    workload: str
    factor: str
    levels: list[CurveLevel]
    missing: dict[str, str] = Field(default_factory=dict)
    fit: FitReport | None = None
    reason: str | None = None
    doubts: list[Doubt] = Field(default_factory=list)


def factor_of(plan: Plan) -> str:
    """Name the one factor with numbers that an experiment varies.

    Raises
    ------
    UsageError
        If it varies several, or one whose levels are not numbers.
    """
    names = {name for one in plan.treatments for name in one.varied}
    if len(names) != 1:
        raise UsageError(
            f"{plan.name} varies {len(names)} factors: {', '.join(sorted(names))}; a curve has one",
            "pyrometer experiment show DIR",
        )
    (factor,) = names
    for one in plan.treatments:
        level_number(factor, one.varied[factor])
    return factor


def curve_report(
    root: Path,
    plan: Plan,
    entries: Entries,
    *,
    predict: Sequence[float] = (),
    cores: float | None = None,
    reading: Callable[[int, int], None] = lambda done, of: None,
) -> CurveReport:
    """Report on the curve of an experiment, finished or not.

    Parameters
    ----------
    predict : sequence of float
        Numbers of workers to predict.
    cores : float, optional
        Cores of this machine.
    reading : callable
        Called with the number of trials that have been read, and of all.
    """
    factor = factor_of(plan)
    varied = {one.name: one.varied[factor] for one in plan.treatments}
    ended = [
        one
        for planned in plan.trials
        if (one := entries.ended.get(planned.number)) is not None and one.status == "finished"
    ]
    trials: list[tuple[Ended, Measured]] = []
    ready: dict[float, Sized | str] = {}
    for at, one in enumerate(ended):
        reading(at, len(ended))
        level = level_number(factor, varied[one.treatment])
        # Of each level one run is simulated.
        wanted = factor in WORKERS and not isinstance(ready.get(level), Sized)
        its, size = _read(root, one, simulate=wanted)
        trials.append((one, its))
        if size is not None:
            ready[level] = size
    levels = _levels(factor, varied, trials)
    report = CurveReport(
        experiment=plan.name, folder=str(root), workload=plan.workload, scale=plan.scale,
        factor=factor, trials_count=len(plan.trials), done_count=len(ended), levels=levels,
        missing=in_none(MEASURES, [its for _, its in trials]),
        doubts=[*_doubts(plan, entries), *unread(trials)],
    )  # fmt: skip
    if factor not in WORKERS:
        report.reason = f"{factor} counts no workers: laws of scaling do not speak of it"
    elif any(one.code == "emulated" for one in report.doubts):
        report.reason = f"{IN_TURN}: how it scales is not the job's"
        report.doubts.append(doubt("emulated_in_turn", f"{factor}: {report.reason}"))
    elif len(levels) < 2:
        report.reason = "fewer than two levels have a finished trial"
    else:
        slots = {one.name: slots_of_worker(factor, one.levels) for one in plan.treatments}
        rows = [
            _observation(factor, varied[one.treatment], slots[one.treatment], one, its)
            for one, its in trials
        ]
        simulator = simulated(ready, factor, predict)
        report.fit = analyse(
            rows, "elapsed", _question(plan, factor, trials, predict, cores),
            source=plan.name, workers=factor, what="s",
            others={"simulator": simulator},
        )  # fmt: skip
        if not isinstance(simulator, str):
            report.doubts += of_runs(
                [one.doubts for one in ready.values() if isinstance(one, Sized)]
            )
    return report


def _read(root: Path, one: Ended, *, simulate: bool) -> tuple[Measured, Sized | str | None]:
    """Read what a trial measured, and on demand prepare its run for simulation."""
    assert one.seconds is not None
    # Times come from the journal: where a run cannot be read, only its measures are missing.
    try:
        with Run.open(ExperimentPaths(root).trials / one.folder) as run:
            return measured(run, one.seconds), sized(run) if simulate else None
    except PyrometerError as error:
        why = error.message
        nothing = Measured({}, dict.fromkeys(MEASURES, why), unread=why)
        return nothing, why if simulate else None


def _doubts(plan: Plan, entries: Entries) -> list[Doubt]:
    """Give the doubts of the experiment, except whether its trials suffice to compare levels."""
    asked = experiment_report(plan, entries)
    return [one for one in asked.doubts if one.code != "few_trials"]


def _observation(factor: str, level: str, slots: int, one: Ended, its: Measured) -> Observation:
    found = its.measures
    facts = {"cpu": found.get("cpu_time_s"), "bandwidth": found.get("memory_bytes_per_s")}
    if factor in SLOTS:
        # Only here are workers slots, each of which either runs a task or is idle.
        facts |= {"run_time": found.get("run_time_s"), "gc": found.get("gc_s")}
    assert one.seconds is not None
    known = {name: value for name, value in facts.items() if value is not None}
    return Observation(level_number(factor, level), one.seconds, 1.0, known, slots)


def _question(
    plan: Plan, factor: str, trials: Sequence[tuple[Ended, Measured]], predict: Sequence[float],
    cores: float | None,
) -> Question:  # fmt: skip
    best = next((its.attainable for _, its in trials if its.attainable is not None), None)
    counted = any("memory_bytes_per_s" in its.measures for _, its in trials)
    # Executors of a cluster are not on the CPUs of this host.
    cpus = None if factor in OF_CLUSTERS else cpus_of_trials(plan, factor)
    spread = 0.0
    if best is not None and best.low is not None and best.high is not None:
        spread = (best.high - best.low) / 4
    return Question(
        predict=predict,
        cpus=cpus,
        cores=cores,
        limit=best.value if best is not None and counted else None,
        limit_sd=spread,
    )


def _levels(
    factor: str, varied: Mapping[str, str], trials: Sequence[tuple[Ended, Measured]]
) -> list[CurveLevel]:
    levels = []
    for name, text in varied.items():
        mine = [(one, its) for one, its in trials if one.treatment == name]
        if not mine:
            continue
        levels.append(
            CurveLevel(
                name=text,
                level=level_number(factor, text),
                elapsed_s=mean_of([one.seconds for one, _ in mine if one.seconds is not None]),
                measures=_means([its.measures for _, its in mine], None),
                ledger_s=_means([its.ledger for _, its in mine], 0.0),
            )
        )
    levels.sort(key=lambda one: one.level)
    rows = list(dict.fromkeys(row for one in levels for row in one.ledger_s))
    spent = [{row: _value(one.ledger_s.get(row)) for row in rows} for one in levels]
    least = min(
        (one for one in spent if any(one.values())), key=lambda one: sum(one.values()), default=None
    )
    if least is not None:
        for one, its in zip(levels, spent, strict=True):
            one.lost_s = {row: its[row] - least[row] for row in rows} if one.ledger_s else {}
    return levels


def _value(one: Estimate | None) -> float:
    return 0.0 if one is None or one.value is None else one.value


def _means(rows: Sequence[Mapping[str, float]], lacking: float | None) -> dict[str, Estimate]:
    """Mean of each name over the trials; a missing value counts as `lacking`, or not at all."""
    means = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        found = [row.get(name, lacking) for row in rows if row]
        means[name] = mean_of([one for one in found if one is not None])
    return means
