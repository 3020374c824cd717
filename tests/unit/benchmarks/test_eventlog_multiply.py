"""The benchmark's large logs are what they claim to be: k times every count and total."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from benchmarks.eventlog.multiply import multiply
from tests.support.eventlog.count import Count, count

from pyrometer import _core

TIMES = 3


def application() -> bytes:
    """Write a log with a job of two stages under a SQL execution."""
    info = [
        {"Stage ID": i, "Stage Attempt ID": 0, "Parent IDs": list(range(i))}
        | {"RDD Info": [{"RDD ID": 7, "Parent IDs": [6]}]}
        | {"Submission Time": 1_700_000_001_000, "Completion Time": 1_700_000_009_000 + i}
        for i in range(2)
    ]
    sql = "org.apache.spark.sql.execution.ui.SparkListener"
    metric = {"name": "rows", "accumulatorId": 40, "metricType": "sum"}
    plan = {"nodeName": "Scan", "simpleString": "Scan", "children": [], "metrics": [metric]}
    properties = {"spark.sql.execution.id": "0"}
    accumulable = {"ID": 40, "Name": "rows", "Update": "11", "Value": "11", "Metadata": "sql"}
    events: list[dict[str, Any]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.0.0"},
        {"Event": "SparkListenerApplicationStart", "App ID": "a", "Timestamp": 1_700_000_000_000},
        {"Event": f"{sql}SQLExecutionStart", "executionId": 0, "sparkPlanInfo": plan},
        {
            "Event": "SparkListenerJobStart",
            "Job ID": 0,
            "Stage IDs": [0, 1],
            "Stage Infos": info,
            "Properties": properties,
        },
        *(
            {"Event": "SparkListenerStageSubmitted", "Stage Info": i, "Properties": properties}
            for i in info
        ),
        *(
            {
                "Event": "SparkListenerTaskEnd",
                "Stage ID": t % 2,
                "Stage Attempt ID": 0,
                "Task End Reason": {"Reason": "Success" if t < 8 else "TaskKilled"},
                "Task Info": {
                    "Task ID": t,
                    "Index": t // 2,
                    "Launch Time": 1_700_000_002_000,
                    "Accumulables": [accumulable],
                },
                "Task Metrics": {
                    "Executor Run Time": 5,
                    # As long as a time stamp, and none.
                    "Executor CPU Time": 1_700_000_000_001,
                    "Result Size": 100 + t,
                },
            }
            for t in range(9)
        ),
        {"Event": f"{sql}DriverAccumUpdates", "executionId": 0, "accumUpdates": [[40, 1000]]},
        *({"Event": "SparkListenerStageCompleted", "Stage Info": i} for i in info),
        {"Event": "SparkListenerJobEnd", "Job ID": 0, "Job Result": {"Result": "JobSucceeded"}},
        {"Event": f"{sql}SQLExecutionEnd", "executionId": 0, "time": 1_700_000_010_000},
        {"Event": "SparkListenerApplicationEnd", "Timestamp": 1_700_000_011_000},
    ]
    return b"".join(json.dumps(e, separators=(",", ":")).encode() + b"\n" for e in events)


def counted(path: Path) -> Count:
    """Count a plain log."""
    return count(path.read_bytes().split(b"\n"))


def test_a_multiplied_log_has_every_total_as_often(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(application())
    with large.open("wb") as out:
        multiply(small, TIMES, out)
    one, many = counted(small), counted(large)
    assert many.tasks == {status: TIMES * n for status, n in one.tasks.items()}
    assert many.totals["success"]["executor_run_time_ns"] == TIMES * 8 * 5_000_000
    assert many.totals["success"]["executor_cpu_time_ns"] == TIMES * 8 * 1_700_000_000_001
    assert many.totals["success"]["result_size_bytes"] == 107
    assert many.stage_duration_ns == TIMES * one.stage_duration_ns
    assert len(many.stages) == TIMES * 2
    assert len(many.jobs) == len(many.sql) == TIMES
    # Every copy has accumulators of its own, each with the sum of the original.
    assert sorted(many.sums.values()) == TIMES * list(one.sums.values()) == TIMES * [1088]


def test_a_multiplied_log_ingests_as_one_application(tmp_path: Path) -> None:
    small, large, out = tmp_path / "small", tmp_path / "large", tmp_path / "out"
    small.write_bytes(application())
    with large.open("wb") as file:
        multiply(small, TIMES, file)
    out.mkdir()
    report = json.loads(_core.ingest_eventlogs([str(large)], str(out)))
    assert report["doubts"] == []
    assert report["tables"]["apps"] == 1
    assert report["tables"]["stages"] == TIMES * 2
    tasks = pq.read_table(out / "tasks.parquet").to_pydict()
    assert len(set(tasks["task_attempt_id"])) == TIMES * 9
    sums = pq.read_table(out / "node_metrics.parquet").to_pydict()["value_sum"]
    assert sum(sums) == sum(counted(large).sums.values())
