"""Event logs of real applications: every one is shown, and its totals are a naive count's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.eventlog.count import plain_lines
from tests.support.eventlog.recorded import RECORDED, each_log, parts_of

from pyrometer.store import Run, ingest_eventlogs
from pyrometer.summary.summary import summary

MS = 1_000_000


def naive(log: Path) -> dict[str, Any]:
    """Count as a newcomer would: line by line, with dictionaries."""
    found: dict[str, Any] = dict.fromkeys(
        ("tasks", "run", "cpu", "gc", "input", "records", "written", "lost", "stages", "duration"),
        0,
    )
    lines = (line for part in parts_of(log) for line in plain_lines(part.read_bytes()))
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        kind = event.get("Event")
        if kind == "SparkListenerTaskEnd":
            info = event["Task Info"]
            # Spark's own order: killed attempts say so, others succeed or failed.
            if event["Task End Reason"]["Reason"] != "Success":
                found["lost"] += 1
                continue
            found["tasks"] += 1
            assert info["Failed"] is False
            metrics = event.get("Task Metrics") or {}
            found["run"] += metrics.get("Executor Run Time", 0) * MS
            found["cpu"] += metrics.get("Executor CPU Time", 0)
            found["gc"] += metrics.get("JVM GC Time", 0) * MS
            read = metrics.get("Input Metrics") or {}
            found["input"] += read.get("Bytes Read", 0)
            found["records"] += read.get("Records Read", 0)
            shuffle = metrics.get("Shuffle Write Metrics") or {}
            found["written"] += shuffle.get("Shuffle Bytes Written", 0)
        elif kind == "SparkListenerStageCompleted":
            info = event["Stage Info"]
            # A stage without an id is no stage; the ingest says so in a doubt.
            if info.get("Stage ID") is None or info.get("Completion Time") is None:
                continue
            found["stages"] += 1
            if info.get("Submission Time") is not None:
                found["duration"] += (info["Completion Time"] - info["Submission Time"]) * MS
    return found


SLOTS_UNKNOWN = (
    "eventlog_3nodes_12cores_exec_removed", "app-20231025121456-0004-eventLog-running-incomplete",
)  # fmt: skip
"""Logs with tasks of executors that they do not know."""


@pytest.mark.parametrize("log", each_log())
def test_totals_equal_a_naive_count(log: Path, tmp_path: Path) -> None:
    ingest_eventlogs([log], tmp_path)
    with Run.open(tmp_path) as run:
        made = summary(run)
    expected = naive(log)
    totals = made.totals
    pairs = {
        "tasks_count": "tasks", "executor_run_time_ns": "run", "jvm_gc_time_ns": "gc",
        "input_bytes": "input", "input_records_count": "records",
        "shuffle_written_bytes": "written", "stages_count": "stages",
        "stage_duration_ns": "duration",
    }  # fmt: skip
    assert {name: totals[name] or 0 for name in pairs} == {
        name: expected[key] for name, key in pairs.items()
    }
    assert (totals["executor_cpu_time_ns"] or 0) == expected["cpu"]
    assert made.failed.totals["tasks_count"] == expected["lost"]
    assert sum(s.tasks_count for s in made.stages) == expected["tasks"]
    assert made.verdict.endswith(".")
    view = made.ledger.slot_view
    if log.name in SLOTS_UNKNOWN:
        assert view.total_ns is None
        assert "number of cores" in (view.reason or "")
        return
    assert view.total_ns
    assert abs(view.closure_ratio or 0) < 0.01
    assert "ledger_open" not in {doubt.code for doubt in made.doubts}


def test_an_event_log_is_shown_directly_and_ingested_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    log = RECORDED / "scan-4.3.0.zstd"
    for _ in range(2):
        with Run.open(log) as run:
            assert summary(run).totals["tasks_count"] == naive(log)["tasks"] > 5
    assert len(list((tmp_path / "pyrometer" / "eventlogs").iterdir())) == 1
