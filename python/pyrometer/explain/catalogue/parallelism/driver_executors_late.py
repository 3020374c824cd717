"""Work waits for executors that are not there yet.

What it is
    Executors register late: the cluster has no room, an image is loaded, or dynamic allocation asks
    for them in doubling rounds only when tasks already wait. Executors count that were there at
    once, and no more than ever had tasks: one that replaces another is not late.

Mechanism
    Until they register, no task runs, or all of them run on the few slots there are. With executors
    asked for at the start, and room for them, they register together. What a JVM needs to start
    stays: what it took where that is known, else `START_NS`. Of what it took longer
    than that, a quarter to all can go, assumed. The cores that they hold meanwhile are in the
    saving of cores.

Evidence
    When executors registered, since the start of the application; where probes, agents or the
    plugin recorded their processes, when these started. Before, they waited for the cluster
    (queue, placement, image, container); then, for their own start. On Kubernetes the status of
    their pods splits the first: no pod yet, no node yet, image and container, in whole seconds.

Remedy
    `spark.dynamicAllocation.initialExecutors`; without dynamic allocation, capacity held ready,
    images loaded beforehand. `minExecutors` would hold them until the end. On Kubernetes, by what
    took longest: more pods at a time, executors that fit on the nodes or an autoscaler that keeps
    some ready, an image that is on the nodes already. Where the start of the process is most of
    it: CPUs for it, a shorter class path, fewer agents.

When it is wrong
    The cluster is full: then the application waits for the work of others.

Source
    Spark's "Dynamic Resource Allocation", request policy; start of an executor's JVM with Spark:
    3 s, assumed for hosts with CPUs to spare. On two CPUs that were busy with other
    work, at the lowest priority, it took 11 to 22 s after the application's start (two executors in
    local-cluster mode, three runs on 2026-11-25): of an event log alone, the saving is then less
    than predicted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import LessGap, Sooner
from pyrometer.explain.evidence.driver_time import nodes_of
from pyrometer.explain.evidence.executor_starts import Pods, pods_of, process_starts
from pyrometer.explain.evidence.held_slots import executors_for, most_at_once, most_tasks
from pyrometer.explain.evidence.places import bounds
from pyrometer.explain.evidence.saying import factor, machine
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats

START_NS = 3e9
INITIAL = "spark.dynamicAllocation.initialExecutors"
_MOST = """
SELECT max(n) FROM (SELECT sum(d) OVER (ORDER BY t, d) AS n FROM (SELECT
unnest([add_wall_ns, coalesce(remove_wall_ns, 9223372036854775807)]) AS t, unnest([1, -1]) AS d {}))
"""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    measured = facts.measured
    if measured is None:
        return
    first = measured.intervals[0].start_wall_ns
    everyone = sorted(
        (one for one in measured.executors if one.executor_id != "driver"),
        key=lambda one: one.add_ns or first,
    )
    at_once = most_at_once(
        np.array([float(one.add_ns or first) for one in everyone]),
        np.array([float(one.remove_ns or np.inf) for one in everyone]),
    )
    used = most_tasks(facts)
    needed = min(at_once, executors_for(facts, used)) if used else at_once
    ones = [one for one in everyone[:needed] if one.add_ns is not None]
    late = np.array([float((one.add_ns or first) - first) for one in ones])
    if not late.size or late.max() <= START_NS:
        return
    began = process_starts(facts)
    starts = np.array([
        float(max(0, (one.add_ns or first) - max(first, began[one.executor_id])))
        if one.executor_id in began else np.nan for one in ones
    ])  # fmt: skip
    pods = pods_of(facts, first, began, {one.executor_id: one.add_ns or first for one in ones})
    stays = np.minimum(np.where(np.isnan(starts), START_NS, starts), np.maximum(late, 0.0))
    stay = float(stays.mean())
    slow = float(np.maximum(stays - START_NS, 0.0).mean())
    # Without its settings a log does not tell: the smaller saving counts.
    unknown = not measured.settings.values
    dynamic = measured.settings.dynamic or unknown
    asked = float(late.min()) if dynamic else stay
    # With dynamic allocation all of them could have come with the first one, at least.
    low = max(0.0, 1 - max(asked, stay) / float(late.mean()))
    high = max(low, 1 - stay / float(late.mean()))
    faster = slow / float(late.mean())
    # A driver that waits for executors submits its first job when they are there. Asking for more
    # of them, as with dynamic allocation, brings the first no sooner.
    first_job = min((one.submit_ns for one in measured.jobs), default=0)
    there = first + float(late.min())
    needs = min(float(stays[late.argmin()]), START_NS)
    waits = not dynamic and first_job >= there > first + needs
    waited = nodes_of(facts, [(first + needs, there)]) if waits else {}
    ask = factor(INITIAL, str(needed), f"ask for {units.counted(needed, 'executor')} at the start")
    fits = (pods.remedy if pods else None) or _HOLD
    of_app = (
        f"FROM executors WHERE app_index = {measured.app_index} AND executor_id <> 'driver'"
        " AND add_wall_ns IS NOT NULL"
    )
    is_set = dynamic and not unknown
    name = INITIAL if is_set else None
    others = len(everyone) - needed
    held = sum(max(0.0, ns - own) * one.cores
               for ns, own, one in zip(late, stays, ones, strict=True))  # fmt: skip
    span = units.duration(float(late.mean()))
    if len(ones) > 1:
        span = (
            f"{units.duration(float(late.min()))} to {units.duration(float(late.max()))}, on"
            f" average {span},"
        )
    more = f" {units.count(others)} more replaced others, or had no tasks to run." if others else ""
    lost = " The log has no settings: whether dynamic allocation was on is not known."
    yield Suspect(
        place=Place(layer="setting" if is_set else "cluster", setting=name),
        mechanism=(
            f"{units.counted(len(ones), 'executor')} registered {span} after the application's"
            f" start.{more}{_split(late, starts, pods)}{lost * unknown}"
        ),
        change=(Sooner(held_core_ns=held if dynamic else 0.0), LessGap(waited, what="executors")),
        # Without dynamic allocation it is for the cluster to be sooner: half the way, assumed.
        extent=Extent((low + high + faster) / 2, low + faster / 4, high + faster, late.size)
        if dynamic
        else Extent(high * 0.75 + faster / 2, high / 2 + faster / 4, high + faster, late.size),
        evidence=[
            Evidence(what="executors registered after", unit="ns", table="executors",
                     estimate=bounds(float(late.mean()), float(late.min()), float(late.max()),
                                     late.size, "mean and range"),
                     query=f"SELECT avg(add_wall_ns) - {first} FROM (SELECT add_wall_ns {of_app}"
                     f" ORDER BY add_wall_ns LIMIT {needed}) WHERE add_wall_ns > {first}",
                     link="/timeline"),
            Evidence(what="executors at once", unit="count", table="executors", link="/timeline",
                     estimate=exactly(float(at_once)), query=_MOST.format(of_app)),
            *(pods.evidence() if pods else ()),
            *_evidence(starts),
        ],
        remedies=([_START] if faster > high else []) + [ask] * dynamic
        + [fits] * (unknown or not dynamic or fits is not _HOLD)
        + ([_START] if 0 < faster <= high else []),
    )  # fmt: skip


def _split(late: Floats, starts: Floats, pods: Pods | None) -> str:
    """Say what went by before and after the start of the processes that are known."""
    known = ~np.isnan(starts)
    if not known.any():
        return ""
    own = float(starts[known].mean())
    before = float(late[known].mean()) - own
    waited = pods.listed if pods else "queue, placement, image, container"
    whose = "Their processes" if known.all() else f"The processes of {int(known.sum())} of them"
    return (
        f" {whose} started {units.duration(before)} after it on average ({waited}), and took"
        f" {units.duration(own)} to register.{pods.said if pods else ''}"
    )


def _evidence(starts: Floats) -> Iterator[Evidence]:
    known = starts[~np.isnan(starts)]
    if known.size:
        yield Evidence(
            what="processes took to register", unit="ns", table="processes", link="/ledger",
            estimate=bounds(float(known.mean()), float(known.min()), float(known.max()),
                            known.size, "mean and range"),
            query="ledger --json: slot_view.memos, executors/starting (slot time of all)",
        )  # fmt: skip


_HOLD = machine(
    "hold capacity ready for the executors: nodes that are up, and images that are loaded"
)
_START = machine(
    "shorten the start of executors: free CPUs on their hosts, a smaller class path, fewer agents"
    " and Java options that slow the start"
)

RULE = Rule(
    code="driver.executors-late",
    title="Executors register late",
    cause="executor allocation",
    suspects=_suspects,
    refute="Start with all executors at hand: if the first job still begins as late, it is the"
    " driver.",
)
