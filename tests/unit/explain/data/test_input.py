from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.explained import Job, saves
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import judged_with
from tests.support.tables import StageSpec, World

from pyrometer.explain.catalogue.data.scan_not_splittable import RULE as NOT_SPLITTABLE
from pyrometer.explain.catalogue.data.scan_schema_inferred import RULE as INFERRED
from pyrometer.explain.catalogue.parallelism.skew_rows import RULE as SKEW
from pyrometer.explain.rule import Rule
from pyrometer.explain.schema import Finding

MIB = 1 << 20


def reading(lengths: list[int], size: int, name: str = "csv at Load.scala:3", **more: int) -> Job:
    """A job that reads files on four slots, and one of 1 s after it."""
    job = Job()
    job.stage(lengths, name=name, columns=lambda _: {"input_bytes": size, **more})
    job.log.rows["stages"][0]["rdd_names"] = json.dumps([{"id": 1, "name": "FileScanRDD"}])
    job.stage([1000] * 4)
    return job


def test_one_large_file_is_read_by_one_task(tmp_path: Path) -> None:
    (found,) = reading([8000], 1024 * MIB).found(tmp_path, NOT_SPLITTABLE)
    # Eight pieces on four slots: 2 s instead of 8; 70 to 100 % of the way.
    assert saves(found, 8000 - 2000)
    assert found.place.stage_id == 0


@pytest.mark.parametrize("rule", [NOT_SPLITTABLE, INFERRED])
def test_seven_jobs_that_read_count(tmp_path: Path, rule: Rule) -> None:
    job = Job()
    for _ in range(7):
        job.stage([8000], name="csv at Load.scala:3", columns=lambda _: {"input_bytes": 1024 * MIB})
        name = [{"id": 1, "name": "FileScanRDD"}]
        job.log.rows["stages"][-1]["rdd_names"] = json.dumps(name)
    assert sum(one.place.places_count for one in job.found(tmp_path, rule)) == 7


def test_a_small_file_leaves_slots_idle_too(tmp_path: Path) -> None:
    # (30 MiB + 4 MiB to open it) / 4 slots: pieces of 8.5 MiB.
    (found,) = reading([8000], 30 * MIB).found(tmp_path, NOT_SPLITTABLE)
    assert "1 task read 30.0 MiB, where pieces of 8.50 MiB would make 4 tasks" in found.mechanism
    assert saves(found, 8000 - 2000)
    saving = found.saving.elapsed_ns
    assert saving.low is not None
    assert saving.low < 0.75 * 6e9


def test_what_costs_less_than_to_open_it_is_read_at_once(tmp_path: Path) -> None:
    assert not reading([8000], 3 * MIB).all_found(tmp_path, NOT_SPLITTABLE)


def test_pieces_of_the_usual_size_are_split_already(tmp_path: Path) -> None:
    assert reading([2000] * 4, 128 * MIB).all_found(tmp_path, NOT_SPLITTABLE) == []


def test_slots_that_are_full_lack_no_tasks(tmp_path: Path) -> None:
    job = reading([2000] * 16, 256 * MIB)
    assert job.found(tmp_path, NOT_SPLITTABLE) == []


def of_groups(
    folder: Path, rule: Rule, *, rows: list[int], pushed: str = "", files: int = 1
) -> list[Finding]:
    """Eight pieces of files of 200 MB on two slots; a task takes 100 ms, and 1 ms a row."""
    world = World([StageSpec([100 + count for count in rows]), StageSpec([1000] * 4)])
    world.rows["stages"][1]["parent_ids"] = [0]
    for row, count in zip(world.rows["tasks"], rows, strict=False):
        row.update(input_records_count=count, input_bytes=6000)
    scan = node(3, "Scan parquet ", None, [0], number_of_files_read=files,
                size_of_files_read=200_000_000)  # fmt: skip
    scan.simple_string = f"FileScan parquet [v#1] PushedFilters: [{pushed}], ReadSchema: …"
    change: Any = plan(scan)
    return judged_with(folder, world, rule, change).findings


@pytest.mark.parametrize("pushed", ["", "IsNotNull(v)"])
def test_a_row_group_is_read_by_one_task_however_often_its_file_is_cut(
    tmp_path: Path, pushed: str
) -> None:
    rows = [0, 0, 8000, 0, 0, 0, 0, 0]
    (found,) = of_groups(tmp_path, NOT_SPLITTABLE, rows=rows, pushed=pushed)
    assert "1 file of 191 MiB was cut into pieces for 8 tasks, of which 1 read" in found.mechanism
    assert (found.place.stage_id, found.place.operator) == (0, "Scan parquet")
    # 8.8 s of work on two slots, 70 to 100 % of the way from 8.1 s.
    assert saves(found, 8100 - 4400)
    assert "parquet.block.size" in (found.remedies[0].after or "")
    (skew,) = of_groups(tmp_path / "skew", SKEW, rows=rows, pushed=pushed)
    assert skew.remedies == found.remedies


@pytest.mark.parametrize(
    ("rows", "pushed", "files"),
    [
        ([0, 0, 8000, 0, 0, 0, 0, 0], "IsNotNull(v), GreaterThan(v,7)", 1),
        ([0, 0, 8000, 0, 0, 0, 0, 0], "", 8),
        ([1000] * 8, "", 1),
        ([0, 2000, 2000, 2000, 0, 2000, 0, 2000], "", 1),
    ],
    ids=["groups are left out", "empty files", "even", "enough groups"],
)
def test_near_misses_of_row_groups(
    tmp_path: Path, rows: list[int], pushed: str, files: int
) -> None:
    assert not of_groups(tmp_path, NOT_SPLITTABLE, rows=rows, pushed=pushed, files=files)


def test_near_miss_a_stage_of_another_application_reads_files(tmp_path: Path) -> None:
    job = reading([8000], 1024 * MIB)
    rows = job.log.rows["stages"]
    rows.append({**rows[0], "app_index": 1})
    del rows[0]["rdd_names"]
    assert not job.all_found(tmp_path, NOT_SPLITTABLE)


def test_a_job_that_only_infers_a_schema(tmp_path: Path) -> None:
    (found,) = reading([3000] * 4, 10 * MIB).found(tmp_path, INFERRED)
    assert saves(found, 3000 * 0.97)
    assert found.place.source == "csv at Load.scala:3"
    assert found.remedies[0].after is not None
    assert ".schema(" in found.remedies[0].after


def test_a_statement_that_names_files_infers_by_reading_them_as_text(tmp_path: Path) -> None:
    rdds = '[{"name":"MapPartitionsRDD","scope":{"name":"mapPartitions"}},{"name":"Scan text "}]'
    for name, found in ((rdds, 1), (rdds.replace("Scan text", "Scan parquet"), 0)):
        job = reading([3000] * 4, 10 * MIB, name="sql at Main.scala:3")
        job.log.rows["stages"][0]["rdd_names"] = name
        assert len(job.found(tmp_path / str(found), INFERRED)) == found


def test_a_job_that_writes_what_it_reads(tmp_path: Path) -> None:
    job = reading([3000] * 4, 10 * MIB, output_bytes=MIB)
    assert job.all_found(tmp_path, INFERRED) == []


def test_a_job_of_another_action(tmp_path: Path) -> None:
    job = reading([3000] * 4, 10 * MIB, name="count at Load.scala:9")
    assert job.all_found(tmp_path, INFERRED) == []


def test_what_another_application_writes_says_nothing_of_the_reader(tmp_path: Path) -> None:
    job = reading([3000] * 4, 10 * MIB)
    rows = job.log.rows["stages"]
    rows.append({**rows[0], "app_index": 1, "details": WRITER})
    assert job.found(tmp_path, INFERRED)


READER = "org.apache.spark.sql.classic.DataFrameReader.json(DataFrameReader.scala:155)\n..."
WRITER = "org.apache.spark.sql.DataFrameWriter.json(DataFrameWriter.scala:383)\n..."
IN_PYTHON = "org.apache.spark.sql.api.python.PythonSQLUtils.jsonFromDataFrame(PythonSQLUtils.scala)"


def _rdds(*scopes: str) -> str:
    return json.dumps([{"name": "MapPartitionsRDD", "scope": {"name": scope}} for scope in scopes])


OF_AN_RDD = _rdds("map", "Scan", "mapPartitions")
OF_PATHS = _rdds("parallelize", "mapPartitions")


def inferring(size: int, details: str, name: str, rdds: str = OF_AN_RDD, **more: int) -> Job:
    job = reading([3000] * 4, size, name=name, **more)
    job.log.rows["stages"][0].update(details=details, rdd_names=rdds)
    return job


@pytest.mark.parametrize(
    ("name", "details"),
    [("jsonFromDataFrame at <unknown>:0", IN_PYTHON), ("json at Load.scala:3", READER)],
)
@pytest.mark.parametrize("size", [0, 10 * MIB])
def test_a_schema_of_texts_in_a_column(tmp_path: Path, name: str, details: str, size: int) -> None:
    (found,) = inferring(size, details, name).found(tmp_path, INFERRED)
    assert saves(found, 3000 * 0.97)
    assert found.remedies[0].after is not None
    assert ".schema(" in found.remedies[0].after


def test_a_schema_of_rows_of_python(tmp_path: Path) -> None:
    job = inferring(MIB, "org.apache.spark.rdd.RDD.collect", "createDataFrame at load.py:3")
    (found,) = job.found(tmp_path, INFERRED)
    assert found.remedies[0].before == "spark.createDataFrame(rdd, samplingRatio=0.5)"


def test_of_texts_that_were_shuffled_the_last_stage_is_what_infers(tmp_path: Path) -> None:
    def shuffled(details: str) -> Job:
        job = Job()
        job.stage([1000] * 4, columns=lambda _: {"shuffle_written_bytes": MIB})
        job.stage([3000] * 4, name="json at Load.scala:3",
                  columns=lambda _: {"shuffle_read_local_bytes": MIB})  # fmt: skip
        rows = job.log.rows
        rows["stages"][1].update(job_id=0, details=details, rdd_names=OF_AN_RDD, parent_ids=[0])
        rows["jobs"][0].update(stage_ids=[0, 1], end_wall_ns=rows["jobs"].pop()["end_wall_ns"])
        return job

    (found,) = shuffled(READER).found(tmp_path / "reader", INFERRED)
    assert found.place.stage_id == 1
    assert saves(found, 3000 * 0.97)
    assert not shuffled("").all_found(tmp_path / "unknown", INFERRED)


CATALOGUE = "org.apache.spark.sql.{}.createTable(Catalog.scala:431)\n..."
OF_TEXT = _rdds("Scan text ", "DeserializeToObject", "mapPartitions", "mapPartitions")


@pytest.mark.parametrize("owner", ["catalog.Catalog", "internal.CatalogImpl"])
def test_the_catalogue_looks_for_the_types_of_a_table(tmp_path: Path, owner: str) -> None:
    name = "createTable at Load.scala:3"
    job = inferring(10 * MIB, CATALOGUE.format(owner), name, OF_TEXT)
    (found,) = job.found(tmp_path, INFERRED)
    assert saves(found, 3000 * 0.97)
    assert found.place.source == name
    assert found.remedies[0].after == "spark.catalog.createTable(name, path, source, schema)"


@pytest.mark.parametrize(
    ("size", "written"), [(0, 0), (10 * MIB, MIB)], ids=["lists files", "writes the table"]
)
def test_near_miss_a_table_whose_types_are_known(tmp_path: Path, size: int, written: int) -> None:
    details = CATALOGUE.format("catalog.Catalog")
    rdds = OF_TEXT if size else OF_PATHS
    job = inferring(size, details, "createTable at Load.scala:3", rdds, output_bytes=written)
    assert not job.all_found(tmp_path, INFERRED)


def test_near_miss_a_writer_of_the_same_name(tmp_path: Path) -> None:
    job = inferring(10 * MIB, WRITER, "json at Load.scala:3")
    assert not job.all_found(tmp_path, INFERRED)


def test_near_miss_a_reader_that_lists_files(tmp_path: Path) -> None:
    assert not inferring(0, READER, "json at Load.scala:3", OF_PATHS).all_found(tmp_path, INFERRED)


def test_healthy_rows_of_python_that_are_used(tmp_path: Path) -> None:
    job = inferring(MIB, "org.apache.spark.rdd.RDD.collect", "sum at load.py:3")
    assert not job.all_found(tmp_path, INFERRED)
