"""A measured run made ready for the scheduler, and scheduled once at its own size.

Two times are of the run as a whole and not of any task: from an executor's registration to its
first task, and from a stage's submission to its first task and from its last to its completion.
They are what the schedule lacks without them: the first by the first task of all, the second by
the median over stages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrometer.analyse.simulation.cluster import Description, Shape, cluster_of
from pyrometer.analyse.simulation.contention import Contention
from pyrometer.analyse.simulation.core import Plan, Schedule, plan_of, schedules
from pyrometer.analyse.simulation.graph import Graph, graph_of
from pyrometer.analyse.simulation.measured import Floats, Measured

FEWEST_STAGES = 5


@dataclass(frozen=True)
class Calibrated:
    """A run and its schedule at the measured size.

    Attributes
    ----------
    measured_ns, simulated_ns : array
        Time of each stage; not a number where its tasks are not known.
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
        """Median over stages of the error without its sign."""
        known = self.measured_ns > 0
        if not known.any():
            return None
        errors = self.simulated_ns[known] / self.measured_ns[known] - 1
        return float(np.median(np.abs(errors)))

    def cluster(self, shape: Shape) -> Description:
        """Describe a cluster of another size."""
        return cluster_of(self.measured, self.graph, shape, self.startup_ns)


def calibrate(measured: Measured, contention: Contention | None = None) -> Calibrated:
    """Schedule a run at its own size."""
    graph = graph_of(measured)
    startup = 0.0
    bare = plan_of(measured, graph)
    first = _scheduled(bare, cluster_of(measured, graph, Shape()))
    if any(e.add_ns is not None for e in measured.executors) and measured.first_launch_ns:
        launched = measured.first_launch_ns - measured.intervals[0].start_wall_ns
        startup = max(0.0, launched - (first.first_launch_ns or 0.0))
        first = _scheduled(bare, cluster_of(measured, graph, Shape(), startup))
    took = stage_times(measured)
    delay = 0.0
    if np.isfinite(took).sum() >= FEWEST_STAGES:
        delay = max(0.0, float(np.nanmedian(took - _spans(measured, first))))
    plan = plan_of(measured, graph, delay, contention)
    last = _scheduled(plan, cluster_of(measured, graph, Shape(), startup))
    return Calibrated(
        measured, graph, plan, last, startup, delay, took, _spans(measured, last) + delay
    )


def stage_times(measured: Measured) -> Floats:
    """Give the time of each stage from submission to completion, where its tasks are known."""
    return np.array(
        [s.complete_ns - s.submit_ns if s.tasks_count else np.nan for s in measured.stages],
        dtype=np.float64,
    )


def _scheduled(plan: Plan, cluster: Description) -> Schedule:
    return schedules(plan, [cluster], [{"nodes": True}])[0]


def _spans(measured: Measured, schedule: Schedule) -> Floats:
    stages = len(measured.stages)
    return schedule.complete_ns[:stages] - schedule.submit_ns[:stages]
