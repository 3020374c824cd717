"""The key figures at the head of the page: each with its interval or n, or why it is missing."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from scipy.special import stdtrit

Figure = dict[str, Any]
LEVEL = 0.95


def key_figures(summary: Mapping[str, Any]) -> list[Figure]:
    """Figures of the window, from the summary alone.

    Returns
    -------
    list of dict
        ``{label, value, unit, low, high, n, method, note, help, reason}``; ``unit`` is ns, bytes,
        count, ratio or MB/s. ``value`` is None exactly where ``reason`` is set.
    """
    totals = summary.get("totals") or {}
    failed = (summary.get("failed") or {}).get("totals") or {}
    cpu, io, gc = (summary.get(key) or {} for key in ("cpu", "io", "gc"))
    return [
        _elapsed(summary),
        _figure(
            "Task CPU",
            totals.get("executor_cpu_time_ns"),
            "ns",
            "CPU time that Spark counts for task threads, over the window.",
            note=_of(
                totals.get("executor_cpu_time_ns"),
                totals.get("executor_run_time_ns"),
                "of task run time",
            ),
            reason="No task of the window carries CPU metrics.",
        ),
        _figure(
            "Process CPU",
            cpu.get("process_cpu_ns"),
            "ns",
            "CPU time of the application's processes as the kernel counts it: tasks and everything "
            "that Spark does not count (GC, JIT, helper threads, driver).",
            note=_times(cpu.get("ratio"), "× the CPU that Spark counts"),
            reason=cpu.get("reason") or "The OS probe did not run.",
        ),
        _figure(
            "Bytes processed",
            _trusted_bytes(io),
            "bytes",
            "Bytes of input, by the source that can be trusted most in this run.",
            note=_bytes_note(io),
            reason=io.get("reason") or "No task reported input.",
        ),
        _figure(
            "Throughput per core",
            io.get("mb_per_s_per_core"),
            "MB/s",
            "Bytes processed over the run time of tasks: what one busy slot gets through.",
            reason=io.get("reason") or "Needs input bytes and task run time.",
        ),
        _figure(
            "GC pauses",
            gc.get("pause_total_ns"),
            "ns",
            "Time during which the garbage collector stopped all Java threads.",
            note=_gc_note(gc),
            n=gc.get("pauses_count"),
            reason=gc.get("reason") or "The run has no GC log.",
        ),
        _figure(
            "Tasks",
            totals.get("tasks_count"),
            "count",
            "Task attempts that ended successfully in the window.",
            note=f"{failed['tasks_count']:,} failed or killed"
            if failed.get("tasks_count")
            else None,
            reason="The event log holds no finished task.",
        ),
        _figure(
            "Shuffle written",
            totals.get("shuffle_written_bytes"),
            "bytes",
            "Bytes that tasks wrote for later stages.",
            note=_spill_note(totals),
            reason="No task of the window carries shuffle metrics.",
        ),
    ]


def _elapsed(summary: Mapping[str, Any]) -> Figure:
    iterations = summary.get("iterations") or []
    if not iterations:
        return _figure(
            "Elapsed",
            (summary.get("totals") or {}).get("elapsed_ns"),
            "ns",
            "From the first submission of a stage to the last completion of one.",
            reason="No stage of the window ended.",
        )
    text = (
        "Wall time of one measured iteration. The interval speaks of iterations inside this one "
        "launch; how launches differ needs an experiment."
    )
    measured = [
        float(i["elapsed_ns"])
        for i in iterations
        if not i.get("warmup")
        and i.get("elapsed_ns") is not None
        and i.get("status") in (None, "success")
    ]
    warmups = sum(1 for i in iterations if i.get("warmup"))
    figure = _figure(
        "Elapsed per iteration",
        sum(measured) / len(measured) if measured else None,
        "ns",
        text,
        n=len(measured),
        note=f"{warmups} warm-up not counted" if warmups else None,
        reason="No measured iteration ended.",
    )
    if len(measured) > 1:
        mean, spread = figure["value"], statistics.stdev(measured) / len(measured) ** 0.5
        half = float(stdtrit(len(measured) - 1, (1 + LEVEL) / 2)) * spread
        figure |= {"low": mean - half, "high": mean + half, "method": "mean, t interval 95 %"}
    return figure


def _figure(
    label: str,
    value: Any,
    unit: str,
    text: str,
    *,
    reason: str,
    note: str | None = None,
    n: int | None = None,
) -> Figure:
    low = high = method = None
    if isinstance(value, Mapping):
        low, high, method = value.get("low"), value.get("high"), value.get("method")
        n = value.get("n") if n is None else n
        value = value.get("value")
    missing = value is None
    return {
        "label": label,
        "value": value,
        "unit": unit,
        "low": low,
        "high": high,
        "n": n,
        "method": method,
        "note": None if missing else note,
        "help": text,
        "reason": reason if missing else None,
    }


def _number(value: Any) -> Any:
    return value.get("value") if isinstance(value, Mapping) else value


def _of(part: Any, whole: Any, words: str) -> str | None:
    return f"{100 * part / whole:.1f} % {words}" if part is not None and whole else None


def _times(ratio: Any, words: str) -> str | None:
    value = _number(ratio)
    return f"{value:.2f} {words}" if value is not None else None


_SOURCES = {
    "input_bytes": "Spark's counter",
    "scan_files_size_bytes": "size of the files read",
    "process_read_chars_bytes": "read calls of the process",
}


def _trusted_bytes(io: Mapping[str, Any]) -> Any:
    """Bytes by the field that ``bytes_source`` names first, else Spark's own counter."""
    field = str(io.get("bytes_source") or "").partition(":")[0]
    return _number(io.get(field if io.get(field) is not None else "input_bytes"))


def _bytes_note(io: Mapping[str, Any]) -> str | None:
    parts = []
    if io.get("bytes_source"):
        field, _, why = str(io["bytes_source"]).partition(": ")
        parts.append(_SOURCES.get(field, field.replace("_", " ")))
        if field != "input_bytes" and why:
            parts.append(why)
    cached = _number(io.get("page_cache_ratio"))
    if cached is not None:
        source = str((io.get("page_cache") or {}).get("source") or "")
        how = ", estimated" if source.startswith("estimated") else ""
        parts.append(f"{100 * cached:.1f} % from page cache{how}")
    return " · ".join(parts) or None


def _gc_note(gc: Mapping[str, Any]) -> str | None:
    if not gc.get("pauses_count"):
        return None
    longest = gc.get("pause_max_ns")
    return None if longest is None else f"longest {longest / 1e6:,.1f} ms"


def _spill_note(totals: Mapping[str, Any]) -> str | None:
    spilled = totals.get("disk_spilled_bytes")
    return f"{spilled / 1e6:,.0f} MB spilled to disk" if spilled else None
