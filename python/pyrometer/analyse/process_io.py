"""Where bytes that processes read came from, and which of their threads read and wrote them."""

from __future__ import annotations

from pyrometer.analyse.io_latency import define_latencies
from pyrometer.analyse.model import CacheReads, ThreadIo
from pyrometer.analyse.scope import Scope

COUNTED = "bytes of read calls on files, less bytes fetched from block devices (T0)"
ESTIMATED = (
    "estimated: bytes of all read calls, pipes and sockets among them, less bytes fetched from"
    " block devices (/proc/PID/io)"
)
_FILE_CALLS = ("read", "pread64", "readv", "preadv", "preadv2")
_BYTES = ("rchar_bytes", "wchar_bytes", "read_bytes", "written_bytes")


def page_cache(scope: Scope, pids: str, asked: int | None, fetched: int | None) -> CacheReads:
    """Tell how much of what was read lay in the page cache.

    What block devices delivered (``fetched``) is counted for each process. What was asked for is
    counted where calls on files were traced; else it is estimated by ``asked``, the bytes of all
    read calls. Reads that pass by the cache (direct I/O) count as missed, those of mapped files
    only as far as they were missed: they ask by no call.

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

    Growth from a reading to the next is taken as even between them. A count that fell is that of
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
