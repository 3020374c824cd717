"""Executors for the scheduler: as measured, or another number of slots.

An executor comes and goes so long after a node of the graph was complete: where work takes
longer, dynamic allocation is later too.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyrometer.analyse.simulation.graph import Graph
from pyrometer.analyse.simulation.measured import Executor, Measured

Description = list[dict[str, Any]]


@dataclass(frozen=True)
class Shape:
    """A cluster to try.

    Attributes
    ----------
    ratio : float
        Slots, over those measured.
    cores : int or None
        Slots of an executor; unasked, as measured.
    """

    ratio: float = 1.0
    cores: int | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it is the cluster as measured."""
        return self.ratio == 1.0 and self.cores is None


def most_slots(executors: Sequence[Executor]) -> int:
    """Count the slots that were there at once."""
    steps = sorted(
        [(e.add_ns or 0, 1, e.slots) for e in executors]
        + [(e.remove_ns, 0, -e.slots) for e in executors if e.remove_ns is not None]
    )
    here = most = 0
    for _, _, change in steps:
        here += change
        most = max(most, here)
    return most


def cluster_of(
    measured: Measured, graph: Graph, shape: Shape, startup_ns: float = 0
) -> Description:
    """Describe a cluster to the scheduler.

    An executor that came takes its first task ``startup_ns`` later: it has plugins to start.

    The slots of all executors of a kind are multiplied as a whole, so that any ratio is met as
    closely as whole slots allow, and at each time; copies of an executor stand on hosts of their
    own, unless there was one host.
    """
    anchors = _Anchors(measured, graph)
    sites = sites_of(measured)
    hosts: dict[str, int] = {}
    one_host = len({e.host for e in measured.executors}) == 1
    made: Description = []
    ends: dict[int, int] = {}
    for executor in measured.executors:
        end = ends.get(executor.pool, 0)
        ends[executor.pool] = end + executor.slots
        low, high = (math.ceil(n * shape.ratio - 1e-9) for n in (end, end + executor.slots))
        size = shape.cores or executor.slots
        for copy, first in enumerate(range(low, high, size)):
            host = executor.host if one_host or copy == 0 else f"{executor.host}/{copy}"
            made.append(
                {
                    "slots": min(size, high - first),
                    "host": hosts.setdefault(host, len(hosts)),
                    "site": sites[executor.host],
                    "pool": executor.pool,
                    "add": anchors.at(executor.add_ns, startup_ns),
                    "remove": None
                    if executor.remove_ns is None
                    else anchors.at(executor.remove_ns),
                    "dynamic": executor.dynamic,
                }
            )
    return made


def tasks_ratios(
    measured: Measured, nodes: int, ratio: float, asked: float | None = None
) -> list[float]:
    """Say how many times as many tasks each node has at another number of slots.

    Spark splits input by the number of cores (``spark.default.parallelism``): a stage without
    parents that had as many tasks as there were slots has as many as there are. Where executors
    come and go nothing is known of that.

    Parameters
    ----------
    ratio : float
        Slots, over those measured.
    asked : float, optional
        Tasks of each stage of several, over those measured: then nothing else counts.
    """
    slots = most_slots(measured.executors)
    fixed = not measured.settings.dynamic
    made = [1.0] * nodes
    for stage in measured.stages:
        if asked is not None:
            made[stage.number] = asked if stage.tasks_count > 1 else 1.0
        elif fixed and not stage.parent_ids and stage.tasks_count == slots:
            made[stage.number] = math.ceil(slots * ratio - 1e-9) / slots
    return made


def plain(graph: Graph, slots: int) -> Description:
    """Describe a cluster of so many slots that are there from the beginning, all alike."""
    return [{"slots": slots, "host": 0, "add": (graph.start, 0)}]


def sites_of(measured: Measured) -> dict[str, int]:
    """Give the hosts their numbers."""
    return {host: n for n, host in enumerate(dict.fromkeys(e.host for e in measured.executors))}


class _Anchors:
    """Moments of the measured run, each told from the node that was complete last before."""

    def __init__(self, measured: Measured, graph: Graph) -> None:
        self._stretches = measured.intervals
        done = sorted((graph.done_ns[node], node) for node in range(len(graph.after)))
        self._times = [time for time, _ in done]
        self._nodes = [node for _, node in done]
        self._start = graph.start

    def at(self, moment_ns: int | None, later_ns: float = 0) -> tuple[int, float]:
        if moment_ns is None:
            return self._start, 0
        index = bisect_right(self._times, moment_ns) - 1
        if index < 0:
            return self._start, later_ns
        latest = self._times[index]
        # Between two stretches nothing passes.
        inside = any(s.start_wall_ns <= moment_ns <= s.end_wall_ns for s in self._stretches)
        return self._nodes[index], (moment_ns - latest if inside else 0) + later_ns
