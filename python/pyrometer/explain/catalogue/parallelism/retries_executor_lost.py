"""Executors are lost while they run tasks.

What it is
    A container is killed for its memory, a JVM ends, a machine is taken away.

Mechanism
    Tasks that ran there are run again, outputs that lay there are made again, and its slots are
    missing until another executor has started. The simulator removes the time of attempts that
    ended with their executor, or were submitted again after its loss, and lets it stay until then.

Evidence
    Executors that were removed for another reason than being idle, as Spark gives it, or with which
    attempts ended, and these attempts.

Remedy
    Killed for memory, or by SIGKILL (exit code 137), which mostly is for memory: twice the
    `spark.executor.memoryOverhead` that is in effect (see `heap.container-limit`), or fewer tasks
    at once in an executor. A machine taken away: decommissioning, or machines that stay. Otherwise
    the logs of the executors say why they ended.

When it is wrong
    The executor was lost at the end, with nothing on it.

Source
    Remove reasons in Spark's event log; `spark.executor.memoryOverhead` in its configuration.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import numpy as np

from pyrometer.accounts.ledger.events import GIVEN_UP
from pyrometer.core import units
from pyrometer.explain.catalogue.memory.heap_container_limit import more_overhead
from pyrometer.explain.catalogue.memory.retries_out_of_memory import KILLED
from pyrometer.explain.catalogue.parallelism.retries_failed_tasks import ends
from pyrometer.explain.change import Less, Stay
from pyrometer.explain.evidence.places import of_tasks
from pyrometer.explain.evidence.saying import factor, machine
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

MEMORY = ("memory limits", "oom", "outofmemory")
"""Words of cluster managers for a container that was killed for its memory."""
TAKEN = re.compile(
    r"decommission|preempt|\bspot\b|node (?:was )?(?:lost|terminated)", re.IGNORECASE
)
"""What is said of a machine or container that was taken away."""
_STAYS = factor(
    "spark.decommission.enabled", "true",
    "let executors migrate their blocks before their machine is taken away",
    **{"spark.storage.decommission.enabled": "true"},
)  # fmt: skip
_IDLE = " OR ".join(f"contains(lower(remove_reason), '{word}')" for word in GIVEN_UP)
_LOST = (
    "FROM executors WHERE app_index = {0} AND remove_wall_ns IS NOT NULL"
    f" AND remove_reason IS NOT NULL AND (NOT ({_IDLE}) OR executor_id IN (SELECT executor_id FROM"
    " tasks WHERE app_index = {0} AND reason IN ('ExecutorLostFailure', 'Resubmitted')))"
)


def _suspects(facts: Facts) -> Iterator[Suspect]:
    known = ends(facts)
    if known is None or facts.measured is None or not facts.has("executors"):
        return
    those = _LOST.format(facts.measured.app_index)
    lost = facts.tables.query(
        f"SELECT executor_id, host, remove_reason {those} ORDER BY remove_wall_ns"
    )
    ended = np.isin(known["reason"].astype(str), ("ExecutorLostFailure", "Resubmitted"))
    total = float(facts.tasks.duration_ns[ended].sum())
    if total <= 0:
        return
    less = {
        one.number: np.where(ended[place], facts.tasks.duration_ns[place], 0.0)
        for one in facts.stages
        for place in (facts.place_of(one.number),)
        if ended[place].any()
    }
    reasons = [str(row[2]).splitlines()[0][:160] for row in lost]
    said = f": {reasons[0]}" if reasons else ""
    every = " ".join(reasons)
    killed = bool(re.search(KILLED, every, re.IGNORECASE)) or any(
        word in every.lower() for word in MEMORY
    )
    n = int(ended.sum())
    hosts = {str(row[1]) for row in lost if row[1]}
    yield Suspect(
        place=Place(layer="cluster", stages_count=len(less),
                    executor=f"executor {lost[0][0]}" if len(lost) == 1 else None,
                    host=hosts.pop() if len(hosts) == 1 else None),
        mechanism=(
            f"{units.counted(max(1, len(lost)), 'executor')} {'were' if len(lost) > 1 else 'was'}"
            f" lost with {units.counted(n, 'attempt')} of {units.duration(total)}, which were run"
            f" again{said}."
        ),
        change=(Less("failed", less), Stay(_missing(facts, {str(row[0]) for row in lost}))),
        extent=Extent(n=n),
        evidence=[
            of_tasks("time of attempts lost", total, "ns", "sum(finish_wall_ns - launch_wall_ns)"
                     " FILTER (reason IN ('ExecutorLostFailure', 'Resubmitted'))", facts, n),
            Evidence(what="executors lost", estimate=exactly(float(len(lost))), unit="count",
                     table="executors", link="/timeline",
                     query=f"SELECT count(*) {those}"),
        ],
        remedies=_remedies(facts, every, killed),
    )  # fmt: skip


def _missing(facts: Facts, lost: Collection[str]) -> dict[str, float]:
    """Give how long the place of each executor was empty: until the next one had started."""
    assert facts.measured is not None
    executors = facts.measured.executors
    start = facts.what_if.calibrated.startup_ns if facts.what_if else 0.0
    came = sorted((one.add_ns, one.pool) for one in executors if one.add_ns is not None)
    end = facts.measured.intervals[-1].end_wall_ns
    gone = [one for one in executors if one.executor_id in lost and one.remove_ns is not None]
    found = {}
    for one in sorted(gone, key=lambda each: each.remove_ns or 0):
        since = one.remove_ns or 0
        next_one = next((it for it in came if it[0] >= since and it[1] == one.pool), None)
        if next_one is not None:
            came.remove(next_one)
        found[one.executor_id] = (end if next_one is None else next_one[0] + start) - since
    return found


def _remedies(facts: Facts, reasons: str, killed: bool) -> list[Remedy]:
    if TAKEN.search(reasons) and not killed:
        return [_STAYS]
    found = [more_overhead(facts)] if killed else []
    look = machine("look at the end of the lost executors' logs, and at the kernel's (dmesg):"
                   " memory, a crash, or a machine that was taken away")  # fmt: skip
    return [*found, look]


RULE = Rule(
    code="retries.executor-lost",
    title="Executors are lost with their tasks",
    cause="executor loss",
    suspects=_suspects,
    explains=("retries.failed-tasks", "retries.fetch-failed"),
    refute="Run where no executor is lost: if it takes just as long, the attempts were not on the"
    " critical path.",
)
