"""Sorts and aggregations spill to disk, because execution memory is short.

What it is
    A task's share of execution memory is smaller than what its sort, aggregation or window
    holds: it writes sorted runs to disk and merges them later.

Mechanism
    What spills is sorted, serialised, compressed, written and read back. With samples, the
    simulator removes the CPU of the code that does it. Without, it removes from each task that
    spilled the time that it needed beyond what its bytes need in tasks of the same stage that did
    not spill; where all spilled, the time of writing its bytes on disk once and reading them once,
    at the speed at which the run's own tasks wrote shuffle data.

Evidence
    Bytes spilled, in memory and on disk, of the tasks; CPU samples through the code that spills and
    merges; without them, where some did not spill, time per byte read of both.

Remedy
    More and smaller partitions (`spark.sql.shuffle.partitions`), more memory for each task
    (`spark.executor.memory`, fewer cores), or a larger `spark.memory.fraction`.

When it is wrong
    Where one task spills because its partition is the largest, skew is the cause. A disk that is
    really page cache costs little: then the simulator says so.

Source
    Spark's documentation of tuning, "Memory Management Overview"; `Disk Bytes Spilled` in
    "Executor Task Metrics".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import largest, where
from pyrometer.explain.evidence.saying import code, factor, flame, shown_by
from pyrometer.explain.evidence.stack_shares import through
from pyrometer.explain.evidence.task_costs import read_bytes
from pyrometer.explain.facts import Facts, TaskColumns, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats

DISK = (0.5, 2.0)
"""Cost of a spill over that of writing and reading its bytes at the run's own speed: reading is
cheaper than writing (0.5); sorting, serialising and merging runs come on top (2). Not
measured; assumed."""
COMPARED = (0.7, 1.0)
"""Share that goes where tasks with and without spill were compared: not measured; assumed."""
SAMPLED = (0.6, 1.0)
"""Share of the CPU of spilling that goes: to sort what was spilled costs something without it too.
Of three jobs whose tasks spilled 246 to 507 MB, with and without, on two slots (2026-11-26): 0.65,
0.74 and 1.05."""
FRAMES = (
    r"(UnsafeSorterSpill|\.(spill|trySpill|maybeSpill)|SpillReader|SpillWriter|DiskMapIterator)"
)
"""Code that spills to disk, and that merges and reads what was spilled."""
TWICE = 2


def _compared(tasks: TaskColumns) -> Floats | None:
    """Time of tasks beyond that of tasks without spill, for the bytes that they read."""
    spilled = np.nan_to_num(tasks["disk_spilled_bytes"]) > 0
    amount, time = read_bytes(tasks), tasks.duration_ns
    without = ~spilled & (amount > 0)
    if without.sum() < TWICE or not (spilled & (amount > 0)).any():
        return None
    per_byte = float(time[without].sum() / amount[without].sum())
    found: Floats = np.where(spilled, np.maximum(time - per_byte * amount, 0.0), 0.0)
    return found


def _by_bytes(facts: Facts, tasks: TaskColumns) -> Floats | None:
    """Time to write and read back what was spilled, at the speed of shuffle writes of the run."""
    seconds = facts.tasks.total("shuffle_write_time_ns")
    written = facts.tasks.total("shuffle_written_bytes")
    if seconds <= 0 or written <= 0:
        return None
    spilled = np.nan_to_num(tasks["disk_spilled_bytes"])
    found: Floats = np.minimum(2 * spilled * seconds / written, tasks.duration_ns)
    return found


def _by_samples(facts: Facts) -> Suspect | None:
    """Judge all stages together by the CPU of code that spills, merges and reads spills."""
    found = through(facts, FRAMES)
    if not found.found:
        return None
    shares = found.by_stage
    lost = {number: share * facts.cpu_ns.get(number, 0.0) for number, share in shares.items()}
    spent, disk = sum(lost.values()), facts.tasks.total("disk_spilled_bytes")
    stage = facts.stages[max(lost, key=lambda number: lost[number])]
    own = facts.tasks_of(stage.number)
    return Suspect(
        place=Place(layer="stage", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                    stages_count=len(lost), source=stage.called,
                    operator=found.operators.get(stage.number)),
        mechanism=(
            f"Tasks spilled {units.size(disk)} to disk"
            f" ({units.size(facts.tasks.total('memory_spilled_bytes'))} in memory), and used"
            f" {units.duration(spent)} of CPU to sort, write and merge it."
        ),
        change=(facts.less_cpu("spill", shares),),
        extent=found.extent(*SAMPLED),
        evidence=[
            shown_by("CPU of spilling", spent, "ns", "samples",
                     f"stacks through frames that match {FRAMES}", flame(find="spill"),
                     found.found),
            Evidence(what="spilled to disk", estimate=exactly(disk, facts.tasks.count),
                     unit="bytes", table="tasks", link=f"/stage/{stage.stage_id}/{stage.attempt}",
                     query=f"SELECT sum(disk_spilled_bytes) FROM tasks WHERE {where(facts)}"),
        ],
        remedies=[
            *_fewer_slots(facts),
            _more_partitions(facts, own.count),
            Remedy(kind="factor", factor="spark.memory.fraction", level="0.8",
                   text="more of the heap for execution, if the collector has room"),
        ],
    )  # fmt: skip


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    if facts.tasks.total("disk_spilled_bytes") <= 0:
        return
    sampled = _by_samples(facts) if facts.has("samples") else None
    if sampled is not None:
        yield 0.0, sampled
        return
    for stage in facts.stages:
        tasks = facts.tasks_of(stage.number)
        spilled = tasks.total("disk_spilled_bytes")
        if spilled <= 0:
            continue
        lost, bounds = _compared(tasks), COMPARED
        how = "than tasks without spill need for the same bytes"
        if lost is None:
            lost, bounds = _by_bytes(facts, tasks), DISK
            how = "as far as bytes and the run's own speed of writing tell"
        if lost is None:
            continue
        count = int((np.nan_to_num(tasks["disk_spilled_bytes"]) > 0).sum())
        yield float(lost.sum()), Suspect(
            place=Place(layer="stage", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                        stages_count=1, source=stage.called),
            mechanism=(
                f"{count} of {units.counted(tasks.count, 'task')} spilled"
                f" {units.size(spilled)} to disk"
                f" ({units.size(tasks.total('memory_spilled_bytes'))} in memory) and ran"
                f" {units.duration(float(lost.sum()))} longer, {how}."
            ),
            change=(Less("spill", {stage.number: lost}),),
            extent=Extent(n=count).times(*bounds),
            evidence=[
                Evidence(what="spilled to disk", estimate=exactly(spilled, count),
                         unit="bytes", table="tasks",
                         link=f"/stage/{stage.stage_id}/{stage.attempt}",
                         query=f"SELECT sum(disk_spilled_bytes) FROM tasks WHERE {where(stage)}"),
            ],
            remedies=[
                *_fewer_slots(facts),
                _more_partitions(facts, tasks.count),
                Remedy(kind="factor", factor="spark.memory.fraction", level="0.8",
                       text="more of the heap for execution, if the collector has room"),
            ],
        )  # fmt: skip


def _fewer_slots(facts: Facts) -> list[Remedy]:
    """Where tasks of one JVM take turns on fewer CPUs: no more of them at once."""
    cpus, slots = facts.summary.contention.cpus_count, facts.slots
    if not cpus or slots <= cpus or facts.heap_setting != "spark.driver.memory":
        return []
    text = f"as many tasks at once as there are CPUs, each with {slots / cpus:.3g} times the memory"
    return [factor("layout.tasks", str(cpus), text)]


def _more_partitions(facts: Facts, tasks_count: int) -> Remedy:
    """Say how the stage gets more tasks: by the setting, unless the query gives their number."""
    text = facts.setting("spark.sql.shuffle.partitions", "200") or "200"
    if text.isdigit() and not _is_given(facts, tasks_count):
        more = str(TWICE * max(int(text), tasks_count))
        return Remedy(kind="factor", factor="spark.sql.shuffle.partitions", level=more,
                      text=f"{more} partitions instead of {text}")  # fmt: skip
    return code("more partitions, where the query gives their number",
                f'df.repartition({tasks_count}, "k")',
                f'df.repartition({TWICE * tasks_count}, "k")')  # fmt: skip


def _is_given(facts: Facts, tasks_count: int) -> bool:
    """Whether a query repartitions into so many."""
    if facts.measured is None or not facts.has("plan_nodes"):
        return False
    given = facts.tables.scalar(
        "SELECT count(*) FROM plan_nodes WHERE app_index = $1 AND simple_string LIKE"
        " '%REPARTITION_BY_NUM%' AND contains(simple_string, $2)",
        [facts.measured.app_index, f", {tasks_count})"],
    )
    return bool(given)


RULE = Rule(
    code="spill.sort-and-aggregate",
    title="Tasks spill to disk",
    cause="spill",
    suspects=_suspects,
    refute="Run with twice the partitions: bytes spilled must fall, and the stage get shorter.",
)
