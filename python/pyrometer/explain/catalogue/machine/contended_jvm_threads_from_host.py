"""The JVM sizes its threads by the host's CPUs, not by what it may use.

What it is
    The collector, compilers and the network get as many threads as the JVM believes it has CPUs. An
    old Java, or a quota set later or around the container, lets it see the whole host.

Mechanism
    In a pause, more collector threads than CPUs spin and wait for each other, and use up the quota
    that tasks need afterwards. The simulator removes a part of the pauses: at most the share of the
    counted CPUs that lies above the quota, at least nothing.

Evidence
    CPUs that the JVM counted against the quota of its control group; pauses that tasks met.

Remedy
    `-XX:ActiveProcessorCount`, or threads of the collector by number (`jvm.gc_threads`).

When it is wrong
    Where the quota is not used up, more threads than the quota has CPUs make pauses shorter.

Source
    JDK-8146115 (container awareness), JDK-8230305; "CFS Bandwidth Control" of the Linux kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.core.json_text import parse_json
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.cpus.quotas import QUOTA_QUERY, quotas
from pyrometer.explain.evidence.places import of_application
from pyrometer.explain.evidence.saying import factor, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.what_if import Extent


def _suspects(facts: Facts) -> Iterator[Suspect]:
    limit = next(iter(quotas(facts)), None)
    counted = [
        seen
        for (text,) in facts.tables.query(
            "SELECT facts FROM processes WHERE facts IS NOT NULL"
            f" AND {of_application(facts, 'pid')}"
        )
        if isinstance(seen := parse_json(text).get("cpus_count"), int)
    ]
    if limit is None or not counted or max(counted) <= math.ceil(limit.cpus):
        return
    quota, seen = limit.cpus, max(counted)
    lost = {}
    for stage in facts.stages:
        if not limit.since_ns <= (stage.submit_ns + stage.complete_ns) / 2 <= limit.until_ns:
            continue
        own = facts.tasks_of(stage.number)
        gc = np.minimum(np.nan_to_num(own["jvm_gc_time_ns"]), own.duration_ns)
        if gc.any():
            lost[stage.number] = gc
    if not lost:
        return
    total = float(sum(one.sum() for one in lost.values()))
    most = 1 - quota / seen
    threads = max(1, math.floor(quota))
    where = place(facts, "jvm", {n: float(one.sum()) for n, one in lost.items()},
                  setting="-XX:ActiveProcessorCount")  # fmt: skip
    yield Suspect(
        place=where,
        mechanism=(
            f"The JVM counted {seen} CPUs and may use {units.short(quota)}: it has too many"
            f" collector threads, in pauses that cost tasks {units.duration(total)}."
        ),
        change=(Less("gc", lost),),
        extent=Extent(most / 2, 0.0, most, len(lost)),
        evidence=[
            shown_by("CPUs that the JVM counted", seen, "count", "processes",
                 "SELECT max((facts->>'$.cpus_count')::BIGINT) FROM processes", "/jvm"),
            shown_by("CPUs of the quota", quota, "count", "os_series",
                 QUOTA_QUERY, "/jvm"),
        ],
        remedies=[
            factor("jvm.options", f"-XX:ActiveProcessorCount={threads}",
                   "size all threads of the JVM by the quota"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="contended.jvm-threads-from-host",
    title="The JVM has threads for more CPUs than it may use",
    cause="thread pools sized from the host",
    suspects=_suspects,
    needs=(table("processes", PROFILE, "no facts of the JVMs"),),
    refute="Run with ActiveProcessorCount at the quota: if pauses still last as long, their threads"
    " are not why.",
)
