"""A few tasks of a stage read many times what the others read.

What it is
    Rows are divided by a key, and a few keys have most of them; or files of very different size
    are read whole. The stage lasts as long as its largest task, and slots stand idle.

Mechanism
    The time of tasks follows what they read. Divided evenly, the same work would end at once on
    all slots. The simulator schedules the stage with its work spread evenly over its tasks.

Evidence
    Bytes (or rows) that tasks read, the largest beside the median, and the correlation of time and
    bytes over the tasks: without it, the large task is not why the stage is long.

Remedy
    For joins, adaptive execution splits skewed partitions (`spark.sql.adaptive.skewJoin.enabled`
    with a lower factor and size). For aggregations, group by the key and a salt first, then by the
    key. For one key without meaning (null, empty), filter it before the shuffle.

When it is wrong
    Where tasks of equal size differ in time (see `straggler.host`), or the large task is work that
    cannot be divided: one row, one group of a window function.

Source
    Bytes and times of tasks in Spark's event log; adaptive execution: Spark's documentation of SQL
    performance tuning, "Optimizing Skew Join".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Even
from pyrometer.explain.facts import Facts, TaskColumns, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats, Stage

FEWEST_TASKS = 3
"""With two tasks the median says nothing of the others."""


def read_bytes(tasks: TaskColumns) -> Floats:
    """Give what each task read: input and shuffle together, in bytes."""
    names = ("input_bytes", "shuffle_read_local_bytes", "shuffle_read_remote_bytes")
    total: Floats = np.nansum([tasks[name] for name in names], axis=0)
    return total


def explained_share(time_ns: Floats, amount: Floats) -> float:
    """Share of the variance of tasks' time that what they read explains (r²).

    Examples
    --------
    >>> import numpy as np
    >>> round(explained_share(np.array([1.0, 2, 3]), np.array([10.0, 20, 30])), 3)
    1.0
    >>> explained_share(np.array([1.0, 2, 3]), np.array([5.0, 5, 5]))
    0.0
    """
    if time_ns.size < FEWEST_TASKS or np.ptp(amount) == 0 or np.ptp(time_ns) == 0:
        return 0.0
    return float(np.corrcoef(time_ns, amount)[0, 1] ** 2)


def _suspects(facts: Facts) -> Iterator[Suspect]:
    for stage in facts.stages:
        tasks = facts.tasks_of(stage.number)
        time, amount = tasks.duration_ns, read_bytes(tasks)
        if tasks.count < FEWEST_TASKS or amount.max(initial=0.0) <= 0:
            continue
        share = explained_share(time, amount)
        largest, median = float(amount.max()), float(np.median(amount))
        if time[amount.argmax()] <= np.median(time) or share <= 0:
            continue
        yield _suspect(stage, tasks, share, largest, median)


def _suspect(
    stage: Stage, tasks: TaskColumns, share: float, largest: float, median: float
) -> Suspect:
    times = f"{largest / median:.3g} times" if median > 0 else "and the median task nothing,"
    longest = float(tasks.duration_ns.max())
    place = f"/stage/{stage.stage_id}/{stage.attempt}"
    sql = f"stage_id = {stage.stage_id} AND stage_attempt = {stage.attempt}"
    return Suspect(
        place=Place(layer="data", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                    stages_count=1, source=stage.name),
        mechanism=(
            f"The largest of {tasks.count} tasks read {units.size(largest)}, {times} the median"
            f" ({units.size(median)}), and ran {units.duration(longest)} where the median ran"
            f" {units.duration(float(np.median(tasks.duration_ns)))}; what tasks read explains"
            f" {units.percent(share)} of how their times differ."
        ),
        change=(Even([stage.number]),),
        extent=Extent(share, share / 2, 1.0, tasks.count),
        evidence=[
            Evidence(what="most that a task read", estimate=exactly(largest, tasks.count),
                     unit="bytes", table="tasks", link=place,
                     query="SELECT max(coalesce(input_bytes, 0) + coalesce("
                     "shuffle_read_local_bytes, 0) + coalesce(shuffle_read_remote_bytes, 0))"
                     f" FROM tasks WHERE {sql}"),
            Evidence(what="longest task", estimate=exactly(longest, tasks.count), unit="ns",
                     table="tasks", link=place,
                     query=f"SELECT max(finish_wall_ns - launch_wall_ns) FROM tasks WHERE {sql}"),
        ],
        remedies=[
            Remedy(kind="factor", factor="spark.sql.adaptive.skewJoin.skewedPartitionFactor",
                   level="2", levels={"spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes":
                                      str(max(1 << 20, int(2 * median)))},
                   text="where the stage is a join: let adaptive execution split what is twice the"
                   " median"),
            Remedy(kind="code", text="where it is an aggregation: group by key and salt, then by"
                   " key", before='df.groupBy("k").agg(sum("v"))',
                   after='df.withColumn("salt", (rand() * 16).cast("int"))\n'
                   '  .groupBy("k", "salt").agg(sum("v").alias("v"))\n'
                   '  .groupBy("k").agg(sum("v"))'),
        ],
    )  # fmt: skip


RULE = Rule(
    code="skew.bytes",
    title="A few tasks read most of the data",
    cause="data skew",
    suspects=_suspects,
    explains=("spill.", "gc.", "straggler.tail"),
    refute="Split the large partitions (salt, adaptive execution): if the stage lasts as long, its"
    " work is not what the tasks read.",
)
