"""What the driver did while no job ran: Spark's own code, as its CPU samples say, or the program's.

A program in Python, a call to another service and a sleep leave no sample of Spark's code. Python
workers beside the driver that run for no task work for Spark while it plans: it asks them for the
schema and the partitions of a source of data in Python, and the driver waits. A program in Python
that makes objects of collected rows, as its own samples say, works for that action.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pyrometer.explain.evidence.driver_time import Stretch, stretches
from pyrometer.explain.facts import Facts
from pyrometer.statistics.shares import Z

_OF_DRIVER = "event = 'cpu' AND role = 'driver' AND coalesce(app_index, $1) = $1"
_LISTS = (
    r"[.]hadoop[.]fs[.]Glob|[.]FileSystem[.](listStatus|globStatus|listLocatedStatus)"
    r"|[.](InMemory|PartitioningAware|Catalog)FileIndex|[.]HadoopFSUtils|RepairTableCommand"
    r"|[.]hive[.].*[.](list|get)Partitions"
)
_COMMITS = "OutputCommitter|CommitProtocol"
"""Frames of what finds files or partitions, and of what does so to commit a job."""
# Classes below `deploy` and `repl` are at the root of every stack of a program: they call it.
# Files are listed by threads of Spark, too: of these the busiest is waited for.
_SAMPLES = f"""
WITH x AS (SELECT * FROM w_samples WHERE {_OF_DRIVER} OR
  (event = 'cpu' AND role IN ('other', 'helper') AND coalesce(app_index, $1) = $1
   AND pid IN (SELECT pid FROM w_samples WHERE {_OF_DRIVER}))),
kinds AS MATERIALIZED (
  SELECT frame_id,
    class_name LIKE 'org.apache.spark.%'
      AND NOT regexp_matches(class_name, '^org.apache.spark.(deploy|repl)[.]') AS spark,
    class_name LIKE 'org.apache.spark.sql.catalyst.analysis.%' AS analysed,
    regexp_matches(class_name, '^org[.](antlr|apache[.]spark[.]sql[.]catalyst[.]parser)[.]')
      AS parsed,
    regexp_matches(class_name || '.' || method, '{_LISTS}') AS listed,
    regexp_matches(class_name, '{_COMMITS}') AS commits
  FROM frames WHERE class_name LIKE 'org.apache.%' OR class_name LIKE 'org.antlr.%'),
k AS MATERIALIZED (
  SELECT stack_id, bool_or(spark) AS spark, bool_or(parsed) AS parsed,
    bool_or(listed) AND NOT bool_or(commits) AS listed,
    bool_or(analysed) AND NOT bool_or(listed) AND NOT bool_or(parsed) AS analysed
  FROM (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks
        WHERE stack_id IN (SELECT java_stack FROM x))
  JOIN kinds USING (frame_id) GROUP BY stack_id)
SELECT g.n, x.pid, x.tid, x.role = 'driver', count(*), count(*) FILTER (k.spark),
  sum(x.weight)::DOUBLE,
  coalesce(sum(x.weight) FILTER (k.spark), 0)::DOUBLE,
  coalesce(sum(x.weight) FILTER (k.analysed), 0)::DOUBLE,
  coalesce(sum(x.weight) FILTER (k.parsed), 0)::DOUBLE,
  coalesce(sum(x.weight) FILTER (k.listed), 0)::DOUBLE
FROM driver_stretches g JOIN x ON x.t_ns >= g.start AND x.t_ns < g.stop
  LEFT JOIN k ON k.stack_id = x.java_stack
GROUP BY ALL ORDER BY g.n, 5 DESC, x.pid, x.tid
"""
_BUSIEST = f"""
SELECT pid, tid FROM w_samples WHERE {_OF_DRIVER} GROUP BY ALL ORDER BY count(*) DESC, 1, 2 LIMIT 1
"""
_PLANNERS = """
SELECT g.n, sum(x.weight)::DOUBLE FROM driver_stretches g
  JOIN samples x ON x.t_ns >= g.start AND x.t_ns < g.stop
WHERE x.source = 'python' AND x.event = 'cpu' AND x.role = 'python'
  AND x.thread_name = 'Python worker' AND x.task_attempt_id IS NULL AND x.stage_id IS NULL
  AND x.host IN (SELECT host FROM samples WHERE role = 'driver')
GROUP BY ALL
"""
_FETCHES = r"""
WITH k AS (
  SELECT DISTINCT stack_id FROM
    (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks
     WHERE stack_id IN (SELECT java_stack FROM samples WHERE source = 'python'))
  JOIN frames USING (frame_id) WHERE class_name LIKE 'pyspark%'
    AND regexp_matches(class_name || '.' || method,
      'Serializer[.](load|_read)|[.](collect|collectAs\w+|_collect_as_\w+|toPandas|toArrow)$')),
called AS (
  SELECT DISTINCT stack_id FROM
    (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks
     WHERE stack_id IN (SELECT stack_id FROM k))
  JOIN frames USING (frame_id) WHERE class_name LIKE 'py4j%')
SELECT g.n, count(*), sum(x.weight)::DOUBLE FROM driver_stretches g
  JOIN samples x ON x.t_ns >= g.start AND x.t_ns < g.stop
WHERE x.source = 'python' AND x.role = 'python' AND x.thread_name = 'Python driver'
  AND x.host IN (SELECT host FROM samples WHERE role = 'driver')
  AND x.java_stack IN (SELECT stack_id FROM k)
  AND x.java_stack NOT IN (SELECT stack_id FROM called)
GROUP BY ALL
"""
_WAITS = """
SELECT t_mono_ns AS t, run_delay_ns AS waited FROM thread_counters
WHERE pid = $1 AND tid = $2 AND run_delay_ns IS NOT NULL ORDER BY t_mono_ns
"""


@dataclass(frozen=True)
class Work:
    """What the driver's busiest thread did in a stretch; times in nanoseconds.

    Attributes
    ----------
    spark_ns, error_ns : float
        CPU of Spark's own code, and half its 95 % interval.
    waited_ns : float
        Time that the thread was ready to run, and had no CPU.
    planners_ns : float
        CPU of Python workers on its host that ran for no task, for which it waited.
    analysed_ns, parsed_ns : float
        CPU of Spark's own code that analysed plans, and that parsed SQL.
    listed_ns, beside_ns : float
        CPU of finding files and partitions; and how much of it another thread had, for which the
        driver waited.
    fetched_ns, fetches_count : float, int
        Time in which a program in Python took rows in, and its samples.
    cpu_ns : float
        CPU of that thread, with that of the one that listed beside it.
    """

    length: float
    spark_ns: float
    error_ns: float
    waited_ns: float
    planners_ns: float = 0.0
    analysed_ns: float = 0.0
    parsed_ns: float = 0.0
    listed_ns: float = 0.0
    beside_ns: float = 0.0
    fetched_ns: float = 0.0
    fetches_count: int = 0
    cpu_ns: float = 0.0

    @property
    def own_ns(self) -> float:
        """What is left to the program: without Spark's code, its workers, and waits for a CPU."""
        theirs = self.spark_ns + self.waited_ns + self.planners_ns + self.beside_ns
        return max(0.0, self.length - theirs - self.fetched_ns)

    @property
    def least_ns(self) -> float:
        """The lower end of that."""
        return max(0.0, self.own_ns - self.error_ns)

    def at_most(self, part_ns: float) -> float:
        """Give how long a part of its CPU can have taken: it waits as often as the rest does."""
        ratio = (self.length - self.waited_ns) / self.cpu_ns if self.cpu_ns else 1.0
        return min(part_ns * max(ratio, 1.0), self.length)


def works(facts: Facts, asked: Sequence[Stretch]) -> list[Work] | None:
    """Say what the driver did in some of its stretches; None where its CPU was not sampled."""
    kept = facts.scope.kept
    key = f"driver {facts.measured.app_index if facts.measured else 0}"
    if key not in kept:
        kept[key] = _works(facts)
    found: dict[tuple[int, int], Work] | None = kept[key]
    return None if found is None else [found[one.start, one.end] for one in asked]


Thread = tuple[int, int]


def _works(facts: Facts) -> dict[tuple[int, int], Work] | None:
    """Say what the busiest thread of each stretch did, by its begin and end."""
    offset, every = facts.scope.offset_ns, stretches(facts)
    if facts.measured is None or offset is None or not every or not facts.has("samples"):
        return None
    app = facts.measured.app_index
    busiest = facts.tables.query(_BUSIEST, [app])
    if not busiest:
        return None
    facts.tables.keep(
        "driver_stretches", {"n": "BIGINT", "start": "BIGINT", "stop": "BIGINT"},
        {"n": range(len(every)), "start": [one.start - offset for one in every],
         "stop": [one.end - offset for one in every]},
    )  # fmt: skip
    # One that had no CPU at all has no sample: of a stretch without any it is that of the run.
    none = _Sampled(*busiest[0])
    sampled: dict[int, _Sampled] = {}
    beside: dict[int, float] = defaultdict(float)
    for n, pid, tid, is_driver, *counted in facts.tables.query(_SAMPLES, [app]):
        if is_driver and n not in sampled:
            sampled[n] = _Sampled(pid, tid, *counted)
        else:
            beside[n] = max(beside[n], counted[-1])
    planners = dict(facts.tables.query(_PLANNERS))
    fetched = {n: (count, ns) for n, count, ns in facts.tables.query(_FETCHES)}
    of_thread: dict[Thread, list[int]] = defaultdict(list)
    for n in range(len(every)):
        one = sampled.get(n, none)
        of_thread[one.pid, one.tid].append(n)
    found: dict[tuple[int, int], Work] = {}
    for thread, numbers in of_thread.items():
        waited = _waited(facts, thread, [every[n] for n in numbers], offset)
        for n, wait in zip(numbers, waited, strict=True):
            work = _work(every[n], sampled.get(n, none), wait, beside[n])
            left = work.own_ns
            planned = min(planners.get(n, 0.0), left)
            count, taken = fetched.get(n, (0, 0.0))
            found[every[n].start, every[n].end] = replace(
                work, planners_ns=planned, fetched_ns=min(taken, left - planned),
                fetches_count=count,
            )  # fmt: skip
    return found


@dataclass(frozen=True)
class _Sampled:
    """Samples of a stretch's busiest thread: their count and weight, and those of each kind."""

    pid: int
    tid: int
    count: int = 0
    spark_count: int = 0
    cpu: float = 0.0
    spark: float = 0.0
    analysed: float = 0.0
    parsed: float = 0.0
    listed: float = 0.0


def _work(one: Stretch, seen: _Sampled, wait: float, beside: float) -> Work:
    """Say what the thread did, with what another listed beside it."""
    length = float(one.length)
    spark = min(seen.spark, length)
    error = Z * spark / math.sqrt(seen.spark_count) if seen.spark_count else 0.0
    waits = min(wait, length - spark)
    other = min(beside, length - spark - waits)
    return Work(
        length, spark, error, waits,
        analysed_ns=min(seen.analysed, spark),
        parsed_ns=min(seen.parsed, spark),
        listed_ns=min(seen.listed + other, length),
        beside_ns=other,
        cpu_ns=seen.cpu + other,
    )  # fmt: skip


def _waited(facts: Facts, thread: Thread, asked: Sequence[Stretch], offset: int) -> Sequence[float]:
    """Give how long a thread was ready and had no CPU; between readings as between two."""
    none = [0.0] * len(asked)
    if not facts.has("thread_counters"):
        return none
    read = facts.tables.columns(_WAITS, thread)
    times, delays = np.ma.getdata(read["t"]), np.ma.getdata(read["waited"])
    if times.size < 2:
        return none
    first, last = (
        np.interp([at - offset for at in ends], times, delays)
        for ends in ([one.start for one in asked], [one.end for one in asked])
    )
    return [float(one) for one in np.maximum(last - first, 0.0)]
