"""What a run on a cluster says of itself, beside what Spark's own event log says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.cluster.beds import ROOT
from pyrometer.store import Run

VIEW_TASK = "task"
READ_S = 1800.0
"""Most that a verb may take to read a run."""


def said(run: Path, *verb: str) -> dict[str, Any]:
    """Give what a verb of the command line says of a run, as JSON.

    Raises
    ------
    subprocess.CalledProcessError
        If it fails.
    subprocess.TimeoutExpired
        If it takes longer than `READ_S`.
    """
    done = subprocess.run(
        [sys.executable, "-m", "pyrometer", *verb, "--json", str(run)],
        capture_output=True, text=True, check=True, timeout=READ_S,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def row_ns(view: dict[str, Any], path: str) -> int | None:
    """Give the value of a row of a view; ``None`` where it has none.

    Examples
    --------
    >>> row_ns({"rows": [{"path": "task", "value_ns": 3}]}, "task"), row_ns({"rows": []}, "task")
    (3, None)
    """
    return next((row["value_ns"] for row in view.get("rows", []) if row["path"] == path), None)


def executors(opened: Run) -> dict[str, int]:
    """Count executors that ran tasks, and those of them whose tasks and threads were recorded."""
    ran = "SELECT DISTINCT executor_id FROM tasks WHERE executor_id IS NOT NULL"
    seen = {
        "ran": f"SELECT count(*) FROM ({ran})",
        "recorded": f"SELECT count(DISTINCT executor_id) FROM spans WHERE executor_id IN ({ran})",
        "probed": "SELECT count(DISTINCT executor_id) FROM processes p WHERE executor_id IN"
        f" ({ran}) AND EXISTS (SELECT 1 FROM thread_counters c WHERE c.host = p.host"
        " AND c.pid = p.pid)",
    }
    return {name: int(opened.tables.scalar(query) or 0) for name, query in seen.items()}


def orphans(opened: Run) -> dict[str, int]:
    """Count samples of task threads that belong to no process known, and those of all."""
    query = (
        "SELECT count(*) FILTER (p.pid IS NULL), count(*) FROM samples x LEFT JOIN processes p"
        " ON p.host = x.host AND p.pid = x.pid WHERE x.role = 'task'"
    )
    ((lost, every),) = opened.tables.query(query)
    return {"orphans": int(lost), "samples": int(every)}


def agents(run: Path) -> list[dict[str, Any]]:
    """Give what each agent beside an executor used, by its last report."""
    found = []
    for path in sorted((run / "raw").rglob("agent-*.report.json")):
        told = json.loads(path.read_text("utf-8"))
        found.append(
            {
                "host": told["host"], "executor": told["executor"], "state": told["state"],
                "cpu_ns": told["own_cpu_ns"], "peak_bytes": told["own_peak_rss_bytes"],
            }
        )  # fmt: skip
    return found


def of_run(run: Path) -> dict[str, Any]:
    """Account for a run: executors, task CPU, closure, samples, tiers, and what agents used."""
    shown = said(run, "show")
    ledger = shown["ledger"]
    with Run.open(run) as opened:
        spark_ns = opened.tables.scalar(
            "SELECT sum(executor_cpu_time_ns + executor_deserialize_cpu_time_ns)::BIGINT FROM tasks"
        )
        tasks = opened.tables.record(
            "SELECT count(*) AS count, count(*) FILTER (status = 'success') AS succeeded FROM tasks"
        )
        spans = opened.tables.record(
            "SELECT count(*) AS count, sum(cpu_ns)::BIGINT AS cpu_ns FROM spans"
        )
        lives = opened.tables.query(
            "SELECT executor_id, end_mono_ns - start_mono_ns FROM processes WHERE role = 'executor'"
        )
        found = {"executors": executors(opened), "samples": orphans(opened)}
    length = {executor: life for executor, life in lives if life}
    used = agents(run)
    for one in used:
        life = length.get(one["executor"])
        one["core_ratio"] = one["cpu_ns"] / life if life else None
    return {
        **found,
        "tasks": tasks,
        "spans": spans,
        "spark_task_ns": spark_ns,
        "ledger_task_ns": row_ns(ledger["core_view"], VIEW_TASK),
        "checks": {one["name"]: one["difference_ratio"] for one in ledger["checks"]},
        "closure": {name: ledger[name]["closure_ratio"] for name in ("core_view", "slot_view")},
        "hosts": [
            {
                "host": one["host"], "tier": one["tier"], "observed": one["observed"],
                "bound_ns": one["bound_ns"], "core": one["core_view"]["closure_ratio"],
                "slot": one["slot_view"]["closure_ratio"],
            }
            for one in ledger["hosts"]
        ],
        "tiers": sorted({str(one["tier"]) for one in shown["instruments"] if one.get("tier")}),
        "agents": used,
        "doubts": sorted({one["code"] for one in shown["doubts"]}),
    }  # fmt: skip


def ratio(part: float | None, whole: float | None) -> float | None:
    """Divide, where both are known.

    Examples
    --------
    >>> ratio(1, 2), ratio(None, 2), ratio(1, 0)
    (0.5, None, None)
    """
    return part / whole if part is not None and whole else None


def percent(value: float | None, digits: int = 2) -> str:
    """Write a ratio in per cent; a question mark where it is not known.

    Examples
    --------
    >>> percent(0.01234), percent(None)
    ('1.23 %', '?')
    """
    return "?" if value is None else f"{value * 100:.{digits}f} %"
