"""The native scheduler: one plan, many schedules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyrometer.analyse.simulation.cluster import Description, sites_of
from pyrometer.analyse.simulation.contention import Contention, loads
from pyrometer.analyse.simulation.graph import Graph
from pyrometer.analyse.simulation.measured import Floats, Measured, Tasks
from pyrometer.errors import UsageError
from pyrometer.store.ingest import native


@dataclass(frozen=True)
class Plan:
    """What there is to do: nodes in columns, and their tasks.

    Attributes
    ----------
    counts : list of int
        Tasks of each node.
    load : list of float
        What a running task of each node adds to its host's load.
    pool, near : list
        Kind of executor that each node's tasks need, and sites that are near to their data.
    """

    graph: Graph
    tasks: Tasks
    delay_ns: list[float]
    counts: list[int]
    load: list[float]
    pool: list[int]
    near: list[list[int]]
    locality_wait_ns: float
    launch_resets_wait: bool

    def anywhere(self) -> Plan:
        """Give the same plan for executors of one kind, with no place better than another."""
        nodes = len(self.counts)
        return replace(self, pool=[0] * nodes, near=[[]] * nodes, locality_wait_ns=0)


def plan_of(
    measured: Measured,
    graph: Graph,
    stage_delay_ns: float = 0,
    contention: Contention | None = None,
) -> Plan:
    """Make the plan of a measured run; each stage is launched ``stage_delay_ns`` after its time."""
    others = len(graph.after) - len(measured.stages)
    sites = sites_of(measured)
    near = [[sites[host] for host in stage.hosts if host in sites] for stage in measured.stages]
    delays: list[float] = list(graph.delay_ns)
    for stage in measured.stages:
        delays[stage.number] += stage_delay_ns if stage.tasks_count else 0
    return Plan(
        graph=graph,
        tasks=measured.tasks,
        delay_ns=delays,
        counts=[stage.tasks_count for stage in measured.stages] + [0] * others,
        load=loads(measured, contention, len(delays)),
        pool=[stage.pool for stage in measured.stages] + [0] * others,
        near=[[] if len(one) == len(sites) else one for one in near] + [[]] * others,
        locality_wait_ns=measured.settings.locality_wait_ns,
        launch_resets_wait=measured.settings.launch_resets_wait,
    )


@dataclass(frozen=True)
class Schedule:
    """What came of one schedule; times are since the beginning.

    Attributes
    ----------
    slot_time : dict of str to float
        Where the time of all slots went, by cause; ``total_ns`` is their sum.
    kept_executors_count : int
        Executors kept beyond their end, as tasks waited and no slot was left.
    submit_ns, complete_ns : array
        By node; not a number where the end came before. Empty unless asked for.
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
    stretches: Sequence[Sequence[float]] = (),
) -> list[Schedule]:
    """Make a schedule for each scenario (fields: ``Scenario`` in crates/pyro-sim).

    Under contention the first cluster is the one that was measured.

    Raises
    ------
    UsageError
        If the graph cannot be scheduled.
    """
    law = {} if contention is None else {"law": 1, "driver": contention.driver}
    graph = plan.graph
    request = {
        "plan": {
            "end": graph.end,
            "locality_wait_ns": plan.locality_wait_ns,
            "launch_resets_wait": plan.launch_resets_wait,
            "after": graph.after,
            "node_delay_ns": plan.delay_ns,
            "load": plan.load,
            "pool": plan.pool,
            "near": plan.near,
            "tasks_count": plan.counts,
        },
        "clusters": list(clusters),
        "laws": [] if contention is None else contention.tables(),
        "measured": None if contention is None else [0, 0],
        "stretches": [list(one) for one in stretches],
        "scenarios": [{**law, **scenario} for scenario in scenarios],
    }
    tasks = plan.tasks
    try:
        answer = native().simulate(
            json.dumps(request),
            tasks.duration_ns.tobytes(),
            tasks.delay_ns.tobytes(),
            tasks.level.tobytes(),
            tasks.wasted.tobytes(),
            tasks.retry_of.tobytes(),
        )
    except ValueError as error:
        raise UsageError(f"this run cannot be scheduled: {error}") from error
    return [_schedule(one) for one in json.loads(answer)]


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
