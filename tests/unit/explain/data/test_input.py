from __future__ import annotations

import json
from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.data.scan_not_splittable import RULE as NOT_SPLITTABLE
from pyrometer.explain.catalogue.data.scan_schema_inferred import RULE as INFERRED

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
