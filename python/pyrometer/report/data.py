"""From a summary and a run's tables to what the page shows: pure, and bounded in size.

The key figures at the head of the page: each with its interval or n, or why it is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyrometer.core import units
from pyrometer.flame.pack import build_flame
from pyrometer.pages.axis import find_axis
from pyrometer.pages.columns import Pack
from pyrometer.pages.page import ReportData, _cut_texts, _environment, _finite, _title
from pyrometer.report.absent import absent
from pyrometer.statistics.warmup import mean_estimate
from pyrometer.store.tables import Tables
from pyrometer.timeline.timeline import build_timeline

Figure = dict[str, Any]


def key_figures(summary: Mapping[str, Any]) -> list[Figure]:
    """Figures of the window, from the summary alone.

    Returns
    -------
    list of dict
        ``{label, value, unit, low, high, n, method, note, help, reason, disputed}``; ``unit`` is
        ns, bytes, count, ratio or bytes/s. ``value`` is None exactly where ``reason`` is set.
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
            disputed=_disputed(summary, "totals.executor_cpu_time_ns"),
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
            "Bytes of input, from the most reliable source in this run.",
            note=_bytes_note(io),
            reason=io.get("reason") or "No task reported input.",
        ),
        _figure(
            "Throughput per core",
            _per_second(io.get("mb_per_s_per_core")),
            "bytes/s",
            "Bytes processed divided by the run time of tasks: the throughput of one busy slot.",
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
            note=f"{units.count(failed['tasks_count'])} failed or killed"
            if failed.get("tasks_count")
            else None,
            reason="The event log holds no finished task.",
            disputed=_disputed(summary, "totals.tasks_count"),
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


def _disputed(summary: Mapping[str, Any], field: str) -> Mapping[str, Any] | None:
    """Give what contradicts the number of a figure: what to read instead, from where, and why."""
    for one in summary.get("disputed") or ():
        if one["field"] == field:
            return {key: one[key] for key in ("better", "better_source", "why")}
    return None


def _elapsed(summary: Mapping[str, Any]) -> Figure:
    window = summary.get("window") or {}
    iterations = summary.get("iterations") or []
    if not window.get("iterations"):
        whole = (summary.get("elapsed") or {}).get("total_ns")
        return _figure(
            "Elapsed",
            window.get("length_ns") or None if whole is None else whole,
            "ns",
            "From the start of the application to its end, or as far as its log goes.",
            reason="The log has no times.",
        )
    text = (
        "Wall time of one measured iteration. The interval covers iterations of this launch; the "
        "variation between launches needs an experiment."
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
        mean = mean_estimate(measured)
        figure |= {"low": mean.low, "high": mean.high, "method": "mean, t interval 95 %"}
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
    disputed: Mapping[str, Any] | None = None,
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
        "disputed": None if missing else disputed,
    }


def _number(value: Any) -> Any:
    return value.get("value") if isinstance(value, Mapping) else value


def _per_second(megabytes: Any) -> Any:
    """Bytes per second of a value or an estimate in units of 10⁶ bytes."""
    if isinstance(megabytes, Mapping):
        ends = {key: _per_second(megabytes.get(key)) for key in ("value", "low", "high")}
        return {**megabytes, **ends}
    return None if megabytes is None else megabytes * 1e6


def _of(part: Any, whole: Any, words: str) -> str | None:
    return f"{units.percent(part / whole)} {words}" if part is not None and whole else None


def _times(ratio: Any, words: str) -> str | None:
    value = _number(ratio)
    return f"{units.digits(value)} {words}" if value is not None else None


_SOURCES = {
    "input_bytes": "Spark's counter",
    "scan_files_size_bytes": "size of the files read",
    "process_read_chars_bytes": "read calls of the process",
}


def _trusted_bytes(io: Mapping[str, Any]) -> Any:
    """Bytes by the field that ``bytes_source`` names first, else Spark's counter."""
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
    if cached is not None and _trusted_bytes(io):
        source = str((io.get("page_cache") or {}).get("source") or "")
        how = ", estimated" if source.startswith("estimated") else ""
        parts.append(f"{units.percent(cached)} from page cache{how}")
    return " · ".join(parts) or None


def _gc_note(gc: Mapping[str, Any]) -> str | None:
    if not gc.get("pauses_count"):
        return None
    longest = gc.get("pause_max_ns")
    return None if longest is None else f"longest {units.duration(longest)}"


def _spill_note(totals: Mapping[str, Any]) -> str | None:
    spilled = totals.get("disk_spilled_bytes")
    return f"{units.size(spilled)} spilled to disk" if spilled else None


SCHEMA = "pyrometer/report/1"
# What is cut, and how much of it was cut, is shown in the page.
MAX_STAGES = 2_000
MAX_EXECUTIONS = 100
MAX_PLAN_NODES = 20_000
MAX_LIST = 5_000


@dataclass(frozen=True)
class Drawn:
    """What the page draws of a run's tables.

    Attributes
    ----------
    timeline, flame : dict
        `pyrometer.timeline.timeline.build_timeline` and `pyrometer.flame.pack.build_flame`.
    packs : dict of str to str
        Their columns, encoded (see `pyrometer.pages.columns`).
    """

    timeline: dict[str, Any]
    flame: dict[str, Any]
    packs: dict[str, str]


def draw(tables: Tables | None, manifest: Mapping[str, Any]) -> Drawn:
    """Draw timeline and flame graph; None where the tables cannot be read, and then both say so."""
    timeline_pack, flame_pack = Pack(), Pack()
    if tables is None:
        timeline: dict[str, Any] = {"reason": "The tables of this run cannot be read."}
        flame: dict[str, Any] = dict(timeline)
    else:
        axis = find_axis(tables, manifest)
        timeline = build_timeline(tables, axis, timeline_pack)
        flame = build_flame(tables, flame_pack, axis)
    return Drawn(
        timeline | {"columns": timeline_pack.directory},
        flame | {"columns": flame_pack.directory},
        {"timeline": timeline_pack.encoded(), "flame": flame_pack.encoded()},
    )


def build(
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    tables: Tables | Drawn | None,
    characterisation: Mapping[str, Any] | None = None,
    walked: Mapping[str, Any] | None = None,
    findings: Mapping[str, Any] | None = None,
) -> ReportData:
    """Collect what the page shows.

    Parameters
    ----------
    summary : mapping
        ``pyrometer show --json`` of the run.
    manifest : mapping
        ``manifest.json`` of the run; empty where there is none.
    tables : Tables, Drawn or None
        The run's tables, or what was drawn of them; None where they cannot be read, and then
        timeline and flame graph say so.
    characterisation : mapping or None
        ``pyrometer workloads characterise --json`` of the run of a suite, or a ``reason`` why there
        is none.
    walked : mapping or None
        Ledgers of stages and what is below them (`pyrometer.accounts.ledger.walk.ledger_walk`).
    findings : mapping or None
        What would make the run faster (`pyrometer.report.findings`).
    """
    cuts: list[str] = []
    drawn = tables if isinstance(tables, Drawn) else draw(tables, manifest)
    shown = _truncated(summary, cuts)
    title = _title(summary, manifest)
    figures = key_figures(summary)
    content = {
        "schema": SCHEMA,
        "title": title,
        "figures": [figure for figure in figures if not figure["reason"]],
        "absent": absent(summary, figures, drawn.flame),
        "summary": shown,
        "findings": findings,
        "ledger_walk": _cut_texts(walked),
        "characterisation": _truncated_queries(characterisation, cuts),
        "manifest": _truncated_lists(_environment(manifest), cuts),
        "timeline": drawn.timeline,
        "flame": drawn.flame,
        "cuts": cuts,
    }
    clean: dict[str, Any] = _finite(content)
    return ReportData(title, clean, dict(drawn.packs))


def _truncated(summary: Mapping[str, Any], cuts: list[str]) -> dict[str, Any]:
    shown = dict(summary)
    stages = list(summary.get("stages") or [])
    if len(stages) > MAX_STAGES:
        cuts.append(f"stages: the {MAX_STAGES:,} with most task time of {len(stages):,}")
        stages = sorted(stages, key=_task_time, reverse=True)[:MAX_STAGES]
        stages.sort(key=lambda s: (s.get("app_index") or 0, s.get("stage_id") or 0))
    shown["stages"] = _with_slim_tasks(stages)
    shown["sql"] = _truncated_sql(list(summary.get("sql") or []), cuts)
    return {key: _cut_texts(value) for key, value in _truncated_lists(shown, cuts).items()}


def _truncated_lists(shown: dict[str, Any], cuts: list[str]) -> dict[str, Any]:
    for key, value in shown.items():
        if isinstance(value, list) and len(value) > MAX_LIST:
            cuts.append(f"{key}: the first {MAX_LIST:,} of {len(value):,}")
            shown[key] = value[:MAX_LIST]
    return shown


def _with_slim_tasks(stages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out of the rows of tasks what is not known; what is 0 stays."""
    slim = []
    for stage in stages:
        rows = {
            name: [_known(row) for row in value]
            if name in ("slowest", "executors", "hosts")
            else value
            for name, value in (stage.get("tasks") or {}).items()
        }
        slim.append({**stage, "tasks": rows or None})
    return slim


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None and value is not False}


def _truncated_queries(found: Mapping[str, Any] | None, cuts: list[str]) -> Any:
    parts = list((found or {}).get("parts") or [])
    if len(parts) > MAX_STAGES:
        cuts.append(f"queries: the first {MAX_STAGES:,} of {len(parts):,}")
    return found and _cut_texts({**found, "parts": parts[:MAX_STAGES]})


def _task_time(stage: Mapping[str, Any]) -> int:
    return int(
        (stage.get("totals") or {}).get("executor_run_time_ns") or stage.get("duration_ns") or 0
    )


def _truncated_sql(executions: list[dict[str, Any]], cuts: list[str]) -> list[dict[str, Any]]:
    """Plans of the longest executions; the others keep their row without a plan."""
    heaviest = sorted(
        range(len(executions)), key=lambda i: -(executions[i].get("duration_ns") or 0)
    )
    kept: set[int] = set()
    nodes = 0
    for i in heaviest[:MAX_EXECUTIONS]:
        nodes += len(executions[i].get("nodes") or [])
        if nodes > MAX_PLAN_NODES and kept:
            break
        kept.add(i)
    if len(kept) < len(executions):
        cuts.append(
            f"plans: those of the {len(kept):,} longest of {len(executions):,} SQL executions"
        )
    return [
        execution if i in kept else {**execution, "nodes": [], "nodes_cut": True}
        for i, execution in enumerate(executions)
    ]
