from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.driver_listing import RULE


def _job(listed_ms: int, files: int, size: int) -> Job:
    job = Job()
    sql = job.query(0, 9_000, [("Scan parquet", "FileScan parquet")])
    job.stage([1_000] * 8, gap_ms=6_000, sql=sql)
    job.metric(sql, 0, "metadata time", listed_ms, "timing")
    job.metric(sql, 0, "number of files read", files)
    job.metric(sql, 0, "size of files read", size, "size")
    return job


def test_ten_thousand_files_of_a_few_bytes(tmp_path: Path) -> None:
    (found,) = _job(5_000, 10_000, 1 << 28).found(tmp_path, RULE)
    assert (found.place.sql_id, found.place.node_id) == (0, 0)
    assert saves(found, 5_000 * (1 - 2 / 10_000))


def test_files_of_the_right_size_cannot_be_fewer(tmp_path: Path) -> None:
    assert not _job(5_000, 10, 10 << 27).found(tmp_path, RULE)


def test_a_listing_of_some_milliseconds(tmp_path: Path) -> None:
    assert not _job(9, 100, 1 << 20).found(tmp_path, RULE)


def test_a_job_that_lists_paths(tmp_path: Path) -> None:
    job = Job()
    job.query(0, 1, [("Scan", "Scan")])
    job.stage([10] * 2_000, name="parquet at Main.scala:3")
    job.log.rows["jobs"][-1]["description"] = (
        "Listing leaf files and directories for 2000 paths:<br/>file:/data/a, ..."
    )
    job.stage([1_000] * 4)
    (found,) = job.found(tmp_path, RULE)
    assert "A job of 2 000 tasks listed 2000 paths, in 20.0 s of tasks" in found.mechanism
    assert saves(found, 5_000 * 0.9)


def test_the_same_paths_listed_twice_are_one_cause(tmp_path: Path) -> None:
    job = Job()
    job.query(0, 1, [("Scan", "Scan")])
    for paths in ("file:/data/a, ...", "file:/data/a, ...", "file:/data/b, ..."):
        job.stage([10] * 1_000, name="parquet at Main.scala:3")
        job.log.rows["jobs"][-1]["description"] = (
            f"Listing leaf files and directories for 1000 paths:<br/>{paths}"
        )
    job.stage([1_000] * 4)
    result = job.all_found(tmp_path, RULE)
    assert [one.place.stages_count for one in result] == [2, 1]


def test_near_miss_a_job_of_another_application_has_its_number(tmp_path: Path) -> None:
    job = Job()
    job.query(0, 1, [("Scan", "Scan")])
    job.stage([1_000] * 8)
    text = "Listing leaf files and directories for 2000 paths:<br/>file:/data/a, ..."
    rows = job.log.rows["jobs"]
    rows.append({**rows[0], "app_index": 1, "description": text})
    assert not job.all_found(tmp_path, RULE)


GLOB = (
    "org.apache.spark.sql.catalyst.analysis.Analyzer.execute",
    "org.apache.hadoop.fs.Globber.glob",
)


def _pattern(*frames: str, until: int = 6_300, **columns: Any) -> Job:
    """Let a thread of the driver be in some code for 4 of 5 s between two queries."""
    job = Job()
    job.stage([1_000] * 8, gap_ms=100, sql=job.query(0, 2_200, [("Scan", "Scan")]))
    job.driver(0, 2_200, spark=0.1)
    job.through(2_300, until, *frames, **columns)
    job.now_ms = 7_200
    job.stage([1_000] * 8, gap_ms=100, sql=job.query(7_200, 9_400, [("Scan", "Scan")]))
    return job


@pytest.mark.parametrize("columns", [{}, {"tid": 8, "role": "other", "thread_name": "globPath"}])
def test_a_pattern_that_is_compared_with_many_names(
    tmp_path: Path, columns: dict[str, Any]
) -> None:
    (found,) = _pattern(*GLOB, **columns).found(tmp_path, RULE)
    assert (found.place.layer, found.place.sql_id) == ("driver", 1)
    assert "looked for files and partitions for 4.00 s of CPU before job 1" in found.mechanism
    assert saves(found, 4_000)


@pytest.mark.parametrize(
    "frames", [GLOB[:1], (*GLOB, "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter.run")]
)
def test_near_miss_analysis_and_commits_are_no_listing(
    tmp_path: Path, frames: tuple[str, ...]
) -> None:
    assert not _pattern(*frames).all_found(tmp_path, RULE)


def test_healthy_few_files_are_found_at_once(tmp_path: Path) -> None:
    assert not _pattern(*GLOB, until=2_350).found(tmp_path, RULE)


@pytest.mark.parametrize(
    ("command", "is_found"), [("RepairTableCommand", True), ("CreateTableCommand", False)]
)
def test_a_table_is_repaired(tmp_path: Path, command: str, is_found: bool) -> None:
    job = Job()
    job.stage([1_000] * 8, gap_ms=100, sql=job.query(0, 2_200, [("Scan", "Scan")]))
    sql = job.query(2_200, 6_200, [(f"Execute {command}", "")])
    job.now_ms = 3_200
    job.stage([500] * 4, sql=sql)
    job.now_ms = 6_200
    job.stage([1_000] * 8, gap_ms=100, sql=job.query(6_200, 8_400, [("Scan", "Scan")]))
    found = job.found(tmp_path, RULE)
    assert [one.place.sql_id for one in found] == [1] * is_found
    assert all(saves(one, 4_000) for one in found)


def _planned(took_ms: int, manifests: int, files: int, size: int, before: bool = True) -> Job:
    """Give a query of Iceberg, whose manifests are read before it begins."""
    job = Job()
    if before:
        job.stage([1_000] * 4)
    start = job.now_ms + 6_000
    sql = job.query(start, start + 9_000, [("BatchScan lake.db.t", "BatchScan lake.db.t[a#1]")])
    job.stage([1_000] * 8, gap_ms=6_100, sql=sql)
    for name, value in (
        ("total planning duration (ms)", took_ms),
        ("number of scanned data manifests", manifests),
        ("number of result data files", files),
        ("total data file size (bytes)", size),
    ):
        job.metric(sql, 0, name, value)
    return job


@pytest.mark.parametrize("before", [True, False])
def test_two_thousand_manifests_of_a_file_each(tmp_path: Path, before: bool) -> None:
    (found,) = _planned(5_000, 2_000, 2_000, 2_000 << 27, before).found(tmp_path, RULE)
    assert (found.place.node_id, found.place.operator) == (0, "BatchScan lake.db.t")
    assert saves(found, 4_450)
    assert "read 2 000 manifests that name 2 000 files for 5.00 s" in found.mechanism
    assert found.remedies[0].after == "CALL lake.system.rewrite_manifests(table => 'db.t')"


def test_manifests_of_many_small_files(tmp_path: Path) -> None:
    (found,) = _planned(5_000, 10, 90_000, 90_000 << 10).found(tmp_path, RULE)
    assert saves(found, 4_450)
    assert "rewrite_data_files(table => 'db.t');" in (found.remedies[0].after or "")


def test_near_miss_few_manifests_of_large_files_were_read_slowly(tmp_path: Path) -> None:
    assert not _planned(5_000, 2, 20_000, 20_000 << 27).found(tmp_path, RULE)


def test_healthy_manifests_that_are_read_as_fast_as_a_few(tmp_path: Path) -> None:
    assert not _planned(490, 2_000, 2_000, 2_000 << 27).all_found(tmp_path, RULE)
