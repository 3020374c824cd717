"""The graph of a run: what had to end before what could begin, and the driver's time between.

Spark records parents of stages, and nothing of what a job waited for. A job waits here for every
job that had ended when it was submitted: right for a driver of one thread and for adaptive
execution, too strict for independent threads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from pyrometer.analyse.simulation.measured import Job, Measured, Stage


@dataclass
class Graph:
    """Nodes in columns; the first ones are the stages, in their order.

    Attributes
    ----------
    after : list of list of int
        Nodes that a node waits for.
    delay_ns : list of int
        The driver's time from there to the node.
    done_ns : list of int
        When the node was complete in the measured run.
    start, end : int
        The nodes that begin and end the window.
    unseen_count : int
        Stages whose tasks are not in the log: they take as long as they took.
    """

    after: list[list[int]] = field(default_factory=list)
    delay_ns: list[int] = field(default_factory=list)
    done_ns: list[int] = field(default_factory=list)
    start: int = 0
    end: int = 0
    unseen_count: int = 0

    def add(self, after: list[int], begin_ns: int, done_ns: int | None = None) -> int:
        """Add a node that began at a time, after others; it is complete then, unless told."""
        self.after.append(after)
        self.done_ns.append(begin_ns if done_ns is None else done_ns)
        self.delay_ns.append(self._delay(after, begin_ns))
        return len(self.after) - 1

    def put(self, node: int, after: list[int], begin_ns: int) -> None:
        """Say what a node waits for."""
        self.after[node] = after
        self.delay_ns[node] += self._delay(after, begin_ns)

    def _delay(self, after: list[int], begin_ns: int) -> int:
        if not after:
            return 0
        return max(0, begin_ns - max(self.done_ns[node] for node in after))


def graph_of(measured: Measured) -> Graph:
    """Make the graph: per stretch of the window a start, jobs and their stages, an end."""
    graph = Graph()
    by_id: dict[int, list[Stage]] = defaultdict(list)
    for stage in measured.stages:
        graph.add([], stage.submit_ns, stage.complete_ns)
        by_id[stage.stage_id].append(stage)
        if stage.tasks_count == 0:
            graph.unseen_count += 1
            graph.delay_ns[-1] = stage.complete_ns - stage.submit_ns
    before: list[int] = []
    graph.start = len(graph.after)
    for stretch in measured.intervals:
        first, last = stretch.start_wall_ns, stretch.end_wall_ns
        # What lies between two stretches of a window is not in it.
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
    """Add jobs and say what their stages wait for; give the node behind the last job."""
    begins = {job.job_id: graph.add([], job.submit_ns) for job in jobs}
    members: dict[int | None, list[int]] = defaultdict(list)
    for stage in stages:
        members[stage.job_id].append(stage.number)
        begin = start if stage.job_id is None else begins.get(stage.job_id, start)
        graph.put(stage.number, [begin, *_waited(stage, by_id)], stage.submit_ns)
    ended = sorted((job.end_ns, job.job_id) for job in jobs if job.end_ns is not None)
    # A chain of nodes, each behind one more job: "all that have ended" is one edge.
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
