"""Scans of remote storage: waits for requests, and not what bytes and other waits take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.explained import Job, saves
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, job, judged_with, settings, sleeping
from tests.support.explain.scans import scan
from tests.support.tables import MS

from pyrometer.explain.catalogue.data.scan_remote_storage_latency import RULE
from pyrometer.explain.catalogue.machine.network_slow import RULE as NETWORK
from pyrometer.explain.evidence.scans.remote_scans import scheme_of
from pyrometer.explain.judge import explains
from pyrometer.explain.schema import Finding, Remedy


def rdd(cpu_ms: int, url: str = "s3a://bucket/t", more: str = "", **columns: Any) -> Job:
    """Eight tasks of 2 s on four slots read a file of 1 MB each; one stage of a shuffle after."""
    made = Job()
    own = {"executor_cpu_time_ns": cpu_ms * MS, "input_bytes": 1_000_000, **columns}
    made.stage([2000] * 8, columns=lambda _: own)
    made.log.rows["stages"][-1]["rdd_names"] = f'[{{"id":1,"name":"{url}"}}{more}]'
    made.stage([500] * 4, columns=lambda _: {"shuffle_read_local_bytes": 1000})
    return made


def test_tasks_wait_for_requests(tmp_path: Path) -> None:
    # 1.6 s of 2 s are waits; side by side with as many others two thirds of them go.
    (found,) = rdd(cpu_ms=400).found(tmp_path, RULE)
    assert saves(found, 2 * 1600 * 0.68)
    assert (found.place.layer, found.place.stage_id) == ("data", 0)
    assert not [one for one in found.remedies if one.factor == "spark.executor.cores"]


def test_tasks_wait_for_their_bytes(tmp_path: Path) -> None:
    """One request at a time brings no more than 90 MB in a second."""
    assert rdd(cpu_ms=400, input_bytes=150_000_000).all_found(tmp_path, RULE) == []


def test_collections_and_fetches_are_no_waits_for_the_store(tmp_path: Path) -> None:
    waits: Any = {"jvm_gc_time_ns": 800 * MS, "shuffle_fetch_wait_time_ns": 800 * MS}
    assert rdd(cpu_ms=400, **waits).all_found(tmp_path, RULE) == []


def test_tasks_of_other_stages_wait_as_long_for_a_cpu(tmp_path: Path) -> None:
    made = rdd(cpu_ms=400)
    for row in made.log.rows["tasks"]:
        if row["stage_id"] == 1:
            row["executor_cpu_time_ns"] = 100 * MS
    assert not made.found(tmp_path, RULE)


@pytest.mark.parametrize(
    ("url", "more"),
    [("file:/data/t", ""), ("s3a://bucket/t", ',{"id":2,"name":"PythonRDD"}')],
)
def test_local_files_and_python(tmp_path: Path, url: str, more: str) -> None:
    assert rdd(400, url, more).all_found(tmp_path, RULE) == []


def test_blocks_on_the_host_of_the_task(tmp_path: Path) -> None:
    assert rdd(400, "hdfs://nn/t", locality="NODE_LOCAL").all_found(tmp_path, RULE) == []
    assert rdd(400, "hdfs://nn/t", locality="RACK_LOCAL").found(tmp_path / "rack", RULE)


def test_a_scan_of_stages_that_write_as_much_has_half_of_the_waits(tmp_path: Path) -> None:
    (found,) = rdd(400, output_bytes=1_000_000).all_found(tmp_path, RULE)
    assert found.saving.elapsed_ns.high is not None
    assert found.saving.elapsed_ns.high < 1.1 * 1600 * MS


def test_without_the_time_of_cpus_nothing_tells(tmp_path: Path) -> None:
    assert rdd(cpu_ms=0).all_found(tmp_path, RULE) == []


def _more_tasks(folder: Path, master: str) -> Remedy:
    """Give the remedy that makes executors of two cores run more tasks."""
    made = rdd(cpu_ms=400)
    conf = {"spark.master": master, "spark.executor.cores": "2"}
    made.log.rows["apps"][0].update(master=master, spark_conf=json.dumps(conf))
    (found,) = made.found(folder, RULE)
    (remedy,) = [one for one in found.remedies if "two tasks for each core" in one.text]
    return remedy


def test_pods_ask_for_as_many_cpus_as_before(tmp_path: Path) -> None:
    remedy = _more_tasks(tmp_path, "k8s://https://a")
    assert (remedy.factor, remedy.level) == ("spark.executor.cores", "4")
    assert remedy.levels == {"spark.kubernetes.executor.request.cores": "2"}


def test_where_twice_the_cores_may_be_twice_the_cpus_a_human_decides(tmp_path: Path) -> None:
    remedy = _more_tasks(tmp_path, "yarn")
    assert (remedy.kind, remedy.factor) == ("machine", None)
    assert "spark.executor.cores=4" in remedy.text


def _sampled(folder: Path, wait: str, location: str = "s3a://b/t", *others: Any) -> list[Finding]:
    world = job()
    sleeping(world, wait)
    settings(world, spark__executor__cores="2")
    read = scan(1, 0)
    read.simple_string = (read.simple_string or "").replace("file:/data/t", location)
    change: Any = plan(node(0, "Project", None, [0]), read, *others)
    return judged_with(folder, world, RULE, change).findings


def test_sampled_waits_for_sockets(tmp_path: Path) -> None:
    # Of 4 s a fifth is asleep in sockets; 10 % stand in the run queue and do not count.
    (found,) = _sampled(tmp_path, "network")
    assert holds(found, 4 * 0.2 * 0.68)
    assert found.saving.elapsed_ns.high is not None
    assert found.saving.elapsed_ns.high < 4.2 * 0.2e9 * 1.1
    assert (found.place.node_id, found.place.operator) == (1, "Scan parquet")
    assert found.evidence[0].estimate.low is None  # how many samples there are is not counted
    advice = "spark.hadoop.fs.s3a.experimental.input.fadvise"
    # In local mode cores of executors mean nothing.
    assert [one.factor for one in found.remedies] == [advice, "layout.tasks", None]
    assert found.remedies[1].level == "4"


def test_sampled_waits_for_disks(tmp_path: Path) -> None:
    assert _sampled(tmp_path, "block_io") == []


def test_sampled_with_a_local_location(tmp_path: Path) -> None:
    assert _sampled(tmp_path, "network", "file:/data/t") == []


def test_a_gpu_in_the_stage(tmp_path: Path) -> None:
    assert _sampled(tmp_path, "network", "s3a://b/t", node(2, "GpuFilter", 1, [0])) == []


def test_it_explains_the_network() -> None:
    assert explains(RULE, NETWORK.code)


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("FileScan parquet Location: InMemoryFileIndex(8 paths)[gs://b/t]", "gs"),
        ("Location: PreparedDeltaFileIndex(1 paths)[abfss://c@s/t]", "abfss"),
        ("Location: InMemoryFileIndex [hdfs://nn/t]", "hdfs"),
        ("Location: InMemoryFileIndex[file:/t]", None),
        ("Scan JDBCRelation(t) [numPartitions=1]", None),
        (None, None),
    ],
)
def test_locations(text: str | None, scheme: str | None) -> None:
    assert scheme_of(text) == scheme
