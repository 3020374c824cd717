"""What the driver did while no job ran: Spark's own code, as its CPU samples say, or the program's.

A program in Python, a call to another service and a sleep leave no sample of Spark's code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.explain.evidence.driver_time import Stretch
from pyrometer.explain.facts import Facts
from pyrometer.statistics.shares import Z

# Classes below `deploy` and `repl` are at the root of every stack of a program: they call it.
_SAMPLES = """
SELECT t_ns, pid, tid, weight, java_stack IN (
  SELECT stack_id FROM (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks WHERE stack_id IN
    (SELECT java_stack FROM w_samples WHERE event = 'cpu' AND role = 'driver'))
  JOIN frames USING (frame_id) WHERE class_name LIKE 'org.apache.spark.%'
    AND NOT regexp_matches(class_name, '^org.apache.spark.(deploy|repl)[.]')) AS is_spark
FROM w_samples WHERE event = 'cpu' AND role = 'driver' AND coalesce(app_index, $1) = $1
ORDER BY t_ns
"""
_WAITS = """
SELECT t_mono_ns AS t_ns, run_delay_ns FROM thread_counters
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
    driver = _driver(facts)
    return None if driver is None else [driver.work(facts, one) for one in stretches]


Readings = tuple[NDArray[np.int64], NDArray[np.float64]]
Thread = tuple[int, int]


class _Driver:
    """CPU samples of the driver's threads, in order of time, and their waits for a CPU."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], offset_ns: int) -> None:
        at, pid, tid, weight, is_spark = (np.array(column) for column in zip(*rows, strict=True))
        self.offset_ns, self.at = offset_ns, at + offset_ns
        self.threads, self.thread = np.unique(np.column_stack([pid, tid]), axis=0,
                                              return_inverse=True)  # fmt: skip
        self.thread = self.thread.reshape(-1)
        self.weight, self.is_spark = weight, is_spark.astype(bool)
        self.waits: dict[Thread, Readings] = {}

    def work(self, facts: Facts, one: Stretch) -> Work:
        """Say what the busiest thread did: of a stretch without samples that of the whole run."""
        inside = slice(*np.searchsorted(self.at, (one.start, one.end)))
        mine = self.thread[inside]
        busiest = int(np.bincount(mine if mine.size else self.thread).argmax())
        own = self.weight[inside][(mine == busiest) & self.is_spark[inside]]
        spark = min(float(own.sum()), float(one.length))
        error = Z * spark / math.sqrt(own.size) if own.size else 0.0
        pid, tid = self.threads[busiest].tolist()
        waited = self._waited(facts, (pid, tid), one)
        return Work(one.length, spark, error, min(waited, one.length - spark))

    def _waited(self, facts: Facts, thread: Thread, one: Stretch) -> float:
        """Give how long a thread was ready and had no CPU; between readings as between two."""
        if not facts.has("thread_counters"):
            return 0.0
        if thread not in self.waits:
            rows = facts.tables.query(_WAITS, thread)
            self.waits[thread] = (
                np.array([row[0] for row in rows], dtype=np.int64),
                np.array([row[1] for row in rows], dtype=np.float64),
            )
        times, delays = self.waits[thread]
        if times.size < 2:
            return 0.0
        ends = np.interp([one.start - self.offset_ns, one.end - self.offset_ns], times, delays)
        return max(0.0, float(ends[1] - ends[0]))


def _driver(facts: Facts) -> _Driver | None:
    """Give the driver's samples, which are read once; None where there are none."""
    kept = facts.scope.kept
    app = facts.measured.app_index if facts.measured else 0
    key = f"driver {app}"
    if key not in kept:
        offset = facts.scope.offset_ns
        rows = facts.tables.query(_SAMPLES, [app]) if facts.has("samples") else []
        kept[key] = None if offset is None or not rows else _Driver(rows, offset)
    found: _Driver | None = kept[key]
    return found
