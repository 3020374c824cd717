"""Running queries: one, or many in concurrent streams."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyrometer.workload.checksum import checksum
from pyrometer.workload.contract import PartResult

MOST_ERROR = 1000
"""Characters kept of why a query failed."""


def run_query(spark: Any, name: str, sql: str) -> PartResult:
    """Run one query with its name as the description of its jobs, and collect its result."""
    spark.sparkContext.setJobDescription(name)
    started = time.monotonic_ns()
    try:
        rows = [tuple(row) for row in spark.sql(sql).collect()]
    finally:
        ended = time.monotonic_ns()
        spark.sparkContext.setJobDescription(None)
    # A float's last digits depend on the order of additions: the checksum leaves them out.
    rounded = [[float(f"{v:.6g}") if isinstance(v, float) else v for v in row] for row in rows]
    return PartResult(name, len(rows), checksum(rounded), started, ended, rows)


def try_query(spark: Any, name: str, sql: str) -> PartResult:
    """Run one query; if it fails while Spark lives, a result that says why.

    Raises
    ------
    Exception
        What the query raised, if Spark ended with it: no other query could run.
    """
    started = time.monotonic_ns()
    try:
        return run_query(spark, name, sql)
    except Exception as error:
        if not _lives(spark):
            raise
        why = f"{type(error).__name__}: {error}"[:MOST_ERROR]
        return PartResult(name, 0, "", started, time.monotonic_ns(), error=why)


def _lives(spark: Any) -> bool:
    try:
        return not spark.sparkContext._jsc.sc().isStopped()
    except Exception:  # nobody answers: the JVM is gone
        return False


def stream_order(names: Sequence[str], stream: int) -> list[str]:
    """Order in which a stream runs the queries: a permutation that its number decides.

    Examples
    --------
    >>> sorted(stream_order(["q01", "q02", "q03"], 1))
    ['q01', 'q02', 'q03']
    """
    order = list(names)
    random.Random(stream).shuffle(order)  # noqa: S311 - an order, no secret
    return order


def run_streams(
    new_session: Callable[[], Any], texts: Mapping[str, str], streams: int
) -> list[PartResult]:
    """Run all queries in each of several streams at once.

    Parameters
    ----------
    new_session : callable
        Makes the session of a stream.
    texts : Mapping[str, str]
        Queries by name.
    streams : int
        How many streams; each has an order of its own.

    Returns
    -------
    list of PartResult
        In the order in which they started.

    Raises
    ------
    Exception
        The first with which Spark ended; other streams stop after the query that they are at.
    """
    from pyspark import InheritableThread

    done: list[PartResult] = []
    failed: list[BaseException] = []

    def stream(number: int) -> None:
        try:
            session = new_session()
            for name in stream_order(list(texts), number):
                if failed:
                    return
                done.append(try_query(session, name, texts[name]))
        except BaseException as error:
            failed.append(error)

    # Threads that inherit the local properties: jobs keep the number of their iteration.
    threads = [InheritableThread(target=stream, args=(n,), daemon=True) for n in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return sorted(done, key=lambda part: part.started_mono_ns)
