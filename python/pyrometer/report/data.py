"""From a summary and a run's tables to what the page shows: pure, and bounded in size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyrometer.report.axis import find_axis
from pyrometer.report.figures import key_figures
from pyrometer.report.flame import build_flame
from pyrometer.report.pack import Pack
from pyrometer.report.timeline import build_timeline
from pyrometer.store.tables import Tables

SCHEMA = "pyrometer/report/1"
# What is cut, and how much of it was cut, is told in the page.
MAX_STAGES = 2_000
MAX_EXECUTIONS = 100
MAX_PLAN_NODES = 20_000
MAX_TEXT = 4_000
MAX_LIST = 5_000


@dataclass(frozen=True)
class ReportData:
    """Everything that the page shows.

    Attributes
    ----------
    title : str
        Name of the workload or application, as its author gave it.
    content : dict
        JSON for the page (``pyrometer/report/1``).
    packs : dict of str to str
        Columns of numbers, encoded (see `pyrometer.report.pack`).
    """

    title: str
    content: dict[str, Any]
    packs: dict[str, str] = field(default_factory=dict)


def build(
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    tables: Tables | None,
    characterisation: Mapping[str, Any] | None = None,
    walked: Mapping[str, Any] | None = None,
) -> ReportData:
    """Collect what the page shows.

    Parameters
    ----------
    summary : mapping
        ``pyrometer show --json`` of the run.
    manifest : mapping
        ``manifest.json`` of the run; empty where there is none.
    tables : Tables or None
        The run's tables; None where they cannot be read, and then timeline and flame graph say so.
    characterisation : mapping or None
        ``pyrometer workloads characterise --json`` of the run of a suite, or a ``reason`` why there
        is none.
    walked : mapping or None
        Ledgers of stages and what is below them (`pyrometer.report.ledger.ledger_walk`).
    """
    cuts: list[str] = []
    shown = _bound(summary, cuts)
    timeline_pack, flame_pack = Pack(), Pack()
    if tables is None:
        timeline: dict[str, Any] = {"reason": "The tables of this run cannot be read."}
        flame: dict[str, Any] = dict(timeline)
    else:
        timeline = build_timeline(tables, manifest, timeline_pack)
        flame = build_flame(tables, flame_pack, find_axis(tables, manifest))
    title = _title(summary, manifest)
    content = {
        "schema": SCHEMA,
        "title": title,
        "figures": key_figures(summary),
        "summary": shown,
        "ledger_walk": _cut_texts(walked),
        "characterisation": _bound_queries(characterisation, cuts),
        "manifest": _environment(manifest),
        "timeline": timeline | {"columns": timeline_pack.directory},
        "flame": flame | {"columns": flame_pack.directory},
        "cuts": cuts,
    }
    clean: dict[str, Any] = _finite(content)
    packs = {"timeline": timeline_pack.encoded(), "flame": flame_pack.encoded()}
    return ReportData(title, clean, packs)


def alone(
    schema: str,
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    flame: Mapping[str, Any],
    pack: Pack,
    deep: Pack,
) -> ReportData:
    """Give the flame graph as a page of its own.

    Parameters
    ----------
    schema : str
        By which the page knows what it is.
    summary : mapping
        ``apps`` and ``window``, as in a summary.
    manifest : mapping
        ``manifest.json`` of the run; empty where there is none.
    flame, pack, deep
        What `pyrometer.report.flame.pack_flame` gave and filled.
    """
    title = _title(summary, manifest)
    content: dict[str, Any] = {
        "schema": schema,
        "title": title,
        "summary": dict(summary),
        "manifest": _environment(manifest),
        "flame": {**flame, "columns": pack.directory, "deep": deep.directory},
    }
    packs = {"flame": pack.encoded(), "flame-deep": deep.encoded()}
    return ReportData(title, _finite(content), packs)


def _title(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    workload = (manifest.get("workload") or {}).get("name") or (summary.get("run") or {}).get(
        "workload"
    )
    if isinstance(workload, Mapping):
        workload = workload.get("name")
    names = [app.get("app_name") for app in summary.get("apps") or []]
    command = (manifest.get("workload") or {}).get("command") or []
    return str(workload or next((n for n in names if n), None) or " ".join(command) or "Spark run")


def _environment(manifest: Mapping[str, Any]) -> dict[str, Any]:
    keys = (
        "run_id", "pyrometer_version", "created_wall_ns", "started_wall_ns", "ended_wall_ns",
        "state", "exit", "workload", "treatment", "treatment_origin", "profile", "iterations",
        "warmup", "host", "versions", "conf_overlay", "probes", "results",
    )  # fmt: skip
    return {key: _cut_texts(manifest[key]) for key in keys if key in manifest}


def _bound(summary: Mapping[str, Any], cuts: list[str]) -> dict[str, Any]:
    shown = dict(summary)
    stages = list(summary.get("stages") or [])
    if len(stages) > MAX_STAGES:
        cuts.append(f"stages: the {MAX_STAGES:,} with most task time of {len(stages):,}")
        stages = sorted(stages, key=_task_time, reverse=True)[:MAX_STAGES]
        stages.sort(key=lambda s: (s.get("app_index") or 0, s.get("stage_id") or 0))
    shown["stages"] = stages
    shown["sql"] = _bound_sql(list(summary.get("sql") or []), cuts)
    for key, value in shown.items():
        if isinstance(value, list) and len(value) > MAX_LIST:
            cuts.append(f"{key}: the first {MAX_LIST:,} of {len(value):,}")
            shown[key] = value[:MAX_LIST]
    return {key: _cut_texts(value) for key, value in shown.items()}


def _bound_queries(found: Mapping[str, Any] | None, cuts: list[str]) -> Any:
    parts = list((found or {}).get("parts") or [])
    if len(parts) > MAX_STAGES:
        cuts.append(f"queries: the first {MAX_STAGES:,} of {len(parts):,}")
    return found and _cut_texts({**found, "parts": parts[:MAX_STAGES]})


def _task_time(stage: Mapping[str, Any]) -> int:
    return int(
        (stage.get("totals") or {}).get("executor_run_time_ns") or stage.get("duration_ns") or 0
    )


def _bound_sql(executions: list[dict[str, Any]], cuts: list[str]) -> list[dict[str, Any]]:
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


def _cut_texts(value: Any) -> Any:
    """Give the same value with every string cut to what a person may read, told in the string."""
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]} … (cut: {len(value):,} characters)"
    if isinstance(value, dict):
        return {str(key): _cut_texts(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cut_texts(item) for item in value]
    return value


def _finite(value: Any) -> Any:
    """NaN and infinities as None: JSON has no word for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        return _finite(value.item())
    return value
