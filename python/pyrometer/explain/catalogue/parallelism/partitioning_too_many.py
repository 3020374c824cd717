"""A stage has so many tasks that starting and ending them takes much of its time.

What it is
    Thousands of tasks of a few milliseconds: small files, many partitions after a shuffle, many
    almost empty.

Mechanism
    Each task is serialised, sent, loaded and answered, whatever its work. With `PER_SLOT` larger
    tasks for each slot, only these pay for it.

    What a task costs is more than the time outside its run time: within it, blocks are opened,
    decoders and generated code set up, files made. That is what a straight line through run time
    and bytes of the stage's tasks leaves at no bytes, with its error, and no more than the shortest
    of them; tasks without rows are nothing but such cost. Where all read the same amount, it may be
    nothing or all of the run time. Of tasks of more than 200 ms, none of which reads next to
    nothing, a line tells nothing of that, and only the time outside their run time is saved.
    Stages that read their shuffles open a block of each of them: the CPU of that goes too, in
    proportion.

    Stages whose number of tasks one setting makes are one cause: those that scan files, those that
    read as many partitions of a shuffle or of a cache, and those whose partitions adaptive
    execution coalesced up to one size, however many are left. A table in buckets has a task for
    each, whatever they hold. Jobs that list files have a task for each path, which no number of
    partitions changes: `driver.listing` judges these.

Evidence
    Time of tasks in their slot outside their run time (scheduler delay, deserialisation, result),
    and run time against bytes, from the stage's own tasks; CPU samples in code that opens blocks.

Remedy
    So few tasks that none reads more than 1 GiB, or than its share of the heap can unpack. Fewer
    partitions after a shuffle or in a cache; adaptive coalescing up to a larger target size,
    without `parallelismFirst`; `maxPartitionBytes` of the size of the files over the wanted number
    of tasks; small files compacted; a table in fewer buckets.

When it is wrong
    Larger tasks need more memory: where they spill, the saving shrinks. Where tasks differ much in
    length, having many of them keeps slots evenly busy.

Source
    Tasks of 200 ms are efficient, a block is 2 or 3 times as large when decompressed: Spark's
    tuning guide. Row groups of 512 MiB to 1 GiB: Parquet's documentation, "Configurations". Event
    timeline of Spark's web UI ("scheduler delay", "task deserialization time"); three tasks per
    slot: Spark's tuning guide, "Level of Parallelism".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pyrometer.core import units
from pyrometer.explain.catalogue.parallelism.driver_listing import listing
from pyrometer.explain.catalogue.parallelism.partitioning_too_few import PER_SLOT
from pyrometer.explain.change import Change, Less
from pyrometer.explain.evidence.places import bounds, largest, link, of_stage, of_tasks, slots_at
from pyrometer.explain.evidence.plan_nodes import plans
from pyrometer.explain.evidence.saying import data, shown_by
from pyrometer.explain.evidence.scans.buckets import buckets_of
from pyrometer.explain.evidence.shuffle_partitions import partitions
from pyrometer.explain.evidence.shuffles import Shuffle, bytes_of_files, ends_of, shuffles
from pyrometer.explain.evidence.stack_shares import through
from pyrometer.explain.evidence.task_costs import Fixed, joined, read_bytes, saved_of, within
from pyrometer.explain.evidence.task_counts import (
    ADVISORY,
    amount_of,
    bytes_in,
    cached_partitions,
    most_part,
    parts_of_files,
    recached,
)
from pyrometer.explain.facts import Facts, TaskColumns
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.simulation.measured import Stage

LEAST_NS = 1e5
"""What a task takes within its run time whatever it reads: less is not told."""
OPENS = (
    r"^org\.apache\.spark\.(storage\.ShuffleBlockFetcherIterator\.(initialize|sendRequest"
    r"|fetch\w*)|shuffle\.IndexShuffleBlockResolver\.|network\.buffer\.FileSegmentManagedBuffer\.)"
)
"""Code that looks for blocks of shuffles and opens them: once for each, whatever its length."""

READS = ("AQEShuffleRead", "CustomShuffleReader")
"""Nodes that read a shuffle as adaptive execution divided it anew."""
BY_SIZE = ("files", "joined")
"""Settings that give a size of parts, not a number."""
_SUCCEEDED = (
    " AND status = 'success' AND (app_index, task_attempt_id) NOT IN"
    " (SELECT (app_index, task_attempt_id) FROM tasks WHERE reason = 'Resubmitted')"
)
"""A task whose output went with its executor has a row for its success, and one for the loss."""


@dataclass(frozen=True)
class Crowded:
    """A stage of many tasks, mostly more than it needs.

    Attributes
    ----------
    wanted : int
        Tasks that would do: some for each slot, none of which reads too much.
    cached : str or None
        Of what was cached and it reads: the exchange that made its partitions, or nothing.
    is_listed : bool
        It reads files that a plan lists, and which one setting divides.
    is_joined : bool
        It reads a shuffle whose partitions adaptive execution joined up to a size.
    buckets : str or None
        The table in buckets that it reads: a task for each.
    """

    stage: Stage
    tasks: TaskColumns
    slots: int
    wanted: int
    cached: str | None
    is_listed: bool = False
    is_joined: bool = False
    buckets: str | None = None

    @cached_property
    def over_ns(self) -> float:
        """Time beside the run time of its tasks."""
        over = np.maximum(self.tasks.duration_ns - self.tasks["executor_run_time_ns"], 0.0)
        return float(over[np.isfinite(over)].sum())

    @cached_property
    def fewer(self) -> tuple[Change, Fixed]:
        """The change to the wanted tasks, and what each task less saves."""
        return joined(self.tasks, self.stage.number, self.wanted, self.slots)

    @property
    def is_scan(self) -> bool:
        """Whether it reads files, or what was read from files and cached."""
        return self.tasks.total("input_bytes") > 0 and not self.cached

    @property
    def setting(self) -> object:
        """What its number of tasks comes from: stages that have it in common are one cause."""
        if self.cached == "":
            return "cached files", self.tasks.count
        if self.buckets is not None:
            return "buckets", self.buckets
        if self.is_scan and self.is_listed:
            return "files"
        shuffled = self.tasks.total("shuffle_read_records_count") > 0 and not self.is_scan
        if shuffled and self.is_joined:
            return "joined"
        return ("shuffle", self.tasks.count) if self.cached or shuffled else self.stage.number


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    groups: dict[object, list[Crowded]] = defaultdict(list)
    for one in _many(facts):
        groups[one.setting].append(one)
    known = shuffles(facts) if groups and facts.has("samples") else {}
    for setting, stages in groups.items():
        mine = list(_crowded(setting, stages))
        if mine:
            change = _blocks(facts, known, mine)
            yield sum(one.over_ns / one.slots for one in mine), _suspect(facts, mine, change)


def _crowded(setting: object, stages: Sequence[Crowded]) -> Iterator[Crowded]:
    """Give those of a setting's stages that have more tasks than it would make.

    A number of partitions holds for all of its stages: as many as the one that needs most. A size
    leaves each its own number.
    """
    most = max(one.wanted for one in stages)
    for one in stages:
        wanted = one.wanted if setting in BY_SIZE else most
        if one.tasks.count > wanted and one.over_ns > 0:
            yield replace(one, wanted=wanted)


def _many(facts: Facts) -> Iterator[Crowded]:
    cached, listed = cached_partitions(facts), bytes_of_files(facts)
    joins, tables, lists = _joined(facts), _buckets(facts), listing(facts)
    for stage in facts.stages:
        slots, count = max(1, slots_at(facts, stage)), stage.tasks_count
        if count <= PER_SLOT * slots or stage.number in lists:
            continue
        wanted = max(PER_SLOT * slots, math.ceil(amount_of(facts, stage) / most_part(facts)))
        # Attempts that failed took as long for nothing: they are no tasks that could be joined.
        tasks = facts.tasks_of(stage.number).succeeded()
        yield Crowded(
            stage,
            tasks,
            slots,
            wanted,
            cached.get(stage.number),
            stage.number in listed,
            stage.number in joins,
            tables.get(stage.number),
        )


def _joined(facts: Facts) -> set[int]:
    """Give the stages whose partitions of a shuffle adaptive execution joined up to a size."""
    found: set[int] = set()
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if node.name not in READS or "coalesced" not in (node.simple_string or ""):
                continue
            exchange = plan.first(node, "Exchange")
            if exchange is not None:
                found.update(ends_of(facts, plan, exchange)[1])
    return found


def _buckets(facts: Facts) -> dict[int, str]:
    """Give the table in buckets that a stage scans with a task for each bucket."""
    found: dict[int, str] = {}
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if buckets_of(node):
                name = node.name.split()[-1]
                found.update(dict.fromkeys(facts.stages_of(node, plan.sql), name))
    return found


def _suspect(facts: Facts, mine: Sequence[Crowded], blocks: Sequence[Less]) -> Suspect:
    first = max(mine, key=lambda one: one.over_ns)
    count = sum(one.tasks.count for one in mine)
    total = sum(one.over_ns for one in mine)
    share = total / sum(float(one.tasks.duration_ns.sum()) for one in mine)
    own = within(first.tasks, first.slots)
    more = (
        f", and took about {units.duration(own.value)} more each whatever they read, by a line"
        f" through run time and amount of stage {first.stage.stage_id}"
        if own.value >= LEAST_NS else ""
    )  # fmt: skip
    stages = f" of {units.counted(len(mine), 'stage')}" if len(mine) > 1 else ""
    return Suspect(
        place=of_stage(first.stage, stages_count=len(mine)),
        mechanism=(
            f"{units.counted(count, 'task')}{stages} on {units.counted(first.slots, 'slot')} spent"
            f" {units.duration(total)}, {units.percent(share)} of their time, on being started and"
            f" ended: {units.duration(total / count)} each{more}."
        ),
        change=(*(edit for one in mine for edit in one.fewer[0]), *blocks),
        extent=saved_of(
            [(one.fewer[1], one.tasks.count - one.wanted) for one in mine], count
        ),
        evidence=[
            _of_those(first, "time beside run time", first.over_ns, "ns", "sum(greatest("
                      "finish_wall_ns - launch_wall_ns - executor_run_time_ns, 0))"),
            _of_those(first, "tasks", float(first.tasks.count), "count", "count(*)"),
            *([shown_by("of its run time, what a task takes whatever it reads",
                        bounds(own.value, own.low, own.high, first.tasks.count, "straight line"),
                        "ns", "tasks", None, link(first.stage))] if more else []),
        ],
        remedies=[_remedy(facts, mine, first)],
    )  # fmt: skip


def _of_those(one: Crowded, what: str, value: float, unit: str, expression: str) -> Evidence:
    found = of_tasks(what, value, unit, expression, one.stage, one.tasks.count)
    return found.model_copy(update={"query": f"{found.query}{_SUCCEEDED}"})


def _remedy(facts: Facts, mine: Sequence[Crowded], first: Crowded) -> Remedy:
    wanted = max(one.wanted for one in mine)
    if any("REPARTITION" in (one.cached or "") for one in mine):
        return recached(first.tasks.count, wanted)
    if first.buckets is not None:
        return data(f"write {first.buckets} in fewer buckets: a scan has a task for each",
                         "df.write.bucketBy(n, key).saveAsTable(name)",
                         f"df.write.bucketBy({wanted}, key).saveAsTable(name)")  # fmt: skip
    if first.is_scan:
        # The first is one that gets fewer parts, so many: others may have fewer already.
        stages = [one.stage for one in sorted(mine, key=lambda one: -one.wanted)]
        return parts_of_files(facts, stages, wanted)
    if first.setting == "joined":
        size = max(float(read_bytes(one.tasks).sum()) / one.wanted for one in mine)
        return Remedy(
            kind="factor", factor=ADVISORY,
            level=str(max(bytes_in(facts, ADVISORY), int(size))),
            levels={"spark.sql.adaptive.coalescePartitions.parallelismFirst": "false"},
            text="let adaptive execution coalesce partitions up to this size, whatever the number"
            " of slots",
        )  # fmt: skip
    text = f"{wanted} partitions after the shuffle, " + (
        "three for each slot" if wanted == PER_SLOT * max(one.slots for one in mine)
        else f"of at most {units.size(most_part(facts))}"
    )  # fmt: skip
    return partitions(facts, first.stage, wanted, text)


def _blocks(facts: Facts, known: Mapping[int, Shuffle], mine: Sequence[Crowded]) -> list[Less]:
    """Take away what stages behind these need to open blocks that would not be there."""
    behind = {
        number: 1 - one.wanted / one.tasks.count
        for one in mine if one.stage.number in known
        for number in known[one.stage.number].readers
    }  # fmt: skip
    if not behind:
        return []
    opened = through(facts, OPENS).by_stage
    return [
        facts.less_cpu(
            "blocks", {number: opened.get(number, 0.0) * less for number, less in behind.items()}
        )
    ]


RULE = Rule(
    code="partitioning.too-many",
    title="Too many small tasks",
    cause="per-task overhead",
    suspects=_suspects,
    explains=("driver.scheduler-saturated",),
    refute="Run with a tenth of the tasks: if the stage still lasts as long, its time is work.",
)
