"""A few tasks of a stage read many times what the others read.

What it is
    Rows are divided by a key, and a few keys have most of them; or files of very different size
    are read whole. The stage lasts as long as its largest task, and slots stand idle.

Mechanism
    The time of tasks follows what they read. Divided evenly, the same work would end at the same
    time on all slots. The simulator schedules the stage with its work spread evenly over its tasks;
    where one task outlasts an equal share of the work for each slot, over as many tasks as fill all
    slots to the end, as splitting it makes more tasks.

Evidence
    Bytes that tasks read, the largest against the median, and the line of time over bytes through
    the tasks: only as much of the longest task's excess as the line attributes to its bytes counts,
    with the interval of the line's slope.

Remedy
    By what the plan has in the stage. For joins, adaptive execution splits skewed partitions
    (`spark.sql.adaptive.skewJoin.enabled` with a lower factor and threshold), into parts of at
    least `spark.sql.adaptive.advisoryPartitionSizeInBytes`. For aggregations, group by the key and
    a salt first, then by the key. For scans, divide the files. For one key without meaning (null,
    empty), filter it before the shuffle.

When it is wrong
    Where the large task is work that cannot be divided: one row, one group of a window function,
    one file in a format that is read whole. Where rows explain times better than bytes, it is
    `skew.rows`; where neither does, `skew.time` or `straggler.host`.

Source
    Bytes and times of tasks in Spark's event log; adaptive execution: Spark's documentation of SQL
    performance tuning, "Optimizing Skew Join".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from statistics import NormalDist

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Even
from pyrometer.explain.evidence.places import largest, of_stage, of_tasks, slots_at
from pyrometer.explain.evidence.plan_nodes import operators_in
from pyrometer.explain.evidence.saying import code, factor
from pyrometer.explain.evidence.scans.row_groups import SMALLER_GROUPS, undivided
from pyrometer.explain.evidence.task_costs import read_bytes, read_rows
from pyrometer.explain.evidence.task_counts import ADVISORY, LEAST_PART, bytes_in, recounted
from pyrometer.explain.facts import Facts, TaskColumns
from pyrometer.explain.judge import LEAST_RATIO
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats, Stage
from pyrometer.statistics.distributions import t_quantile

FEWEST_TASKS = 4
"""A line through three tasks fits whatever they are: of fewer, time is taken to go with amount."""
FEWEST = 2
"""Of one task nothing is uneven."""
ALIKE = 1.1
"""Times the median that are not told as such."""
MANY = 200
"""Degrees of freedom from which Student's t is taken to be the normal."""
NORMAL = NormalDist().inv_cdf(0.95)
SPLIT_FACTOR = 2.0
"""Adaptive execution, so set, leaves partitions of up to so many medians (Spark: at least 1)."""
NONE = Extent(0.0, 0.0, 0.0, 0)
_JOINS = re.compile(r"(SortMerge|ShuffledHash)Join( .*)?")
_GROUPS = re.compile("Aggregate")
_BYTES = (
    "coalesce(input_bytes, 0) + coalesce(shuffle_read_local_bytes, 0)"
    " + coalesce(shuffle_read_remote_bytes, 0)"
)


def explained(time_ns: Floats, amount: Floats) -> Extent:
    """Share of the longest task's time above the mean that an amount explains.

    By least squares over the tasks; the bounds are those of the slope (90 %, Student's t). Time
    goes with the square of an amount at most: else a line of any slope leads through a longest task
    that read a little more than the others.

    Examples
    --------
    >>> import numpy as np
    >>> explained(np.array([1.0, 1, 1, 9]), np.array([10.0, 10, 10, 90])).value
    1.0
    >>> explained(np.array([1.0, 1, 1, 9]), np.array([5.0, 5, 5, 5])).value
    0.0
    >>> round(explained(np.array([1.0, 1, 1, 1, 9]), np.array([5.0, 5, 5, 5, 5.2])).value, 3)
    0.0
    """
    n = time_ns.size
    over = float(time_ns.max(initial=0.0)) - float(time_ns.mean()) if n else 0.0
    off = amount - amount.mean() if n else amount
    squares = float(off @ off)
    if n < FEWEST or squares <= 0 or over <= 0:
        return NONE
    if n < FEWEST_TASKS:
        return _in_proportion(time_ns, amount, over)
    slope = float(off @ time_ns) / squares
    rest = time_ns - time_ns.mean() - slope * off
    error = float(np.sqrt(rest @ rest / (n - 2) / squares)) * _quantile(n - 2)

    most = _at_most(time_ns, amount, over)

    def share(by: float) -> float:
        left = float((time_ns - max(by, 0.0) * off).max()) - float(time_ns.mean())
        return min(max(round(1 - left / over, 9), 0.0), most)

    value, low, high = share(slope), share(slope - error), share(slope + error)
    return Extent(value, min(low, value), max(high, value), n)


def _quantile(freedom: int) -> float:
    """Give the 95th percentile of Student's t; of many tasks, the normal's (0.5 % less at most)."""
    if freedom > MANY:
        return NORMAL
    return float(t_quantile(0.95, freedom))


def _at_most(time_ns: Floats, amount: Floats, over: float) -> float:
    """Share that an amount explains if time goes with its square, as matches within a key do."""
    longest, n = int(time_ns.argmax()), time_ns.size
    usual = float(amount.sum() - amount[longest]) / (n - 1)
    if usual <= 0:
        return 1.0
    time = float(time_ns.sum() - time_ns[longest]) / (n - 1)
    expected = time * (float(amount[longest]) / usual) ** 2
    return min(max((expected - float(time_ns.mean())) / over, 0.0), 1.0)


def _in_proportion(time_ns: Floats, amount: Floats, over: float) -> Extent:
    """Share that an amount explains where time goes with it, at least half as much for sure."""
    longest = int(time_ns.argmax())
    expected = float(amount[longest] / amount.mean()) * float(time_ns.mean())
    value = min(max((expected - float(time_ns.mean())) / over, 0.0), 1.0)
    return Extent(value, value / 2, value, time_ns.size)


def by_bytes(facts: Facts, number: int) -> Extent:
    """Give what bytes read explain of a stage's longest task."""
    return _by(facts, number, read_bytes)


def by_rows(facts: Facts, number: int) -> Extent:
    """Give what rows read explain of a stage's longest task."""
    return _by(facts, number, read_rows)


def _by(facts: Facts, number: int, amount: Callable[[TaskColumns], Floats]) -> Extent:
    known: Extent | None = facts.kept.get((amount, number))
    if known is None:
        tasks = facts.tasks_of(number)
        time = tasks.duration_ns
        known = explained(time, amount(tasks)) if is_worth(facts, time) else NONE
        facts.kept[amount, number] = known
    return known


def is_worth(facts: Facts, time_ns: Floats) -> bool:
    """Whether even tasks could save as much as is looked at."""
    over = float(time_ns.max(initial=0.0)) - float(time_ns.mean()) if time_ns.size else 0.0
    return over >= LEAST_RATIO * facts.elapsed_ns


def split(extent: Extent, time_ns: Floats) -> Extent:
    """Lower an extent by what splitting leaves, at worst: tasks of `SPLIT_FACTOR` medians."""
    if time_ns.size < FEWEST_TASKS:
        return extent  # the median of two or three says nothing of what is usual
    longest, mean = float(time_ns.max()), float(time_ns.mean())
    left = max(SPLIT_FACTOR * float(np.median(time_ns)) - mean, 0.0)
    least = max(0.0, 1 - left / (longest - mean)) if longest > mean else 0.0
    return Extent(extent.value * (least + 1) / 2, extent.low * least, extent.high, extent.n)


def spread(facts: Facts, stage: Stage, time_ns: Floats) -> Even:
    """Give a stage with its work spread evenly.

    Where the longest task outlasts an equal share of the work for each slot, skew is why slots
    stand idle, and not that tasks leave a round half empty: then they fill whole rounds.
    """
    slots = max(1, slots_at(facts, stage))
    whole_rounds = time_ns.size // slots * slots
    is_longest = float(time_ns.max()) > float(time_ns.sum()) / slots
    return Even([stage.number], onto=whole_rounds if is_longest and whole_rounds else None)


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    for stage in facts.stages:
        if stage.tasks_count < FEWEST:
            continue
        tasks = facts.tasks_of(stage.number)
        extent = by_bytes(facts, stage.number)
        if extent.value <= 0 or extent.value < by_rows(facts, stage.number).value:
            continue
        time = tasks.duration_ns
        bound = extent.value * float(time.max() - time.mean())
        yield bound, _suspect(facts, stage, tasks, extent)


def _suspect(facts: Facts, stage: Stage, tasks: TaskColumns, extent: Extent) -> Suspect:
    time, amount = tasks.duration_ns, read_bytes(tasks)
    largest, median = float(amount.max()), float(np.median(amount))
    ratio = largest / median if median > 0 else math.inf
    beside = (
        f"{ratio:.3g} times the median ({units.size(median)})" if ALIKE <= ratio < math.inf
        else f"and the median task {units.size(median)}" if median > 0
        else "and the median task nothing"
    )  # fmt: skip
    longest, middle = float(time.max()), float(np.median(time))
    return Suspect(
        place=of_stage(stage, "data"),
        mechanism=(
            f"The largest of {units.counted(tasks.count, 'task')} read {units.size(largest)},"
            f" {beside}, and the longest ran"
            f" {units.duration(longest)} where the median ran {units.duration(middle)}; what tasks"
            f" read explains {units.percent(extent.value)} of its excess."
        ),
        change=(spread(facts, stage, time),),
        extent=split(extent, time),
        evidence=[
            of_tasks("most that a task read", largest, "bytes", f"max({_BYTES})", stage,
                     tasks.count),
            of_tasks("longest task", longest, "ns", "max(finish_wall_ns - launch_wall_ns)", stage,
                     tasks.count),
        ],
        remedies=remedies(facts, stage),
    )  # fmt: skip


def remedies(facts: Facts, stage: Stage) -> list[Remedy]:
    """Say how what the stage reads is divided more evenly, by what it does according to the plan.

    Adaptive execution splits what goes into a join, and nothing else; into parts of a target size.
    Where an operator behind the join needs its rows by key, it does so only if it is told to.
    """
    tasks = facts.tasks_of(stage.number)
    sizes, kinds = read_bytes(tasks), operators_in(facts, stage)
    median = float(np.median(sizes))
    if any(one.stage.number == stage.number for one in undivided(facts)):
        return [SMALLER_GROUPS]
    if not tasks.total("shuffle_read_records_count") and tasks.total("input_bytes") > 0:
        wanted = math.ceil(float(sizes.sum()) / max(median, LEAST_PART))
        return [recounted(facts, stage, max(tasks.count + 1, wanted), "more, smaller parts")]
    found = []
    grouped = any(_GROUPS.search(kind) for kind in kinds)
    if any(_JOINS.fullmatch(kind) for kind in kinds):
        least = max(LEAST_PART, int(SPLIT_FACTOR * median))
        levels = {"spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": str(least)}
        if least < bytes_in(facts, ADVISORY):
            levels[ADVISORY] = str(least)
        if grouped:
            levels["spark.sql.adaptive.forceOptimizeSkewedJoin"] = "true"
        found.append(factor("spark.sql.adaptive.skewJoin.skewedPartitionFactor",
                            f"{SPLIT_FACTOR:.0f}", "let adaptive execution split what is twice the"
                            " median in the join", **levels))  # fmt: skip
    if grouped:
        found.append(_SALT)
    if "Window" in kinds:
        found.append(code("partition the window by one more column, or do without rows that have"
                          " no key"))  # fmt: skip
    return found or [code("divide the rows by a key that says more, or by key and salt")]


_SALT = code(
    "group by key and salt, then by key", 'df.groupBy("key").agg(sum("value"))',
    'df.withColumn("salt", (rand() * 16).cast("int"))\n'
    '  .groupBy("key", "salt").agg(sum("value").alias("value"))\n'
    '  .groupBy("key").agg(sum("value"))',
)  # fmt: skip


RULE = Rule(
    code="skew.bytes",
    title="A few tasks read most of the data",
    cause="data skew",
    suspects=_suspects,
    explains=("spill.", "gc.", "straggler.tail", "skew.time", "partitioning.too-few"),
    refute="Split the large partitions (salt, adaptive execution): if the stage still lasts as"
    " long, its work is not what the tasks read.",
)
