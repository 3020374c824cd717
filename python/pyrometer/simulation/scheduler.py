"""The native scheduler: one plan, many schedules.

A measured run, prepared for the scheduler and scheduled once at its own size.

Two times belong to the run as a whole, not to a task: from an executor's registration to its
first task, and from a stage's submission to its first task and from its last to its completion.
They are estimated as the time that the schedule lacks without them: the first by the first task of
all, the second by the median over stages.

Doubts about a simulation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.native import native
from pyrometer.core.units import percent
from pyrometer.simulation.cluster import Description, Graph, Shape, cluster_of, graph_of, sites_of
from pyrometer.simulation.contention import Contention, loads
from pyrometer.simulation.measured import Floats, Job, Measured, Tasks


@dataclass(frozen=True)
class Plan:
    """The work to schedule: nodes in columns, and their tasks.

    Attributes
    ----------
    counts : list of int
        Tasks of each node.
    load : list of float
        Load that a running task of each node adds to its host.
    pool, near : list
        Kind of executor that each node's tasks need, and sites near their data.
    """

    graph: Graph
    tasks: Tasks
    delay_ns: Sequence[float] | Floats
    counts: list[int]
    load: list[float]
    pool: list[int]
    near: list[list[int]]
    locality_wait_ns: float
    launch_resets_wait: bool

    @cached_property
    def scheduler(self) -> Any:
        """What schedules it, in any times.

        Raises
        ------
        UsageError
            If the graph cannot be scheduled.
        """
        plan = {
            "end": self.graph.end,
            "launch_resets_wait": self.launch_resets_wait,
            "after": self.graph.after,
            "load": self.load,
            "pool": self.pool,
            "near": self.near,
            "tasks_count": self.counts,
        }
        tasks = self.tasks
        with refused():
            return native().Scheduler(
                json.dumps(plan),
                tasks.level.tobytes(),
                tasks.wasted.tobytes(),
                tasks.retry_of.tobytes(),
            )

    def later(self, delay_ns: float) -> Plan:
        """Give the same work where each node with tasks is launched so much later."""
        counts = np.array(self.counts)
        plan = replace(self, delay_ns=np.asarray(self.delay_ns) + delay_ns * (counts > 0))
        plan.__dict__["scheduler"] = self.scheduler
        return plan

    def anywhere(self) -> Plan:
        """Give the same plan for executors of one kind, without locality."""
        nodes = len(self.counts)
        return replace(self, pool=[0] * nodes, near=[[]] * nodes, locality_wait_ns=0)


def plan_of(measured: Measured, graph: Graph, contention: Contention | None = None) -> Plan:
    """Build the plan of a measured run."""
    others = len(graph.after) - len(measured.stages)
    sites = sites_of(measured)
    near = [[sites[host] for host in stage.hosts if host in sites] for stage in measured.stages]
    return Plan(
        graph=graph,
        tasks=measured.tasks,
        delay_ns=np.array(graph.delay_ns, dtype=np.float64),
        counts=[stage.tasks_count for stage in measured.stages] + [0] * others,
        load=loads(measured, contention, len(graph.after)),
        pool=[stage.pool for stage in measured.stages] + [0] * others,
        near=[[] if len(one) == len(sites) else one for one in near] + [[]] * others,
        locality_wait_ns=measured.settings.locality_wait_ns,
        launch_resets_wait=measured.settings.launch_resets_wait,
    )


@dataclass(frozen=True)
class Schedule:
    """The result of one schedule; times are since the beginning.

    Attributes
    ----------
    slot_time : dict of str to float
        Where the time of all slots went, by cause; ``total_ns`` is their sum.
    kept_executors_count : int
        Executors kept beyond their end, as tasks waited and no slot remained.
    submit_ns, complete_ns : array
        By node; NaN where the end came before. Empty unless asked for.
    released_by : sequence
        Of the nodes that a node waited for, the one that was complete last.
    """

    elapsed_ns: float
    first_launch_ns: float | None
    slot_time: dict[str, float]
    kept_executors_count: int
    submit_ns: Floats
    complete_ns: Floats
    released_by: Sequence[int | None]


def schedules(
    plan: Plan,
    clusters: Sequence[Description],
    scenarios: Sequence[dict[str, Any]],
    contention: Contention | None = None,
    stretches: Sequence[Floats] | Floats = (),
) -> list[Schedule]:
    """Compute a schedule for each scenario (fields: ``Scenario`` in crates/pyro-sim).

    With contention the first cluster must be the measured one.

    Raises
    ------
    UsageError
        If the graph cannot be scheduled.
    """
    law = {} if contention is None else {"law": 1, "driver": contention.driver}
    request = {
        "locality_wait_ns": plan.locality_wait_ns,
        "clusters": list(clusters),
        "laws": [] if contention is None else contention.tables(),
        "measured": None if contention is None else [0, 0],
        "scenarios": [{**law, **scenario} for scenario in scenarios],
    }
    with refused():
        answer = plan.scheduler.simulate(
            json.dumps(request),
            np.asarray(plan.delay_ns, dtype=np.float64).tobytes(),
            plan.tasks.duration_ns.tobytes(),
            plan.tasks.delay_ns.tobytes(),
            np.asarray(stretches, dtype=np.float64).tobytes(),
        )
    return [_schedule(one) for one in json.loads(answer)]


@contextmanager
def refused() -> Iterator[None]:
    """Say in one message that the scheduler cannot schedule a run."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"this run cannot be scheduled: {error}") from error


def _schedule(one: dict[str, Any]) -> Schedule:
    nodes = one.get("nodes") or {"submit_ns": [], "complete_ns": [], "released_by": []}
    return Schedule(
        elapsed_ns=one["elapsed_ns"],
        first_launch_ns=one["first_launch_ns"],
        slot_time=one["slot_time"],
        kept_executors_count=one["kept_executors_count"],
        submit_ns=np.array(nodes["submit_ns"], dtype=np.float64),
        complete_ns=np.array(nodes["complete_ns"], dtype=np.float64),
        released_by=nodes["released_by"],
    )


FEWEST_STAGES = 5


@dataclass(frozen=True)
class Calibrated:
    """A run and its schedule at the measured size.

    Attributes
    ----------
    measured_ns, simulated_ns : array
        Time of each stage; NaN where its tasks are not known.
    """

    measured: Measured
    graph: Graph
    plan: Plan
    schedule: Schedule
    startup_ns: float
    stage_delay_ns: float
    measured_ns: Floats
    simulated_ns: Floats

    @property
    def error_ratio(self) -> float:
        """Simulated over measured elapsed time, less 1."""
        return self.schedule.elapsed_ns / self.measured.elapsed_ns - 1

    @property
    def stage_error_ratio(self) -> float | None:
        """Median over stages of the absolute error."""
        known = self.measured_ns > 0
        if not known.any():
            return None
        errors = self.simulated_ns[known] / self.measured_ns[known] - 1
        return float(np.median(np.abs(errors)))

    def cluster(self, shape: Shape) -> Description:
        """Describe a cluster of another size."""
        if shape not in self._clusters:
            self._clusters[shape] = cluster_of(self.measured, self.graph, shape, self.startup_ns)
        return self._clusters[shape]

    @cached_property
    def _clusters(self) -> dict[Shape, Description]:
        return {}


def calibrate(measured: Measured, contention: Contention | None = None) -> Calibrated:
    """Schedule a run at its own size."""
    graph = graph_of(measured)
    startup = 0.0
    bare = plan_of(measured, graph, contention)
    cluster = cluster_of(measured, graph, Shape())
    first = _scheduled(bare, cluster)
    if any(e.add_ns is not None for e in measured.executors) and measured.first_launch_ns:
        launched = measured.first_launch_ns - measured.intervals[0].start_wall_ns
        startup = max(0.0, launched - (first.first_launch_ns or 0.0))
        cluster = cluster_of(measured, graph, Shape(), startup)
        first = _scheduled(bare, cluster)
    took = stage_times(measured)
    delay = 0.0
    if np.isfinite(took).sum() >= FEWEST_STAGES:
        delay = max(0.0, float(np.nanmedian(took - _spans(measured, first))))
    plan = bare.later(delay)
    last = _scheduled(plan, cluster)
    return Calibrated(
        measured, graph, plan, last, startup, delay, took, _spans(measured, last) + delay
    )


def stage_times(measured: Measured) -> Floats:
    """Give the time of each stage from submission to its last task, where its tasks are known."""
    return np.array(
        [s.ran_ns - s.submit_ns if s.tasks_count else np.nan for s in measured.stages],
        dtype=np.float64,
    )


def _scheduled(plan: Plan, cluster: Description) -> Schedule:
    return schedules(plan, [cluster], [{"nodes": True}])[0]


def _spans(measured: Measured, schedule: Schedule) -> Floats:
    stages = len(measured.stages)
    return schedule.complete_ns[:stages] - schedule.submit_ns[:stages]


LARGE_ERROR = 0.05
MOST_NAMED = 5


def doubts_of(calibrated: Calibrated, kept_executors_count: int) -> list[Doubt]:
    """List the doubts about a simulation."""
    measured, found = calibrated.measured, []
    if abs(calibrated.error_ratio) > LARGE_ERROR:
        found.append(
            schema.doubt(
                "simulation_error",
                f"at the measured size it is {percent(calibrated.error_ratio, signed=True)} off",
            )
        )
    if measured.open_ended or measured.cut_count:
        said = ["the log has no end of the application"] * measured.open_ended
        if measured.cut_count:
            stages = "1 stage" if measured.cut_count == 1 else f"{measured.cut_count} stages"
            said.insert(0, f"{stages} had not ended when the window did: left out")
        found.append(schema.doubt("simulation_cut", "; ".join(said)))
    if calibrated.graph.unseen_count:
        found.append(
            schema.doubt(
                "simulation_unseen",
                f"{calibrated.graph.unseen_count} stages whose tasks are not all in the log take as"
                " long as they took, at any size",
            )
        )
    if measured.inferred:
        found.append(
            schema.doubt(
                "simulation_slots",
                "the cores of an executor are not in the log: as many as it ever ran tasks at once",
            )
        )
    concurrent = _concurrent_jobs(measured.jobs)
    if measured.settings.fair and concurrent:
        found.append(
            schema.doubt(
                "simulation_fair",
                f"spark.scheduler.mode is FAIR, and {concurrent} of {len(measured.jobs)} jobs began"
                " while another ran: here the earlier one is served first",
            )
        )
    if kept_executors_count:
        found.append(
            schema.doubt(
                "simulation_kept",
                f"{kept_executors_count} times executors that had gone were kept, as tasks still"
                " waited and no slot was left",
            )
        )
    return found


def no_contention(reason: str) -> Doubt:
    """Doubt that tasks take as long, whatever else runs."""
    return schema.doubt("simulation_contention", f"tasks take as long whatever else runs: {reason}")


def of_runs(runs: Sequence[Sequence[Doubt]]) -> list[Doubt]:
    """Report each doubt once, with the message of the first run that has it."""
    found: dict[str, list[Doubt]] = {}
    for own in runs:
        for code, one in {one.code: one for one in reversed(own)}.items():
            found.setdefault(code, []).append(one)
    return [
        one[0].model_copy(update={"message": f"{len(one)} of {len(runs)} runs: {one[0].message}"})
        for one in found.values()
    ]


def without_runs(refused: Sequence[UsageError], kept_count: int) -> list[Doubt]:
    """Doubt the result where some runs could not be used."""
    if not refused:
        return []
    of = f"{len(refused)} of {len(refused) + kept_count} runs"
    return [schema.doubt("simulation_without", f"{of}: {graph_doubts(refused)}")]


def graph_doubts(refused: Sequence[UsageError]) -> str:
    """Name the runs that could not be used, with the causes."""
    more = f"; and {len(refused) - MOST_NAMED} more" if len(refused) > MOST_NAMED else ""
    return "; ".join(one.message for one in refused[:MOST_NAMED]) + more


def _concurrent_jobs(jobs: Sequence[Job]) -> int:
    """Count jobs that were submitted while an earlier one ran."""
    count, until = 0, -math.inf
    for job in sorted(jobs, key=lambda one: one.submit_ns):
        count += job.submit_ns < until
        until = max(until, math.inf if job.end_ns is None else job.end_ns)
    return count
