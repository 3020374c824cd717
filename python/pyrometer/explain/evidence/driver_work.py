"""What the driver did while no job ran: Spark's own code, as its CPU samples say, or the program's.

A program in Python, a call to another service and a sleep leave no sample of Spark's code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyrometer.explain.evidence.driver_time import Stretch
from pyrometer.explain.facts import Facts
from pyrometer.statistics.shares import Z

# Classes below `deploy` and `repl` are at the root of every stack of a program: they call it.
_SAMPLES = """
SELECT t_ns, tid, weight, java_stack IN (
  SELECT stack_id FROM (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks WHERE stack_id IN
    (SELECT java_stack FROM w_samples WHERE event = 'cpu' AND role = 'driver'))
  JOIN frames USING (frame_id) WHERE class_name LIKE 'org.apache.spark.%'
    AND NOT regexp_matches(class_name, '^org.apache.spark.(deploy|repl)[.]')) AS is_spark
FROM w_samples WHERE event = 'cpu' AND role = 'driver' AND coalesce(app_index, $1) = $1
ORDER BY t_ns
"""
_WAITS = """
SELECT t_mono_ns AS t_ns, run_delay_ns FROM thread_counters
WHERE tid = $1 AND run_delay_ns IS NOT NULL ORDER BY t_mono_ns
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
    """

    length: float
    spark_ns: float
    error_ns: float
    waited_ns: float

    @property
    def own_ns(self) -> float:
        """What is left to the program: without Spark's code, and without waits for a CPU."""
        return max(0.0, self.length - self.spark_ns - self.waited_ns)

    @property
    def least_ns(self) -> float:
        """The lower end of that."""
        return max(0.0, self.own_ns - self.error_ns)


def works(facts: Facts, stretches: Sequence[Stretch]) -> list[Work] | None:
    """Say what the driver did in each stretch; None where its CPU was not sampled."""
    intervals = facts.scope.window.intervals
    first = intervals[0] if intervals else None
    if first is None or first.start_mono_ns is None or not facts.has("samples"):
        return None
    app = facts.measured.app_index if facts.measured else 0
    rows = facts.tables.query(_SAMPLES, [app])
    if not rows:
        return None
    offset = first.start_wall_ns - first.start_mono_ns
    at, thread, weight, is_spark = (np.array(column) for column in zip(*rows, strict=True))
    at = at + offset
    waits: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    found = []
    for one in stretches:
        inside = slice(*np.searchsorted(at, (one.start, one.end)))
        mine = thread[inside]
        if not mine.size:
            found.append(Work(one.length, 0.0, 0.0, 0.0))
            continue
        threads, counts = np.unique(mine, return_counts=True)
        busiest = int(threads[counts.argmax()])
        own = weight[inside][(mine == busiest) & is_spark[inside].astype(bool)]
        spark = min(float(own.sum()), float(one.length))
        error = Z * spark / math.sqrt(own.size) if own.size else 0.0
        waited = _waited(facts, busiest, one, offset, waits)
        found.append(Work(one.length, spark, error, min(waited, one.length - spark)))
    return found


def _waited(
    facts: Facts, thread: int, one: Stretch, offset: int,
    known: dict[int, tuple[np.ndarray, np.ndarray]],
) -> float:  # fmt: skip
    """Give how long a thread was ready and had no CPU, between its readings as between two."""
    if not facts.has("thread_counters"):
        return 0.0
    if thread not in known:
        rows = facts.tables.query(_WAITS, [thread])
        known[thread] = (
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[1] for row in rows], dtype=np.float64),
        )
    times, delays = known[thread]
    if times.size < 2:
        return 0.0
    ends = np.interp([one.start - offset, one.end - offset], times, delays)
    return max(0.0, float(ends[1] - ends[0]))
