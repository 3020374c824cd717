"""Real event logs of other people: every one is shown, and its totals are a naive count's."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pyrometer.store import Run, ingest_eventlogs
from pyrometer.summary.summary import summary

CORPUS = os.environ.get("PYROMETER_CORPUS")
pytestmark = pytest.mark.skipif(
    not CORPUS, reason="PYROMETER_CORPUS is unset: no corpus of event logs on this machine"
)
MS = 1_000_000


def logs() -> list[Path]:
    if not CORPUS:
        return []
    return sorted(Path(CORPUS, "eventlogs").glob("*/*"))


def lines(log: Path) -> Iterator[bytes]:
    files = sorted(log.iterdir()) if log.is_dir() else [log]
    for path in files:
        if path.name.startswith("appstatus"):
            continue
        data = path.read_bytes()
        if data[:4] == b"\x28\xb5\x2f\xfd":
            reader = zstandard.ZstdDecompressor().stream_reader(
                io.BytesIO(data), read_across_frames=True
            )
            data = reader.read()
        elif data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        yield from data.splitlines()


def naive(log: Path) -> dict[str, Any]:
    """Count as a newcomer would: line by line, with dictionaries."""
    found: dict[str, Any] = dict.fromkeys(
        ("tasks", "run", "cpu", "gc", "input", "records", "written", "lost", "stages", "duration"),
        0,
    )
    for line in lines(log):
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


@pytest.mark.parametrize("log", logs(), ids=lambda p: p.name)
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
    assert sum(s.tasks_count for s in made.stages) == expected["tasks"] or len(made.stages) >= 5000
    assert made.verdict.endswith(".")
    view = made.ledger.slot_view
    assert view.total_ns is None or view.closure_ratio is not None


def test_an_event_log_is_shown_directly_and_ingested_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    log = next(p for p in logs() if p.name.startswith("nds_q88"))
    for _ in range(2):
        with Run.open(log) as run:
            assert summary(run).totals["tasks_count"] == 4896
    assert len(list((tmp_path / "pyrometer" / "eventlogs").iterdir())) == 1
