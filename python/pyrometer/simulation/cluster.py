"""Executors for the scheduler: as measured, or another number of slots.

Executors are added and removed at a delay after a node of the graph is complete: where work takes
longer, dynamic allocation is later too.

The graph of a run: which nodes a node waits for, and the driver's time between them.

Spark records the parents of stages, but not what a job waited for. Here a job waits for every job
that had ended when it was submitted: right for a driver of one thread and for adaptive execution,
too strict for independent threads.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.simulation.measured import Executor, Job, Measured, Stage


@dataclass
class Graph:
    """Nodes in columns; the first ones are the stages, in their order.

    Attributes
    ----------
    after : list of list of int
        Nodes that a node waits for.
    delay_ns : list of int
        The driver's time between them and the node.
    done_ns : list of int
        When the node was complete in the measured run.
    start, end : int
        The nodes that begin and end the window.
    unseen_count : int
        Stages whose tasks are not in the log: they keep their measured time.
    """

    after: list[list[int]] = field(default_factory=list)
    delay_ns: list[int] = field(default_factory=list)
    done_ns: list[int] = field(default_factory=list)
    start: int = 0
    end: int = 0
    unseen_count: int = 0

    def add(self, after: list[int], begin_ns: int, done_ns: int | None = None) -> int:
        """Add a node that began at a time, after others; by default it is complete then."""
        self.after.append(after)
        self.done_ns.append(begin_ns if done_ns is None else done_ns)
        self.delay_ns.append(self._delay(after, begin_ns))
        return len(self.after) - 1

    def put(self, node: int, after: list[int], begin_ns: int) -> None:
        """Set the nodes that a node waits for."""
        self.after[node] = after
        self.delay_ns[node] += self._delay(after, begin_ns)

    def _delay(self, after: list[int], begin_ns: int) -> int:
        if not after:
            return 0
        return max(0, begin_ns - max(self.done_ns[node] for node in after))


def graph_of(measured: Measured) -> Graph:
    """Build the graph: per interval of the window a start, jobs and their stages, an end."""
    graph = Graph()
    by_id: dict[int, list[Stage]] = defaultdict(list)
    for stage in measured.stages:
        graph.add([], stage.submit_ns, stage.ran_ns)
        by_id[stage.stage_id].append(stage)
        if stage.tasks_count == 0:
            graph.unseen_count += 1
            graph.delay_ns[-1] = stage.complete_ns - stage.submit_ns
    before: list[int] = []
    graph.start = len(graph.after)
    for stretch in measured.intervals:
        first, last = stretch.start_wall_ns, stretch.end_wall_ns
        # The time between two intervals of a window is not part of it.
        start = graph.add([], first)
        graph.after[start] = before
        stages = [s for s in measured.stages if first <= s.submit_ns and s.complete_ns <= last]
        jobs = [job for job in measured.jobs if first <= job.submit_ns <= last]
        marks = _jobs(graph, start, jobs, stages, by_id)
        graph.end = graph.add([marks, *(stage.number for stage in stages)], last)
        before = [graph.end]
    return graph


def _jobs(
    graph: Graph, start: int, jobs: list[Job], stages: list[Stage], by_id: dict[int, list[Stage]]
) -> int:
    """Add jobs, and what their stages wait for; return the node after the last job."""
    begins = {job.job_id: graph.add([], job.submit_ns) for job in jobs}
    members: dict[int | None, list[int]] = defaultdict(list)
    for stage in stages:
        members[stage.job_id].append(stage.number)
        begin = start if stage.job_id is None else begins.get(stage.job_id, start)
        graph.put(stage.number, [begin, *_waited(stage, by_id)], stage.submit_ns)
    ended = sorted((job.end_ns, job.job_id) for job in jobs if job.end_ns is not None)
    # A chain of nodes, each after one more job: "all that have ended" is one edge.
    marks = [start]
    for end_ns, number in ended:
        mine = [node for node in members[number] if graph.done_ns[node] <= end_ns]
        done = graph.add([begins[number], *mine], end_ns)
        marks.append(graph.add([marks[-1], done], end_ns))
    for job in jobs:
        before = bisect_right(ended, (job.submit_ns, job.job_id))
        if job.end_ns is not None:
            before = min(before, bisect_left(ended, (job.end_ns, job.job_id)))
        graph.put(begins[job.job_id], [marks[before]], job.submit_ns)
    return marks[-1]


def _waited(stage: Stage, by_id: dict[int, list[Stage]]) -> list[int]:
    earlier = [s for parent in stage.parent_ids for s in by_id.get(parent, ())]
    earlier += [s for s in by_id[stage.stage_id] if s.attempt < stage.attempt]
    return [s.number for s in earlier if s.complete_ns <= stage.submit_ns]


Description = list[dict[str, Any]]


@dataclass(frozen=True)
class Shape:
    """A cluster to simulate.

    Attributes
    ----------
    ratio : float
        Slots over the measured ones.
    cores : int or None
        Slots per executor; by default, as measured.
    several_hosts : bool
        Whether it has several hosts even where the run had one.
    """

    ratio: float = 1.0
    cores: int | None = None
    several_hosts: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether it is the cluster as measured."""
        return self.ratio == 1.0 and self.cores is None


def most_slots(executors: Sequence[Executor]) -> int:
    """Give the largest number of slots at one time."""
    steps = sorted(
        [(e.add_ns or 0, 1, e.slots) for e in executors]
        + [(e.remove_ns, 0, -e.slots) for e in executors if e.remove_ns is not None]
    )
    here = most = 0
    for _, _, change in steps:
        here += change
        most = max(most, here)
    return most


def on_several_hosts(executors: Sequence[Executor]) -> bool:
    """Whether executors ran on more than one host."""
    return len({executor.host for executor in executors}) > 1


def cluster_of(
    measured: Measured, graph: Graph, shape: Shape, startup_ns: float = 0
) -> Description:
    """Describe a cluster to the scheduler.

    An executor that was added during the run takes its first task ``startup_ns`` later: it starts
    plugins first. Copies of an executor run on hosts of their own, unless the shape has one host.
    """
    anchors = _Anchors(measured, graph)
    sites = sites_of(measured)
    hosts: dict[str, int] = {}
    one_host = not (shape.several_hosts or on_several_hosts(measured.executors))
    executors: Description = []
    for executor, copies in copies_of(measured.executors, shape):
        for copy, slots in enumerate(copies):
            host = executor.host if one_host or copy == 0 else f"{executor.host}/{copy}"
            executors.append(
                {
                    "slots": slots,
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
    return executors


def copies_of(executors: Sequence[Executor], shape: Shape) -> list[tuple[Executor, list[int]]]:
    """Give the slots of the executors that stand for each measured one.

    The slots of all executors of a kind are multiplied together, so that the ratio is as close as
    whole slots allow at every time. Executors of a given size are whole: each comes and goes with
    the measured one in whose slots it begins.
    """
    found: list[tuple[Executor, list[int]]] = []
    ends: dict[int, int] = {}
    for executor in executors:
        end = ends.get(executor.pool, 0)
        ends[executor.pool] = end + executor.slots
        low, high = (math.ceil(n * shape.ratio - 1e-9) for n in (end, end + executor.slots))
        if shape.cores is None:
            size = executor.slots
            copies = [min(size, high - first) for first in range(low, high, size)]
        else:
            size = shape.cores
            copies = [size for _ in range(math.ceil(low / size) * size, high, size)]
        found.append((executor, copies))
    return found


def check_layout(executors: Sequence[Executor], shape: Shape, count: int) -> None:
    """Refuse a layout that the comings and goings of the measured executors do not give.

    Raises
    ------
    UsageError
        If the largest number of executors at one time is not `count`.
    """
    each = [
        replace(executor, slots=1)
        for executor, copies in copies_of(executors, shape)
        for _ in copies
    ]
    if (found := most_slots(each)) != count:
        raise UsageError(
            f"{count} executors of {shape.cores} slots cannot be simulated: as executors came and"
            f" went in this run, or by their resource profiles, it would be {found} at one time",
            f"--percent {_percents(executors, shape.ratio)}, on executors like the measured ones",
        )


LEAST_PERCENT, MOST_PERCENT = 1.0, 1e5
"""Sizes that can be asked for, in per cent of the measured slots."""
ANY_PERCENTS = "50,100,200"
"""Sizes that every run has."""


def _percents(executors: Sequence[Executor], ratio: float) -> str:
    """Give the size that has as many slots at one time as the ratio says; if none has, any."""
    text = f"{100 * ratio:.15g}"
    if not LEAST_PERCENT <= float(text) <= MOST_PERCENT:
        return ANY_PERCENTS
    copied = [
        replace(executor, slots=slots)
        for executor, copies in copies_of(executors, Shape(float(text) / 100))
        for slots in copies
    ]
    wanted = round(most_slots(executors) * ratio)
    return text if most_slots(copied) == wanted else ANY_PERCENTS


MOST_TASKS = 10_000_000
"""Tasks that a schedule may have beyond the measured ones."""


def check_tasks(measured: Measured, ratios: Mapping[int, float]) -> None:
    """Refuse numbers of tasks for which memory does not suffice.

    Parameters
    ----------
    ratios : mapping of int to float
        See :func:`tasks_ratios`.

    Raises
    ------
    UsageError
        If there are too many tasks in all, or their number is none.
    """
    known = sum(stage.tasks_count for stage in measured.stages)
    count = sum(stage.tasks_count * ratios.get(stage.number, 1.0) for stage in measured.stages)
    if not count <= known + MOST_TASKS:
        raise UsageError(
            f"{count:.3g} tasks cannot be scheduled: at most {MOST_TASKS:,} more than the"
            f" {known:,} measured ones",
            "a smaller --tasks, or fewer slots",
        )


def tasks_ratios(measured: Measured, ratio: float, asked: float | None = None) -> dict[int, float]:
    """Give the factor of the number of tasks of nodes where it is another, at other slots.

    Spark splits input by the number of cores (``spark.default.parallelism``): a stage without
    parents that had as many tasks as slots keeps as many tasks as slots. With dynamic allocation
    that cannot be known, and the number stays.

    Parameters
    ----------
    ratio : float
        Slots over the measured ones.
    asked : float, optional
        Tasks over the measured ones, for every stage of several tasks; overrides the rule above.
    """
    slots = most_slots(measured.executors)
    fixed = not measured.settings.dynamic
    ratios: dict[int, float] = {}
    for stage in measured.stages:
        if asked is not None:
            if stage.tasks_count > 1:
                ratios[stage.number] = asked
        elif fixed and not stage.parent_ids and stage.tasks_count == slots:
            ratios[stage.number] = math.ceil(slots * ratio - 1e-9) / slots
    return {number: ratio for number, ratio in ratios.items() if ratio != 1}


def plain(graph: Graph, slots: int) -> Description:
    """Describe a cluster with a number of equal slots, present from the beginning."""
    return [{"slots": slots, "host": 0, "add": (graph.start, 0)}]


def sites_of(measured: Measured) -> dict[str, int]:
    """Give each host a number."""
    return {host: n for n, host in enumerate(dict.fromkeys(e.host for e in measured.executors))}


class _Anchors:
    """Times in the measured run, as offsets from the last node that was complete before."""

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
        # Time between two intervals does not count.
        inside = any(s.start_wall_ns <= moment_ns <= s.end_wall_ns for s in self._stretches)
        return self._nodes[index], (moment_ns - latest if inside else 0) + later_ns
