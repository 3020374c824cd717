"""What gives a stage another number of tasks: parts of files, of a shuffle, or of a cache."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.plan_nodes import CACHE, plans
from pyrometer.explain.evidence.saying import code, data
from pyrometer.explain.evidence.shuffle_partitions import OF_RDDS, partitions
from pyrometer.explain.evidence.shuffles import bytes_of_files
from pyrometer.explain.evidence.task_costs import read_bytes
from pyrometer.explain.facts import Facts, once
from pyrometer.explain.schema import Remedy
from pyrometer.simulation.executor_memory import size_in
from pyrometer.simulation.measured import Stage

PART, OPEN_COST = "spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
COALESCE = "spark.sql.adaptive.coalescePartitions.enabled"
DEFAULTS = {PART: "128m", ADVISORY: "64m"}
"""Sizes of parts unless set: Spark's SQL performance tuning guide."""
LEAST_PART, MOST_PART = 1 << 20, 1 << 30
"""Of a task, in bytes: at most a row group, for which Parquet's documentation recommends 512 MiB to
1 GiB ("Configurations", "Row Group Size")."""
UNPACKED = 3
"""Times its size that a block takes when it is decompressed: 2 or 3 in Spark's tuning guide,
"Garbage Collection Tuning"."""
HEAP_OF_TASKS = 0.6
"""Of the heap, for tasks and cached blocks: the default of ``spark.memory.fraction``."""
LOW_COST = 1 << 16
"""Cost of opening a file at which small files are read together until a part is full."""
_CACHE = re.compile(CACHE)


def most_part(facts: Facts) -> float:
    """Give the bytes that a task may read: what memory a task has to unpack them, up to a size."""
    heap = size_in({"heap": facts.size(facts.heap_setting, "1g").lower()}, "heap", "1g")
    slots = max((one.slots for one in facts.measured.executors), default=1) if facts.measured else 1
    return min(MOST_PART, max(LEAST_PART, heap * HEAP_OF_TASKS / max(1, slots) / UNPACKED))


def amount_of(facts: Facts, stage: Stage) -> float:
    """Give the bytes that the tasks of a stage are cut from: of its files, else what they read."""
    read = float(read_bytes(facts.tasks_of(stage.number)).sum())
    return max(read, bytes_of_files(facts).get(stage.number, 0.0))


def bytes_in(facts: Facts, name: str) -> int:
    """Give a setting of `DEFAULTS` in bytes; what says no size has the default."""
    text = facts.size(name, DEFAULTS[name]).lower().removesuffix("b")
    return size_in({name: text}, name, DEFAULTS[name])


def recounted(facts: Facts, stage: Stage, count: int, text: str) -> Remedy:
    """Give a stage so many tasks, by what divides its input: a shuffle, files, or the program.

    Where adaptive execution would join more partitions of a shuffle again, it is told not to. What
    is read from a cache counts as input, as files do, but is divided as it was cached.
    """
    tasks = facts.tasks_of(stage.number)
    shuffled = tasks.total("shuffle_read_records_count") > 0
    if tasks.total("input_bytes") > 0 and not shuffled:
        made = cached_partitions(facts).get(stage.number)
        if made is None or (not made and stage.number in bytes_of_files(facts)):
            return parts_of_files(facts, [stage], count)
        # By the program: there is no exchange, or one that it asked for.
        if not made or "REPARTITION" in made:
            return recached(tasks.count, count)
        shuffled = True
    if stage.parent_ids or shuffled:
        levels = {COALESCE: "false"} if count > tasks.count else {}
        return partitions(facts, stage, count, text, levels)
    return Remedy(kind="factor", factor=OF_RDDS, level=str(count),
                  text=f"{text}, where the code gives no number of its own")  # fmt: skip


@once
def cached_partitions(facts: Facts) -> Mapping[int, str]:
    """Give what made the partitions of the cache that a stage reads: an exchange, or nothing."""
    found: dict[int, str] = {}
    for plan in plans(facts):
        nodes = plan.sql.nodes
        for place, node in enumerate(nodes):
            if not _CACHE.match(node.name):
                continue
            below = _under(nodes[place:])
            made = next((one.simple_string or "" for one in below if one.name == "Exchange"), "")
            found.update(dict.fromkeys(facts.stages_of(node, plan.sql), made))
    return found


def _under(nodes: Sequence[Node]) -> Iterator[Node]:
    """Give what lies under the first of nodes in pre-order; plans are deep: without recursion."""
    top, *others = nodes
    return takewhile(lambda one: one.depth > top.depth, others)


def recached(now: int, count: int) -> Remedy:
    """Cache what the program repartitions in another number of partitions."""
    return code(
        f"cache it in {'more' if count > now else 'fewer'} partitions: stages that read it have as"
        " many tasks",
        f"kept = df.repartition({now}).cache()", f"kept = df.repartition({count}).cache()",
    )  # fmt: skip


def parts_of_files(facts: Facts, stages: Sequence[Stage], count: int) -> Remedy:
    """Divide the files that the first of some stages reads into about so many parts.

    Spark cuts files by their size, of which the columns that are read may be a small part. Where
    the size is not known, the remedy says what to do in words. Where the setting in effect already
    allows more parts than there are, it is not what keeps files whole.
    """
    sizes = bytes_of_files(facts)
    most = max(sizes.get(one.number, 0.0) for one in stages)
    more = count > stages[0].tasks_count
    if not most:
        how = f", minPartitions={count})" if more else f").coalesce({count})"
        return code(
            f"read the files in about {count} parts; of a DataFrame, set {PART} to their size"
            f" over {count}", "sc.textFile(path)", f"sc.textFile(path{how}",
        )  # fmt: skip
    size, now = int(most / count), bytes_in(facts, PART)
    if more and most > now * stages[0].tasks_count:
        return data(
            f"store the data in about {count} files, or in a format that Spark splits: these were"
            f" not split into parts of {units.size(now)}, as {PART} has it",
            "df.write.parquet(path)", f"df.repartition({count}).write.parquet(path)",
        )  # fmt: skip
    if more:
        return Remedy(kind="factor", factor=PART, level=str(max(min(LEAST_PART, now), size)),
                      text=f"divide the files into about {count} parts")  # fmt: skip
    return Remedy(
        kind="factor", factor=PART, level=str(max(now, size)),
        levels={OPEN_COST: str(LOW_COST)}, text="fewer, larger parts of the files",
    )  # fmt: skip
