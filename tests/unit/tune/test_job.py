"""What a run says of its job, and how that bounds a space."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyrometer.store.tables import Tables
from pyrometer.store.write_tables import write_rows
from pyrometer.tune.space.job import job_from, job_of
from pyrometer.tune.space.levels import bounds
from pyrometer.tune.space.named import named_space

MB = 1 << 20


def _task(stage: int, number: int, read: int, written: int) -> dict[str, object]:
    return {
        "app_index": 0, "stage_id": stage, "stage_attempt": 0, "task_attempt_id": number,
        "task_index": number, "attempt": 0, "input_bytes": read,
        "shuffle_written_bytes": written,
    }  # fmt: skip


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    conf = {
        "spark.sql.shuffle.partitions": "64",
        "spark.memory.fraction": "a lot",
        "spark.executor.memory": "3g",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    app = {
        "app_index": 0, "spark_version": "4.0.1", "master": "local-cluster[2,3,1024]",
        "spark_conf": json.dumps(conf), "source_files": "[]", "events_count": 1,
        "uncompressed_bytes": 1,
    }  # fmt: skip
    write_rows(tmp_path, "apps", [app])
    rows = [_task(0, at, 50 * MB, 500 * MB) for at in range(4)]
    rows += [_task(1, at, 0, 10 * MB) for at in range(4, 8)]
    write_rows(tmp_path, "tasks", rows)
    return Tables(tmp_path)


def test_a_run_says_what_its_job_is(tables: Tables) -> None:
    with tables:
        found = job_of(tables)
    assert found.spark_version == "4.0.1"
    assert found.facts == {
        "input_bytes": 200.0 * MB, "shuffle_bytes": 2000.0 * MB, "heap": float(3 << 30),
        "jvms": 2.0, "slots": 6.0,
    }  # fmt: skip
    assert found.now == {
        "spark.sql.shuffle.partitions": "64",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "jvm.heap": "3g",
        "layout.executors": "2",
        "layout.cores_per_executor": "3",
    }


def test_the_space_is_bounded_by_the_job(tables: Tables) -> None:
    with tables:
        job = job_of(tables)
    host = {"mem_total": float(32 << 30), "cpus": 8.0}
    space = named_space("all", {**host, **job.facts}, now=job.now, spark_version=job.spark_version)
    assert bounds(space.knob("spark.sql.shuffle.partitions")) == (4, 2000)
    assert space.knob("spark.sql.autoBroadcastJoinThreshold").default == "-1"
    assert space.knob("layout.executors").default == "2"
    assert space.knob("spark.memory.fraction").default == "0.6"
    assert bounds(space.knob("jvm.heap"))[1] <= 0.7 * (32 << 30) / 2


def test_a_run_without_tables_says_what_spark_takes(tmp_path: Path) -> None:
    with Tables(tmp_path) as tables:
        found = job_of(tables)
    assert (found.facts, found.now, found.spark_version) == ({"heap": float(1 << 30)}, {}, None)


@pytest.mark.parametrize(
    ("master", "jvms", "slots"),
    [("local", 1.0, 1.0), ("local[*]", 1.0, None), ("local[2,4]", 1.0, 2.0), ("yarn", None, None)],
)
def test_masters(master: str, jvms: float | None, slots: float | None) -> None:
    found = job_from({}, master, None, {})
    assert (found.facts.get("jvms"), found.facts.get("slots")) == (jvms, slots)


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("spark://Box:7077", True), ("spark://box.example.org:7077", True),
        ("spark://[::1]:7077", True), ("spark://box2:7077", False), ("yarn", False),
    ],
)  # fmt: skip
def test_a_standalone_master_of_this_host_is_here(
    monkeypatch: pytest.MonkeyPatch, master: str, here: bool
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "box")
    monkeypatch.setattr("socket.getfqdn", lambda: "box.example.org")
    assert ("elsewhere" not in job_from({}, master, None, {}).facts) == here
