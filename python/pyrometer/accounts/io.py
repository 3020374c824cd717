"""Bytes read, three ways: Spark's counter, the process's, and the size of the scan's files.

Histograms of latencies of block requests and of calls that read files.

Where bytes that processes read came from, and which of their threads read and wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import sqrt

from pyrometer.accounts.cpu import NO_CLOCK, NO_PROBE, OWN_PROCESS
from pyrometer.accounts.disks import disks
from pyrometer.accounts.machine_schema import CacheReads, Io, ThreadIo
from pyrometer.accounts.schema import Totals
from pyrometer.accounts.waits.schema import IoLatency, LatencyBucket, LatencyProcess
from pyrometer.core import schema, units
from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.core.process_numbers import own_number
from pyrometer.window.counters import define_busy_series, growth
from pyrometer.window.scope import Scope

UNDERCOUNTED = "input_bytes_undercounted"
"""Code of the doubt about what Spark missed of the input."""
FEWEST_BYTES_OF_A_ROW = 0.5
"""Bytes of input for each row below which Spark's count is taken to miss what vectored reads fetch:
the columns of a row have more, unless nearly all of their values are equal. Assumed."""
PROCESSES = 8
"""Processes named with each histogram."""
_Z95 = 1.959964
_METHOD = "power-of-two buckets; ranks by the normal approximation of the binomial"


def io_latency(scope: Scope) -> list[IoLatency]:
    """Summarise latencies in the window, by kind, device and operation, where they were recorded.

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
        _rows_of_io(key, total, moved, buckets[key], processes)
        for *names, total, moved in rows
        if (key := (names[0], names[1], names[2])) in buckets
    ]


def define_latencies(scope: Scope) -> None:
    """Define ``w_latency``: the rows of the window, counts and sums cut at its edges."""
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
    # The rounding error of each bucket is carried to the next, so that their sum is exact.
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
                    pid=own_number(pid),
                    comm="kernel" if pid == 0 else comm,
                    count=count,
                    sum_ns=total,
                )
            )
    return found


def _rows_of_io(
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


COUNTED = "bytes of read calls on files, less bytes fetched from block devices (T0)"
ESTIMATED = (
    "estimated: bytes of all read calls, pipes and sockets among them, less bytes fetched from"
    " block devices (/proc/PID/io)"
)
_FILE_CALLS = ("read", "pread64", "readv", "preadv", "preadv2")
_BYTES = ("rchar_bytes", "wchar_bytes", "read_bytes", "written_bytes")


def page_cache(scope: Scope, pids: str, asked: int | None, fetched: int | None) -> CacheReads:
    """Give the part of what was read that lay in the page cache.

    What block devices delivered (``fetched``) is counted for each process. What was asked for is
    counted where calls on files were traced; else it is estimated by ``asked``, the bytes of all
    read calls. Reads that pass by the cache (direct I/O) count as missed, those of mapped files
    only as far as they were missed, as they make no call.

    Parameters
    ----------
    scope : Scope
        A run cut to a window.
    pids : str
        Query of the processes that count.
    asked, fetched : int or None
        Growth of their ``rchar_bytes`` and ``read_bytes``.
    """
    if asked is None or fetched is None:
        return CacheReads(reason="the probe read no /proc/PID/io of these processes")
    counted = _asked_of_files(scope, pids)
    asked, source = (asked, ESTIMATED) if counted is None else (counted, COUNTED)
    if not asked:
        return CacheReads(source=source, reason="nothing was read in this window")
    missed = min(fetched, asked)
    return CacheReads(
        hit_bytes=asked - missed, missed_bytes=missed, ratio=1 - missed / asked, source=source
    )


def _asked_of_files(scope: Scope, pids: str) -> int | None:
    """Bytes of read calls on files; ``None`` where nobody traced these."""
    if not scope.has("io_latency"):
        return None
    define_latencies(scope)
    traced, moved = scope.tables.query(
        f"SELECT (SELECT count(*) FROM io_latency WHERE kind = 'read' AND bytes > 0),"
        f" coalesce(round(sum(bytes)), 0)::BIGINT FROM w_latency"
        f" WHERE kind = 'read' AND operation IN {_FILE_CALLS} AND pid IN ({pids})"
    )[0]
    return int(moved) if traced else None


def threads(scope: Scope) -> list[ThreadIo]:
    """Sum what threads of each role read and wrote in the window, as far as they were seen.

    Growth between two readings is taken as linear. A count that fell is that of
    another thread under the same number.
    """
    grown = ", ".join(map(_growth, _BYTES))
    sums = ", ".join(f"round(sum({c} * inside))::BIGINT" for c in _BYTES)
    rows = scope.tables.query(
        f"""
        WITH steps AS (
          SELECT pid, tid, t_mono_ns AS t,
            lag(t_mono_ns) OVER (PARTITION BY pid, tid ORDER BY t_mono_ns) AS t0, {grown}
          FROM thread_counters WINDOW past AS (PARTITION BY pid, tid ORDER BY t_mono_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
        cut AS (
          SELECT s.*, (least(s.t, w.end_mono_ns) - greatest(s.t0, w.start_mono_ns))::DOUBLE
              / greatest(s.t - s.t0, 1) AS inside
          FROM steps s JOIN w ON s.t > w.start_mono_ns AND s.t0 < w.end_mono_ns
          WHERE s.rchar_bytes IS NOT NULL OR s.read_bytes IS NOT NULL)
        SELECT u.role, count(DISTINCT (pid, tid)), {sums}
        FROM cut JOIN w_threads u USING (pid, tid) GROUP BY 1 ORDER BY 3 DESC, 1
        """
    )
    names = ("role", "threads_count", *_BYTES)
    return [ThreadIo(**dict(zip(names, row, strict=True))) for row in rows]


def _growth(column: str) -> str:
    before = f"last_value({column} IGNORE NULLS) OVER past"
    return f"CASE WHEN {column} >= {before} THEN {column} - {before} END AS {column}"


FILES_METRIC = "size of files read"
TRUSTED = {
    "process_read_chars_bytes": "by read calls",
    "scan_files_size_bytes": "in the scan's files",
}
"""Fields of `Io` to read where Spark counts too little, in words that follow the number."""
# Other reads than the scan's while stages run: few once warm, class files when cold.
_SLACK_BYTES = {True: 1 << 20, False: 32 << 20}
_FAR_FEWER = 0.5


def io(scope: Scope, succeeded: Totals, failed: Totals) -> tuple[Io, list[Doubt]]:
    """Compare the three, choose the one to trust, and doubt Spark's where it counts too little."""
    spark = succeeded.get("input_bytes")
    if spark is not None:
        spark += failed.get("input_bytes") or 0
    files = scan_files_bytes(scope)
    chars, device, reason = _process_reads(scope)
    doubts = []
    missed = None
    if spark is not None:
        missed = _undercounted(scope, spark, chars, files, succeeded)
    if missed:
        doubts.append(schema.doubt(UNDERCOUNTED, missed))
    trusted, source = _trusted(spark, chars, files, bool(missed))
    run = (succeeded.get("executor_run_time_ns") or 0) + (failed.get("executor_run_time_ns") or 0)
    cache = page_cache(scope, _pids(scope), chars, device)
    answer = Io(
        input_bytes=spark,
        process_read_chars_bytes=chars,
        process_read_bytes=device,
        scan_files_size_bytes=files,
        page_cache_ratio=cache.ratio,
        page_cache=cache,
        threads=threads(scope) if scope.has_mono else [],
        disks=disks(scope),
        mb_per_s_per_core=trusted / 1e6 / (run / 1e9) if trusted and run else None,
        bytes_source=source if trusted else None,
        reason=reason,
    )
    return answer, doubts


def scan_files_bytes(scope: Scope) -> int | None:
    """Sum of the metric 'size of files read' of the scans of final plans in the window."""
    found = scope.tables.scalar(
        "SELECT sum(value)::BIGINT FROM ("
        " SELECT max(m.value_sum) AS value FROM node_metrics m"
        " SEMI JOIN plan_nodes n ON n.is_final AND m.app_index = n.app_index"
        "  AND m.sql_id = n.sql_id AND m.plan_version = n.plan_version AND m.node_id = n.node_id"
        " SEMI JOIN w_sql q ON m.app_index = q.app_index AND m.sql_id = q.sql_id"
        f" WHERE m.metric = '{FILES_METRIC}' GROUP BY m.app_index, m.accumulator_id)"
    )
    return None if found is None else int(found)


def _process_reads(scope: Scope) -> tuple[int | None, int | None, str | None]:
    if not scope.has("os_series"):
        return None, None, NO_PROBE
    if not scope.has_mono:
        return None, None, NO_CLOCK
    found = growth(scope, f"{_readers(scope)} AND name IN ('rchar_bytes', 'read_bytes')")
    if "rchar_bytes" not in found:
        return None, None, "the probe could not read /proc/PID/io of the Spark processes"
    return found["rchar_bytes"], found.get("read_bytes"), None


def _readers(scope: Scope) -> str:
    """Choose the processes whose bytes count: the application's JVMs, else all followed ones."""
    if scope.has("processes"):
        return "scope IN (SELECT 'process/' || pid FROM processes)"
    # Disks have series of these names, too.
    own = f"SELECT 'process/' || pid FROM ({OWN_PROCESS})"
    return f"scope LIKE 'process/%' AND scope NOT IN ({own})"


def _pids(scope: Scope) -> str:
    """Give those processes by their numbers."""
    if scope.has("processes"):
        return "SELECT pid FROM processes"
    return f"SELECT pid FROM thread_counters EXCEPT ({OWN_PROCESS})"


def _reads_of_stages(scope: Scope) -> int:
    define_busy_series(scope)
    where = f"{_readers(scope)} AND name = 'rchar_bytes'"
    return growth(scope, where, "b_series").get("rchar_bytes", 0)


def _undercounted(
    scope: Scope, spark: int, chars: int | None, files: int | None, totals: Totals
) -> str | None:
    """Say what Spark missed, or ``None`` where its count may be right."""
    if chars is not None:
        other = (totals.get("shuffle_read_total_bytes") or 0) + (
            totals.get("disk_spilled_bytes") or 0
        )
        warm = scope.window.is_part
        read = _reads_of_stages(scope) - other - _SLACK_BYTES[warm]
        if files is None or files == 0 or read <= 0 or spark >= _FAR_FEWER * min(read, files):
            return None
        return (
            f"Spark counts {units.size(spark)} of input; the process read {units.size(chars)}"
            f" and the scan's files hold {units.size(files)}"
        )
    records = totals.get("input_records_count") or 0
    if not files or not records or spark >= 0.1 * files or spark / records > FEWEST_BYTES_OF_A_ROW:
        return None
    if not _vectored_reads(scope):
        return None
    return (
        f"Spark counts {units.size(spark)} of input for {units.count(records)} records,"
        f" the scan's files hold {units.size(files)}; no probe ran that could show which is right"
    )


def _vectored_reads(scope: Scope) -> bool:
    rows = scope.tables.query("SELECT spark_version, spark_conf FROM apps")
    off = 'parquet.hadoop.vectored.io.enabled":"false"'
    return any(
        re.match(r"[4-9]|[1-9]\d", version or "") is not None
        and off not in (conf or "").replace(" ", "")
        for version, conf in rows
    )


def _trusted(
    spark: int | None, chars: int | None, files: int | None, missed: bool
) -> tuple[int | None, str]:
    if not missed:
        return spark, "input_bytes: Spark's counter"
    if chars is not None:
        if files is not None and files < chars:
            return files, "scan_files_size_bytes: Spark counts too little; the process read more"
        return chars, "process_read_chars_bytes: Spark counts too little"
    return files, "scan_files_size_bytes: Spark counts too little, and no probe ran"
