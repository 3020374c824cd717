"""Bytes read, three ways: Spark's counter, the process's own, and the size of the scan's files."""

from __future__ import annotations

import re

from pyrometer import schema, units
from pyrometer.analyse.counters import define_busy_series, growth
from pyrometer.analyse.cpu import NO_CLOCK, NO_PROBE, OWN_PROCESS
from pyrometer.analyse.model import Io, Totals
from pyrometer.analyse.process_io import page_cache, threads
from pyrometer.analyse.scope import Scope
from pyrometer.doubt import Doubt

FILES_METRIC = "size of files read"
# Reads while stages run that are not the scan's: few once warm, class files when cold.
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
        doubts.append(schema.doubt("input_bytes_undercounted", missed))
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
        mb_per_s_per_core=trusted / 1e6 / (run / 1e9) if trusted and run else None,
        bytes_source=source if trusted else None,
        reason=reason,
    )
    return answer, doubts


def scan_files_bytes(scope: Scope) -> int | None:
    """Sum of the scans' own 'size of files read', of final plans, in the window."""
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
    """Choose processes whose bytes count: the application's JVMs, else all that were followed."""
    if scope.has("processes"):
        return "scope IN (SELECT 'process/' || pid FROM processes)"
    return f"scope NOT IN (SELECT 'process/' || pid FROM ({OWN_PROCESS}))"


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
        warm = bool(scope.window.iterations)
        read = _reads_of_stages(scope) - other - _SLACK_BYTES[warm]
        if files is None or files == 0 or read <= 0 or spark >= _FAR_FEWER * min(read, files):
            return None
        return (
            f"Spark counts {units.size(spark)} of input; the process read {units.size(chars)}"
            f" and the scan's files hold {units.size(files)}"
        )
    records = totals.get("input_records_count") or 0
    if not files or not records or spark >= 0.1 * files or spark / records > 0.5:
        return None
    if not _vectored_reads(scope):
        return None
    return (
        f"Spark counts {units.size(spark)} of input for {units.count(records)} records,"
        f" the scan's files hold {units.size(files)}; no probe ran that could tell"
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
