"""Samples of a run, summed by stack and dimension.

Times of the facts of a flame graph: what a selection of time needs.

One entry per fact and time bucket, ordered by fact. A fact is the sum of its entries, so the
weights of any selection of whole buckets are exact. A sample of the CPU or of an allocation belongs
to the bucket of its time. A wall sample and a wait for a lock begin at their time and last for
their weight (async-profiler joins the samples of a sleeping thread into one); where that reaches
over several buckets, the entry's ``span`` says how many further ones, and its weight is spread
evenly over them.

The buckets are the narrowest of `WIDTHS_MS` that need no more than `MAX_ENTRIES` entries (or one
per fact, where there are more facts) and no more than `MAX_BUCKETS` buckets. Samples without a
time take one entry per fact at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.attribution.samples import ATTRIBUTED, CONVERSION, KEY
from pyrometer.pages.axis import Axis
from pyrometer.pages.columns import Pack, floats, integers, smallest_uint
from pyrometer.store.sql.host_views import own
from pyrometer.store.tables import Tables

MAX_FACTS = 150_000
STATE = "state"
EVENTS = ("cpu", "wall", STATE, "alloc", "live", "nativemem", "lock")
# Events whose samples show what elapsed time was spent on.
CRITICAL = ("cpu", "wall", STATE)
# What the thread worked for when it was sampled: tasks (on their threads, or as their Python worker
# or helper), else the application. A task thread between two tasks serves none.
_SERVES = """CASE WHEN role IS NULL THEN NULL
    WHEN task_attempt_id IS NOT NULL THEN 'tasks'
    WHEN role = 'task' AND wait_class IS DISTINCT FROM 'idle' THEN 'tasks'
    WHEN role IN ('python', 'helper') AND stage_id IS NOT NULL THEN 'tasks'
    ELSE 'application' END"""
TASKS = "tasks"
# Dimension in the viewer -> expression over table samples. `what` is what an on-CPU sample was
# doing, or what an off-CPU one waited for; Spark names a task's thread after the task.
DIMENSIONS = {
    "stage": "stage_id",
    "iteration": "iteration",
    "serves": _SERVES,
    "role": "role",
    "what": "coalesce(category, wait_class, state)",
    "sql": "sql_id",
    "operator": "operator",
    "expression": "expression",
    "job": "job_id",
    "task": "task_attempt_id",
    "state": "CASE WHEN event = 'cpu' THEN 'on CPU' ELSE state END",
    "wait": "wait_class",
    "executor": "executor_id",
    "process": f"nullif(concat_ws(':', host, {own('pid')}), '')",
    "thread": r"regexp_replace(thread_name, ' for task .*| ?\(TID \d+\)', '')",
}
NUMBERS = ("stage", "iteration", "sql", "job", "task")
# The finest dimensions: dropped in this order where there are too many facts.
FINEST = ("task", "thread", "job", "process", "executor")
# Temporary tables that `facts_of` defines: samples with their dimensions, and the fact (place in
# its result) of each combination of stack and dimensions.
SAMPLES, FOLDED = "flame_samples", "flame_folded"

# Number of running tasks from a time on, by the spans; right for a single host.
_RUNNING = """
    SELECT 'mono' AS clock, t_ns, sum(sum(change)) OVER (ORDER BY t_ns) AS tasks FROM (
        SELECT start_mono_ns AS t_ns, 1 AS change FROM spans
        UNION ALL SELECT end_mono_ns, -1 FROM spans WHERE end_mono_ns IS NOT NULL)
    GROUP BY t_ns
"""
_EXECUTORS = """
    SELECT host AS of_host, pid AS of_pid, any_value(executor_id) AS executor_id
    FROM processes GROUP BY ALL
"""
_UNATTRIBUTED = f"""(SELECT {", ".join(f"0 AS {key}" for key in KEY)},
    '' AS operator, '' AS expression WHERE false)"""
_KEY = f"stack, event, {', '.join(DIMENSIONS)}, top_class"

# Expressions over table samples: the whole stack (null: none), and what stands at its leaf.
STACK = "coalesce(whole_stack, java_stack, native_stack, kernel_stack)"
LEAF = "CASE WHEN event IN ('alloc', 'live', 'lock') THEN top_class END"
# Number of samples; a row of a profile in samples, such as folded stacks, is as many as it weighs.
TAKEN = "sum(CASE WHEN unit = 'samples' THEN greatest(weight, 1) ELSE 1 END)::BIGINT"
MOST_TAKEN = 2**32 - 1  # of a row on the page
# Time on a CPU is known by its samples; threads that idle outside tasks do not count.
COUNTS = f"""(event NOT IN ('{STATE}', 'wall') OR ((event = 'wall' OR state <> 'on_cpu')
    AND (task_attempt_id IS NOT NULL OR wait_class IS DISTINCT FROM 'idle')))"""


def facts_of(tables: Tables, most: int | None = None) -> dict[str, Any]:
    """Sum samples by stack and dimension.

    Operators and expressions are those of ``attributed_stacks`` where defined, else of the frames.
    Threads that serve no task (GC, JIT, driver) get the iteration during which they ran.

    Parameters
    ----------
    tables : Tables
        Of the run.
    most : int, optional
        Most facts of an event (`MAX_FACTS`). Where there would be more, the finest dimensions are
        dropped; where there still are, the lightest facts lose their stack.

    Returns
    -------
    dict
        Columns, one entry per fact: ``stack`` (-1: none; -2: dropped), ``weight``, ``critical``,
        ``n``, and indices into ``values[name]`` for ``event``, ``top_class`` and each dimension;
        ``units`` per event; ``steps``, the weight of one tick of the sampler, of cpu and wall;
        ``given_up``, the dimensions that were dropped; ``bound``, the limit.
    """
    bound = MAX_FACTS if most is None else most
    define_samples(tables)
    given_up = _give_up(tables, bound)
    folded = f"""
        WITH folded AS (
            SELECT {_KEY}, any_value(unit) AS unit, sum(weight)::DOUBLE AS weight,
                   coalesce(sum(critical), 0)::DOUBLE AS critical, {TAKEN} AS n
            FROM {SAMPLES} GROUP BY {_KEY}
        ), ranked AS (
            SELECT *, row_number() OVER (PARTITION BY event ORDER BY weight DESC, stack) AS place
            FROM folded
        ), cut AS (
            SELECT *, CASE WHEN place > {bound} THEN -2 ELSE stack END AS kept FROM ranked
        )
        SELECT *, dense_rank() OVER (ORDER BY kept, {_KEY[len("stack, ") :]}) - 1 AS fact FROM cut
    """
    tables.define(FOLDED, folded)
    return _columns(tables) | {"given_up": given_up, "bound": bound}


def define_samples(tables: Tables) -> None:
    """Define table `SAMPLES`: event, stack, weight, critical weight and dimensions of samples."""
    tables.define(SAMPLES, _placed(ATTRIBUTED if ATTRIBUTED in tables.defined else _UNATTRIBUTED))


def _placed(attributed: str) -> str:
    dims = ", ".join(f"{expr} AS {name}" for name, expr in DIMENSIONS.items())
    joined = " AND ".join(
        f"t.{key} IS NOT DISTINCT FROM "
        + (f"coalesce(s.category = '{CONVERSION}', false)" if key == "converts" else f"s.{key}")
        for key in KEY
    )
    return f"""
        WITH placed AS (
            SELECT s.* REPLACE (coalesce(s.iteration, i.iteration) AS iteration,
                                coalesce(t.operator, s.operator) AS operator),
                t.expression, p.executor_id,
                CASE WHEN s.task_attempt_id IS NOT NULL AND event IN {CRITICAL}
                     THEN s.weight / greatest(r.tasks, 1) END AS critical
            FROM samples s LEFT JOIN iterations i
                ON s.clock = 'mono' AND s.t_ns >= i.start_mono_ns AND s.t_ns < i.end_mono_ns
            LEFT JOIN {attributed} t ON {joined}
            LEFT JOIN ({_EXECUTORS}) p ON p.of_host = s.host AND p.of_pid = s.pid
            ASOF LEFT JOIN ({_RUNNING}) r ON s.clock = r.clock AND s.t_ns >= r.t_ns
        )
        SELECT coalesce({STACK}, -1) AS stack, event, unit, {dims}, {LEAF} AS top_class,
               weight, critical, host, clock, t_ns
        FROM placed WHERE {COUNTS}
    """


def _give_up(tables: Tables, bound: int) -> list[str]:
    """Drop dimensions, the finest first, until every event has at most ``bound`` facts."""
    given_up: list[str] = []
    for name in FINEST:
        most = tables.scalar(
            f"SELECT max(n) FROM (SELECT count(*) AS n FROM"
            f" (SELECT DISTINCT {_KEY} FROM {SAMPLES}) GROUP BY event)"
        )
        if (most or 0) <= bound:
            break
        if int(tables.scalar(f"SELECT count(DISTINCT {name}) FROM {SAMPLES}")) > 1:
            given_up.append(name)
            kind = "BIGINT" if name in NUMBERS else "VARCHAR"
            tables.define(SAMPLES, f"SELECT * REPLACE (NULL::{kind} AS {name}) FROM {SAMPLES}")
    return given_up


def _columns(tables: Tables) -> dict[str, Any]:
    coded = ("event", "top_class", *DIMENSIONS)
    codes = "\n".join(
        f"LEFT JOIN (SELECT {name}, row_number() OVER (ORDER BY {name} NULLS FIRST) - 1 AS place"
        f" FROM (SELECT DISTINCT {name} FROM {FOLDED})) AS d{i}"
        f" ON d{i}.{name} IS NOT DISTINCT FROM f.{name}"
        for i, name in enumerate(coded)
    )
    places = ", ".join(f"any_value(d{i}.place) AS {name}" for i, name in enumerate(coded))
    found: dict[str, Any] = tables.columns(
        f"""
        SELECT any_value(kept) AS stack, {places}, sum(weight) AS weight,
               sum(critical) AS critical, sum(n)::BIGINT AS n
        FROM {FOLDED} f {codes} GROUP BY fact ORDER BY fact
        """
    )
    for name in ("stack", "n", *coded):
        found[name] = integers(found[name])
    for name in ("weight", "critical"):
        found[name] = floats(found[name])
    found["values"] = {
        name: [row[0] for row in tables.query(f"SELECT DISTINCT {name} FROM {FOLDED}"
                                              f" ORDER BY {name} NULLS FIRST")]
        for name in coded
    }  # fmt: skip
    # A sleeping thread is one sample of many steps; other events have no steps.
    found["steps"] = dict(
        tables.query(
            # Passes of the probe are jittered, so their weights differ slightly.
            f"SELECT event, CASE WHEN any_value(unit) = 'samples' THEN 1"
            f" WHEN event = '{STATE}' THEN median(weight)::BIGINT ELSE mode(weight) END"
            f" FROM {SAMPLES}"
            f" WHERE event IN {CRITICAL} AND weight > 0 GROUP BY 1"
        )
    )
    found["units"] = dict(tables.query(f"SELECT event, any_value(unit) FROM {FOLDED} GROUP BY 1"))
    return found


MAX_ENTRIES = 1_000_000
MAX_BUCKETS = 500_000
# Each divides the next. The first is the row height of FlameScope's heat maps, 50 to the second.
WIDTHS_MS = (20, 100, 200, 1_000, 5_000, 10_000, 60_000, 600_000, 3_600_000)
# Events that begin at their time and last for their weight.
LASTING = ("wall", "state", "lock")
# Clocks agree to about a millisecond; samples further outside the run have no time.
SLACK_NS = 1_000_000_000
_MOMENTS = "flame_moments"


def build_times(
    tables: Tables, axis: Axis | None, fact_rows: npt.NDArray[np.int64], pack: Pack
) -> dict[str, Any]:
    """Put times of facts into ``pack``, after `facts_of` has found the facts.

    Parameters
    ----------
    tables : Tables
        The run's tables, with the temporary ones of `facts_of`.
    axis : Axis or None
        The run's time axis; times are numbers of buckets from its start.
    fact_rows : numpy.ndarray
        Row in the packed facts of each row of `facts_of`, as rows may have been summed.
    pack : Pack
        Gets columns ``times.entries`` (entries of each packed fact), and for each entry ``bucket``,
        ``span``, ``weight``, ``critical`` and ``n``.

    Returns
    -------
    dict
        ``bucket_ms``, ``count`` (buckets), and ``unplaced``: samples without a time on the axis,
        whose bucket is ``count``. ``{"reason": ...}`` where there are no times.
    """
    if axis is None:
        return {"reason": "Nothing in this run has a start and an end, so samples have no time."}
    _define_moments(tables, axis)
    most = max(MAX_ENTRIES, fact_rows.size)
    if not tables.scalar(f"SELECT count(first) FROM {_MOMENTS}"):
        return {"reason": "No sample has a time within the run, by its clocks."}
    for width in WIDTHS_MS:
        by = width // WIDTHS_MS[0]
        count = int(np.ceil(axis.duration_ms / width))
        if count > MAX_BUCKETS:
            continue
        entries = f"""
            SELECT fact, first // {by} AS bucket, last // {by} - first // {by} AS span,
                   sum(weight)::DOUBLE AS weight, sum(critical)::DOUBLE AS critical,
                   sum(n)::BIGINT AS n
            FROM {_MOMENTS} GROUP BY 1, 2, 3
        """
        if tables.scalar(f"SELECT count(bucket) FROM ({entries})") <= most:
            found = tables.columns(f"{entries} ORDER BY fact, bucket, span")
            return _pack(found, fact_rows, width, count, pack)
    return {"reason": f"Its stacks are too many to keep their times: more than {most:,} entries."}


def _define_moments(tables: Tables, axis: Axis) -> None:
    """Define the samples' sums by fact, first and last bucket of the narrowest width."""
    hosts = [host for (host,) in tables.query(f"SELECT DISTINCT host FROM {SAMPLES}")]
    offsets = [axis.offset(host) for host in hosts]
    tables.keep("flame_hosts", {"host": "VARCHAR", "ahead": "BIGINT"},
                {"host": hosts, "ahead": offsets})  # fmt: skip
    keys = ("stack", "event", *DIMENSIONS, "top_class")
    same = " AND ".join(f"s.{key} IS NOT DISTINCT FROM f.{key}" for key in keys)
    width_ns, length_ns = WIDTHS_MS[0] * 1_000_000, axis.end_wall_ns - axis.t0_wall_ns
    tables.define(
        _MOMENTS,
        f"""
        WITH timed AS (
            SELECT s.*, f.fact,
                   s.t_ns + CASE s.clock WHEN 'wall' THEN 0 WHEN 'mono' THEN h.ahead END
                       - {axis.t0_wall_ns} AS after_ns,
                   CASE WHEN after_ns BETWEEN -{SLACK_NS} AND {length_ns + SLACK_NS}
                        THEN greatest(0, least(after_ns, {length_ns} - 1)) END AS at_ns,
                   CASE WHEN s.event IN {LASTING} THEN greatest(s.weight, 1) ELSE 1 END AS lasting
            FROM {SAMPLES} s JOIN {FOLDED} f ON {same}
            LEFT JOIN flame_hosts h ON s.host IS NOT DISTINCT FROM h.host
        )
        SELECT fact, at_ns // {width_ns} AS first,
               CASE WHEN at_ns IS NOT NULL
                    THEN least(at_ns + lasting, {length_ns}) - 1 END // {width_ns} AS last,
               sum(weight) AS weight, coalesce(sum(critical), 0) AS critical, {TAKEN} AS n
        FROM timed GROUP BY ALL
        """,
    )


def _pack(
    found: dict[str, Any],
    fact_rows: npt.NDArray[np.int64],
    width_ms: int,
    count: int,
    pack: Pack,
) -> dict[str, Any]:
    bucket = integers(found["bucket"], missing=count)
    span = integers(found["span"], missing=0)
    # Facts with the same leaf of the tree have one row; their entries of a bucket are summed.
    shape = (int(fact_rows.max()) + 1, count + 1, int(span.max()) + 1)
    key = np.ravel_multi_index((fact_rows[integers(found["fact"])], bucket, span), shape)
    unique, inverse = np.unique(key, return_inverse=True)
    row, bucket, span = np.unravel_index(unique, shape)

    def summed(name: str) -> npt.NDArray[np.float64]:
        weights = floats(found[name])
        return np.bincount(inverse, weights=weights, minlength=row.size).astype(np.float64)

    n = summed("n").astype(np.int64)
    pack.add("times.entries", smallest_uint(np.bincount(row, minlength=shape[0])))
    pack.add("times.bucket", smallest_uint(bucket))
    pack.add("times.span", smallest_uint(span))
    pack.add("times.weight", summed("weight"))
    pack.add("times.critical", summed("critical"))
    pack.add("times.n", smallest_uint(np.minimum(n, MOST_TAKEN)))
    return {"bucket_ms": width_ms, "count": count, "unplaced": int(n[bucket == count].sum())}
