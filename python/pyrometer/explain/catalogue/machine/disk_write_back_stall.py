"""Tasks that write are stopped until the disk has caught up.

What it is
    Writes go to the page cache first. When too many of its pages are dirty, the kernel makes the
    writer wait until some are on disk; so do commits of the file system's journal.

Mechanism
    The simulator removes sleeps of task threads whose kernel stack shows such a wait, from
    the tasks of the hosts where they slept.

Evidence
    States and kernel stacks of task threads: balance_dirty_pages, writeback throttling, waits for
    writeback or the journal.

Remedy
    `spark.local.dir` on a faster disk or in memory; fewer bytes written (compression, fewer
    spills); a higher `vm.dirty_ratio` for bursts.

When it is wrong
    Where the job writes more than the disk can take in all, waiting only moves to the end of the
    job.

Source
    mm/page-writeback.c (balance_dirty_pages) and block/blk-wbt.c of the Linux kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.hosts.lost import (
    by_stage,
    carriers,
    less_on_hosts,
    most_was_on,
    place_on_hosts,
)
from pyrometer.explain.evidence.places import of_application
from pyrometer.explain.evidence.saying import factor, machine, page, shown_by
from pyrometer.explain.evidence.stack_shares import Shares
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.what_if import Extent

STACKS = "balance_dirty_pages|wbt_wait|rq_qos_wait|folio_wait_writeback|jbd2_log_wait_commit"
ACHIEVED = (0.3, 1.0)
"""A disk twice as fast, or half the bytes, takes half of it; memory takes all.
Not measured; assumed."""

_QUERY = (
    "SELECT sum(weight_ns) FROM thread_states s JOIN kernel_stacks k ON k.host = s.host AND"
    " k.stack_id = s.kernel_stack WHERE s.state IN ('disk', 'sleeping')"
    f" AND regexp_matches(k.symbols, '{STACKS}')"
    " AND (s.stage_id, coalesce(s.stage_attempt, 0)) IN ({})"
)


def _suspects(facts: Facts) -> Iterator[Suspect]:
    lost: dict[str | None, dict[int, float]] = {}
    n = 0
    for host, stage_id, attempt, ns, passes in facts.tables.query(
        "SELECT s.host, s.stage_id, coalesce(s.stage_attempt, 0), sum(s.weight_ns)::DOUBLE,"
        " sum(s.passes_count)::BIGINT FROM thread_states s JOIN kernel_stacks k"
        " ON k.host = s.host AND k.stack_id = s.kernel_stack JOIN w"
        " ON s.begin_mono_ns < w.end_mono_ns AND s.end_mono_ns >= w.start_mono_ns"
        " WHERE s.stage_id IS NOT NULL AND s.state IN ('disk', 'sleeping')"
        f" AND regexp_matches(k.symbols, '{STACKS}') AND {of_application(facts, 's.pid')}"
        " GROUP BY ALL"
    ):
        number = facts.number(stage_id, attempt)
        if number is not None:
            own = lost.setdefault(host if facts.tables.several_hosts else None, {})
            own[number] = own.get(number, 0.0) + ns
            n += passes
    stages = by_stage(lost)
    total = sum(stages.values())
    if total <= 0:
        return
    least = Shares({0: n}, {0: 2 * n}).extent()  # the error of so many passes
    where = place_on_hosts(facts, "host", lost)
    yield Suspect(
        place=where,
        mechanism=(
            f"Tasks that wrote were stopped for {units.duration(total)} until the disk had taken"
            f" what lay in the page cache, in {units.counted(len(stages), 'stage')}."
            f"{most_was_on(carriers(lost), lost)}"
        ),
        change=(less_on_hosts(facts, "io_wait", lost),),
        extent=Extent(1.0, least.low, least.high, n).times(*ACHIEVED),
        evidence=[
            shown_by("waits of tasks for write-back", total, "ns", "thread_states",
                 _QUERY.format(_in_stages(facts, stages)), page(where), n),
        ],
        remedies=[
            factor("spark.local.dir", "/dev/shm",  # noqa: S108 what the remedy asks for
                   "write shuffle files and spills to memory"),
            machine("a faster disk for spark.local.dir, a higher vm.dirty_ratio for bursts"),
        ],
    )  # fmt: skip


def _in_stages(facts: Facts, numbers: Iterable[int]) -> str:
    stages = [facts.stages[number] for number in sorted(numbers)]
    return ", ".join(f"({one.stage_id}, {one.attempt})" for one in stages)


RULE = Rule(
    code="disk.write-back-stall",
    title="Writers wait until the disk has caught up",
    cause="dirty page throttling",
    suspects=_suspects,
    needs=(table("kernel_stacks", PROFILE, "no kernel stacks of waits"),),
    refute="Run with spark.local.dir in memory: if tasks still wait as long, it is not write-back.",
)
