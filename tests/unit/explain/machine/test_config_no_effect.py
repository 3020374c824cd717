from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.explained import Job
from tests.support.explain.planted import judged

from pyrometer.explain.catalogue.machine.config_no_effect import RULE
from pyrometer.explain.findings import explain
from pyrometer.store import Run

SHUFFLED = {"shuffle_written_records_count": 5, "shuffle_written_bytes": 500}
READ = {"shuffle_read_records_count": 5, "memory_spilled_bytes": 1}
SCAN, JOIN = ("Scan csv", "FileScan csv"), ("BroadcastHashJoin", "BroadcastHashJoin [k#1]")
PARTITIONS = "spark.sql.shuffle.partitions"


def noted(
    folder: Path,
    conf: dict[str, str],
    nodes: tuple[tuple[str, str], ...] = (SCAN,),
    tasks: dict[str, int] | None = None,
    readers: int = 4,
    sql: int | None = 0,
    **app: str,
) -> dict[str, str]:
    """Give the settings without effect with why, of a query of two stages."""
    job = Job(**conf)
    job.log.rows["apps"][0].update(app)
    job.stage([500] * 8, columns=lambda _: dict(tasks or {}), sql=sql)
    read = READ if tasks else {}
    job.stage([500] * readers, columns=lambda _: dict(read), sql=sql)
    if nodes:
        job.query(0, job.now_ms, nodes)
    job.log.rows["apps"][0]["end_wall_ns"] += job.now_ms * 1_000_000
    found = judged(job.log.write(folder), RULE)
    assert found.findings == []
    assert not found.unjudged
    return {name: note.mechanism for note in found.notes for name in note.settings}


LOCAL = {"master": "local[4]"}
WITHOUT = [
    ({"spark.executor.cores": "4"}, {}, LOCAL, "no executors"),
    ({"spark.yarn.queue": "a"}, {}, {"master": "k8s://x"}, "not YARN"),
    ({"spark.dynamicAllocation.maxExecutors": "5"}, {}, {}, "is not on"),
    ({"spark.memory.offHeap.size": "2g"}, {}, {}, "is not on"),
    ({"spark.speculation.multiplier": "9"}, {}, {}, "is not on"),
    ({"spark.rapids.sql.enabled": "true"}, {}, {}, "not loaded"),
    ({"spark.storage.memoryFraction": "0.3"}, {}, {}, "does not read it"),
    ({"spark.shuffle.file.buffer": "1m"}, {}, {}, "a shuffle"),
    ({"spark.sql.autoBroadcastJoinThreshold": "-1"}, {}, {}, "a join"),
    ({"spark.sql.parquet.filterPushdown": "false"}, {}, {}, "Parquet"),
    ({"spark.serializer": "org.apache.spark.serializer.KryoSerializer"}, {}, {}, "Spark SQL"),
    ({"spark.io.compression.snappy.blockSize": "1m"}, {}, {}, "is lz4"),
    ({PARTITIONS: "400"}, {"nodes": (SCAN, ("AQEShuffleRead", "")), "tasks": SHUFFLED}, {},
     "than 4 tasks"),
]  # fmt: skip


@pytest.mark.parametrize(("conf", "more", "app", "why"), WITHOUT)
def test_without_effect(
    tmp_path: Path, conf: dict[str, str], more: dict, app: dict[str, str], why: str
) -> None:
    found = noted(tmp_path, conf, **more, **app)
    assert set(found) - {"spark.executor.memory"} == set(conf)
    assert why in found[next(iter(conf))]


WITH = [
    ({"spark.executor.cores": "4"}, {}),
    ({"spark.yarn.queue": "a"}, {}),
    ({"spark.dynamicAllocation.maxExecutors": "5", "spark.dynamicAllocation.enabled": "true"}, {}),
    ({"spark.memory.offHeap.size": "2g", "spark.memory.offHeap.enabled": "true"}, {}),
    ({"spark.memory.offHeap.size": "0b"}, {}),
    ({"spark.sql.cbo.starSchemaDetection": "true"}, {}),
    ({"spark.sql.cbo.starSchemaDetection": "true", "spark.sql.cbo.starJoinFTRatio": "0.5"}, {}),
    ({"spark.sql.cbo.planStats.enabled": "true"}, {}),
    # Sorts spill without a shuffle, too.
    ({"spark.shuffle.spill.numElementsForceSpillThreshold": "5000"}, {}),
    ({"spark.shuffle.file.buffer": "1m"}, {"tasks": SHUFFLED}),
    ({"spark.sql.autoBroadcastJoinThreshold": "-1"}, {"nodes": (JOIN, SCAN)}),
    # A plan below a cache, of an RDD, or of a command without children is not in the log.
    ({"spark.sql.autoBroadcastJoinThreshold": "-1"}, {"nodes": (("InMemoryTableScan", ""),)}),
    ({"spark.sql.autoBroadcastJoinThreshold": "-1"}, {"nodes": (("Execute Merge", ""),)}),
    ({"spark.sql.autoBroadcastJoinThreshold": "-1"}, {"sql": None}),
    ({"spark.sql.parquet.filterPushdown": "false"}, {"nodes": (("Scan parquet a", ""),)}),
    ({"spark.serializer": "org.apache.spark.serializer.KryoSerializer"}, {"sql": None}),
    ({PARTITIONS: "400"}, {"nodes": (SCAN,), "tasks": SHUFFLED}),
    ({PARTITIONS: "4"}, {"nodes": (SCAN, ("AQEShuffleRead", "")), "tasks": SHUFFLED}),
]


@pytest.mark.parametrize(("conf", "more"), WITH)
def test_with_effect(tmp_path: Path, conf: dict[str, str], more: dict) -> None:
    assert noted(tmp_path, conf, **more) == {}


def test_of_a_spark_that_does_not_name_its_version_nothing_is_claimed(tmp_path: Path) -> None:
    conf = {"spark.memory.offHeap.size": "2g"}
    assert noted(tmp_path, conf, spark_version="") == {}


def test_settings_of_one_reason_are_one_note(tmp_path: Path) -> None:
    conf = {"spark.shuffle.file.buffer": "1m", "spark.reducer.maxSizeInFlight": "96m"}
    assert set(noted(tmp_path, conf)) == set(conf)
    with Run.open(tmp_path) as run:
        assert len(explain(run, rules=[RULE]).notes) == 1


def test_what_did_not_occur_may_come_yet_where_the_log_has_no_end(tmp_path: Path) -> None:
    job = Job(**{"spark.shuffle.file.buffer": "1m", "spark.memory.offHeap.size": "2g"})
    job.stage([500] * 8)
    row = job.log.rows["apps"][0]
    row["last_event_wall_ns"] = row["end_wall_ns"] + job.now_ms * 1_000_000
    row["end_wall_ns"] = None
    (note,) = judged(job.log.write(tmp_path), RULE).notes
    assert set(note.settings) == {"spark.memory.offHeap.size"}


def test_a_rule_that_is_muted_says_why(tmp_path: Path) -> None:
    noted(tmp_path, {"spark.shuffle.file.buffer": "1m"})
    with Run.open(tmp_path) as run:
        (note,) = explain(run, rules=[RULE], muted={RULE.code: "known"}).notes
    assert note.muted == "known"
