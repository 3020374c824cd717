"""What the driver did while no job ran: Spark's own code, as its CPU samples say, or the program's.

A program in Python, a call to another service and a sleep leave no sample of Spark's code. Python
workers beside the driver that run for no task work for Spark while it plans: it asks them for the
schema and the partitions of a source of data in Python, and the driver waits.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyrometer.explain.evidence.driver_time import Stretch, stretches
from pyrometer.explain.facts import Facts
from pyrometer.statistics.shares import Z

_OF_DRIVER = "event = 'cpu' AND role = 'driver' AND coalesce(app_index, $1) = $1"
# Classes below `deploy` and `repl` are at the root of every stack of a program: they call it.
_SAMPLES = f"""
WITH x AS (SELECT * FROM w_samples WHERE {_OF_DRIVER}),
spark AS (
  SELECT DISTINCT stack_id FROM
    (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks
     WHERE stack_id IN (SELECT java_stack FROM x))
  JOIN frames USING (frame_id) WHERE class_name LIKE 'org.apache.spark.%'
    AND NOT regexp_matches(class_name, '^org.apache.spark.(deploy|repl)[.]')),
analysed AS (
  SELECT DISTINCT stack_id FROM
    (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks
     WHERE stack_id IN (SELECT stack_id FROM spark))
  JOIN frames USING (frame_id) WHERE class_name LIKE 'org.apache.spark.sql.catalyst.analysis.%')
SELECT g.n, x.pid, x.tid, count(*), count(k.stack_id),
  coalesce(sum(x.weight) FILTER (k.stack_id IS NOT NULL), 0)::DOUBLE,
  coalesce(sum(x.weight) FILTER (a.stack_id IS NOT NULL), 0)::DOUBLE
FROM driver_stretches g JOIN x ON x.t_ns >= g.start AND x.t_ns < g.stop
  LEFT JOIN spark k ON k.stack_id = x.java_stack
  LEFT JOIN analysed a ON a.stack_id = x.java_stack
GROUP BY ALL ORDER BY g.n, 4 DESC, x.pid, x.tid
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
    analysed_ns : float
        CPU of Spark's own code that analysed plans.
    """

    length: float
    spark_ns: float
    error_ns: float
    waited_ns: float
    planners_ns: float = 0.0
    analysed_ns: float = 0.0

    @property
    def own_ns(self) -> float:
        """What is left to the program: without Spark's code, its workers, and waits for a CPU."""
        return max(0.0, self.length - self.spark_ns - self.waited_ns - self.planners_ns)

    @property
    def least_ns(self) -> float:
        """The lower end of that."""
        return max(0.0, self.own_ns - self.error_ns)


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
    # One that had no CPU at all has no sample: of a stretch without any it is that of the run.
    sampled = dict.fromkeys(range(len(every)), (*busiest[0], 0, 0.0, 0.0))
    facts.tables.keep(
        "driver_stretches", {"n": "BIGINT", "start": "BIGINT", "stop": "BIGINT"},
        {"n": range(len(every)), "start": [one.start - offset for one in every],
         "stop": [one.end - offset for one in every]},
    )  # fmt: skip
    seen: set[int] = set()
    for n, pid, tid, _, count, weight, analysed in facts.tables.query(_SAMPLES, [app]):
        if n not in seen:
            sampled[n] = pid, tid, count, weight, analysed
            seen.add(n)
    planners = dict(facts.tables.query(_PLANNERS))
    of_thread: dict[Thread, list[int]] = defaultdict(list)
    for n, (pid, tid, *_) in sampled.items():
        of_thread[pid, tid].append(n)
    found: dict[tuple[int, int], Work] = {}
    for thread, numbers in of_thread.items():
        waited = _waited(facts, thread, [every[n] for n in numbers], offset)
        for n, wait in zip(numbers, waited, strict=True):
            one, (_, _, count, weight, analysed) = every[n], sampled[n]
            spark = min(weight, float(one.length))
            error = Z * spark / math.sqrt(count) if count else 0.0
            waits = min(wait, one.length - spark)
            work = Work(one.length, spark, error, waits,
                        min(planners.get(n, 0.0), one.length - spark - waits),
                        min(analysed, spark))  # fmt: skip
            found[one.start, one.end] = work
    return found


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
