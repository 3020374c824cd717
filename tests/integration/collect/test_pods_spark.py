"""Pods as Spark's own store has them, with the model of Kubernetes that each Spark brings."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.support import needs

from pyrometer._artifacts import plugin_jar
from pyrometer.core.native import native
from pyrometer.workloads.spark import find_spark

ROOT = Path(__file__).parents[3]
PODS = ROOT / "tests" / "fixtures" / "pods" / "list.json"
SOURCE = ROOT / "tests" / "support" / "java" / "WatchedPods.java"
PROCESS = {
    "k": "process", "role": "driver", "executor_id": "driver", "pid": 7, "host": "h",
    "app_id": "spark-7", "mono_ns": 1, "wall_ns": 2,
}  # fmt: skip
S = 1_000_000_000
BASE = 1_796_032_800
"""2026-11-30T10:00:00Z, in seconds."""

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", params=["4.x", "3.5"])
def told(request: pytest.FixtureRequest) -> str:
    """Give what the plugin writes of the list."""
    spark = find_spark() if request.param == "4.x" else find_spark(needs.spark35())
    classes = f"{plugin_jar()}:{spark.home / 'jars'}/*"
    done = subprocess.run(
        ["java", "-Xmx256m", "-cp", classes, str(SOURCE), str(PODS)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def pods(told: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for record in map(json.loads, told.splitlines()):
        assert record["k"] in ("pod", "bye"), record
        if record["k"] == "pod":
            found.setdefault(record["executor_id"], []).append(record)
    return found


def test_each_step_of_a_pod_is_told_until_its_container_runs(told: str) -> None:
    steps = pods(told)["1"]
    assert [one["unschedulable"] is None for one in steps] == [True, *[False] * 4]
    assert [one["waiting"] for one in steps] == [None, None, None, "ErrImagePull", "ErrImagePull"]
    last = steps[-1]
    assert (last["name"], last["node"]) == ("job-exec-1", "pool-a-4")
    assert last["image"] == "registry.example/spark:4.3.0"
    assert last["unschedulable"].endswith("No preemption victims found for incoming pod.")
    times = {
        name.removesuffix("_wall_ns"): last[name] // S - BASE
        for name in last
        if name.endswith("_wall_ns")
    }
    assert times == {"created": 2, "scheduled": 31, "prepared": 33, "initialized": 31,
                     "started": 45}  # fmt: skip
    assert last["wall_ns"] > 0


def test_one_that_is_seen_late_has_its_times_all_the_same(told: str) -> None:
    (late,) = pods(told)["2"]
    assert (late["scheduled_wall_ns"], late["started_wall_ns"]) == ((BASE + 3) * S, (BASE + 45) * S)


def test_what_a_pod_is_given_is_not_told(told: str) -> None:
    assert "s3cret" not in told
    (odd,) = pods(told)["3"]
    assert odd["name"] == "x\ny"
    assert (odd["created_wall_ns"], odd["scheduled_wall_ns"]) == (None, None)
    assert len(odd["waiting"]) <= 400


def test_pods_become_a_table(told: str, tmp_path: Path) -> None:
    file = tmp_path / "plugin-driver-driver-7.ndjson"
    file.write_text(json.dumps(PROCESS) + "\n" + told)
    report = json.loads(native().ingest_plugin([str(file)], str(tmp_path)))
    assert report["tables"]["executor_pods"] == 3
    assert report["doubts"] == []
    rows = pq.read_table(tmp_path / "executor_pods.parquet").to_pylist()
    assert [row["executor_id"] for row in rows] == ["1", "2", "3"]
    assert rows[0]["started_wall_ns"] == (BASE + 45) * S
    assert rows[0]["seen_wall_ns"] is not None
    assert rows[2]["seen_wall_ns"] is None
