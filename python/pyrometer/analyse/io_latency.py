"""Histograms of latencies of block requests and of calls that read files."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from pyrometer.analyse.model.waits import IoLatency, LatencyBucket, LatencyProcess
from pyrometer.analyse.scope import Scope
from pyrometer.estimate import Estimate

PROCESSES = 8
"""Processes named with each histogram."""
_Z95 = 1.959964
_METHOD = "power-of-two buckets; ranks by the normal approximation of the binomial"


def io_latency(scope: Scope) -> list[IoLatency]:
    """Tell latencies in the window, by kind, device and operation; none where nobody recorded them.

    A period of the probe that the window's edge cuts counts by the part of it that lies inside.

    Parameters
    ----------
    scope : Scope
        A run cut to a window.
    """
    if not scope.has("io_latency") or not scope.has_mono:
        return []
    define_latencies(scope)
    rows = scope.tables.query(
        "SELECT kind, device, operation, round(sum(sum_ns))::BIGINT, round(sum(bytes))::BIGINT"
        " FROM w_latency GROUP BY ALL ORDER BY kind, device, sum(sum_ns) DESC, operation"
    )
    buckets, processes = _buckets(scope), _processes(scope)
    return [
        _made(key, total, moved, buckets[key], processes)
        for *names, total, moved in rows
        if (key := (names[0], names[1], names[2])) in buckets
    ]


def define_latencies(scope: Scope) -> None:
    """Make ``w_latency``: the rows of the window, counts and sums cut at its edges."""
    scope.tables.define(
        "w_latency",
        """
        SELECT kind, device, operation, pid, low_ns, since_ns,
          count * part AS count, sum_ns * part AS sum_ns, bytes * part AS bytes
        FROM (SELECT l.*, greatest(l.begin_mono_ns, w.start_mono_ns) AS since_ns,
            (least(l.end_mono_ns, w.end_mono_ns) - greatest(l.begin_mono_ns, w.start_mono_ns))
              ::DOUBLE / greatest(l.end_mono_ns - l.begin_mono_ns, 1) AS part
          FROM io_latency l JOIN w
            ON l.begin_mono_ns < w.end_mono_ns AND l.end_mono_ns > w.start_mono_ns)
        """,
    )


_Key = tuple[str, str | None, str]


def _buckets(scope: Scope) -> dict[_Key, list[LatencyBucket]]:
    found: dict[_Key, list[LatencyBucket]] = {}
    # What is left of each bucket's count is carried to the next: together they are the whole.
    for kind, device, operation, low, count, total in scope.tables.query(
        "SELECT kind, device, operation, low_ns, count, total FROM ("
        " SELECT *, (upto - lag(upto, 1, 0) OVER w)::BIGINT AS count FROM ("
        "  SELECT *, round(sum(n) OVER w) AS upto FROM ("
        "   SELECT kind, device, operation, low_ns, sum(count) AS n,"
        "    round(sum(sum_ns))::BIGINT AS total FROM w_latency GROUP BY ALL)"
        "  WINDOW w AS (PARTITION BY kind, device, operation ORDER BY low_ns))"
        " WINDOW w AS (PARTITION BY kind, device, operation ORDER BY low_ns))"
        " WHERE count > 0 ORDER BY low_ns"
    ):
        bucket = LatencyBucket(low_ns=low, count=count, sum_ns=total)
        found.setdefault((kind, device, operation), []).append(bucket)
    return found


def _processes(scope: Scope) -> dict[_Key, list[LatencyProcess]]:
    found: dict[_Key, list[LatencyProcess]] = {}
    for kind, device, operation, pid, comm, count, total in scope.tables.query(
        "SELECT kind, device, operation, l.pid, any_value(c.comm), round(sum(count))::BIGINT,"
        " round(sum(sum_ns))::BIGINT FROM w_latency l LEFT JOIN"
        " (SELECT pid, last(comm) AS comm FROM thread_counters WHERE pid = tid GROUP BY pid) c"
        " ON c.pid = l.pid GROUP BY kind, device, operation, l.pid ORDER BY sum(sum_ns) DESC, l.pid"
    ):
        named = found.setdefault((kind, device, operation), [])
        if len(named) < PROCESSES:
            named.append(
                LatencyProcess(
                    pid=pid, comm="kernel" if pid == 0 else comm, count=count, sum_ns=total
                )
            )
    return found


def _made(
    key: _Key,
    total: int,
    moved: int | None,
    histogram: list[LatencyBucket],
    processes: dict[_Key, list[LatencyProcess]],
) -> IoLatency:
    kind, device, operation = key
    count = sum(bucket.count for bucket in histogram)
    return IoLatency(
        kind=kind,
        device=device,
        operation=operation,
        count=count,
        sum_ns=total,
        bytes=moved,
        mean_ns=total / count,
        p50_ns=quantile(histogram, 0.5),
        p99_ns=quantile(histogram, 0.99),
        buckets=histogram,
        processes=processes.get(key, []),
    )


def quantile(buckets: Sequence[LatencyBucket], part: float) -> Estimate:
    """Estimate a quantile of a histogram in powers of two.

    The value lies in the middle (on a logarithmic scale) of the bucket of its rank; the interval
    reaches from the lower end of the bucket of the lowest rank that the sampling error allows to
    the upper end of that of the highest.

    Examples
    --------
    >>> buckets = [LatencyBucket(low_ns=1024, count=99, sum_ns=0),
    ...            LatencyBucket(low_ns=65536, count=1, sum_ns=0)]
    >>> median = quantile(buckets, 0.5)
    >>> round(median.value), median.low, median.high, median.n
    (1448, 1024.0, 2048.0, 100)
    >>> quantile(buckets, 0.99).high
    131072.0
    """
    n = sum(bucket.count for bucket in buckets)
    if not n:
        return Estimate(value=None, low=None, high=None, level=0.95, n=0, method=_METHOD)
    spread = _Z95 * sqrt(n * part * (1 - part))
    low, middle, high = (_at(buckets, n * part + step) for step in (-spread, 0.0, spread))
    return Estimate(
        value=middle * sqrt(2), low=low, high=2.0 * high, level=0.95, n=n, method=_METHOD
    )


def _at(buckets: Sequence[LatencyBucket], rank: float) -> float:
    """Lower end of the bucket that holds a rank."""
    passed = 0
    for bucket in buckets:
        passed += bucket.count
        if rank <= passed:
            break
    return float(max(bucket.low_ns, 1))
