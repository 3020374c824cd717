"""Executors are killed because the whole process is larger than its container allows.

What it is
    Heap, direct buffers, metaspace, thread stacks and Python workers together exceed the limit that
    YARN, Kubernetes or a control group sets: the executor is killed, and its tasks run again.

Mechanism
    The simulator removes all the time of attempts that died with their executor.

Evidence
    Attempts whose error names the limit, OOMKilled, or exit code 137.

Remedy
    Twice the `spark.executor.memoryOverhead` that is in effect (or a smaller heap within the same
    limit). Where it is not set, Spark takes `spark.executor.memoryOverheadFactor` of the heap, 10 %
    unless set (40 % for Python on Kubernetes), and at least 384 MiB.

When it is wrong
    Exit code 137 is any SIGKILL: look at the cluster manager's log. Shuffle output that was lost
    with the executor costs more than is counted here.

Source
    Spark's documentation of the configuration, `spark.executor.memoryOverhead`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.explain.catalogue.memory.retries_out_of_memory import (
    CONTAINER,
    matching,
    suspected,
)
from pyrometer.explain.evidence.memory.heap_use import larger
from pyrometer.explain.evidence.saying import factor
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy

OVERHEAD = "spark.executor.memoryOverhead"


def more_overhead(facts: Facts) -> Remedy:
    """Double the overhead that is in effect: as set, else what Spark takes then."""
    now = _now(facts)
    return factor(OVERHEAD, larger(now), f"{larger(now)} instead of {now}")


def _now(facts: Facts) -> str:
    known = facts.measured.settings.overhead_bytes if facts.measured else 0
    return facts.size(OVERHEAD, f"{known >> 20}m")


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = suspected(
        facts, matching(CONTAINER), "the container's limit of memory",
        f"{OVERHEAD}={_now(facts)}", more_overhead(facts),
    )  # fmt: skip
    if found is not None:
        yield found


RULE = Rule(
    code="heap.container-limit",
    title="Executors are killed for their memory",
    cause="container memory limit",
    suspects=_suspects,
    explains=("retries.",),
    refute="Run with twice the overhead: executors must stay alive.",
)
