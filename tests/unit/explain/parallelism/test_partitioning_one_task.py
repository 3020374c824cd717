from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.partitioning_one_task import RULE


def test_one_task_for_four_slots(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000, 2_010] * 8)
    sql = job.query(8_000, 20_000, [("Coalesce", "Coalesce 1")])
    job.stage([10_000], sql=sql)
    (found,) = job.found(tmp_path, RULE)
    assert (found.place.stage_id, found.place.sql_id) == (1, sql)
    assert "coalesce(1)" in found.mechanism
    # Half of it is put together again: 10 s become 6.25 s; all of it divided: 2.5 s.
    assert saves(found, 3_750)
    assert saves(found, 7_500)


def test_a_merge_of_few_rows(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000, 2_010] * 8)
    job.stage([50])
    assert not job.found(tmp_path, RULE)


def test_one_slot_alone_has_nobody_to_share_with(tmp_path: Path) -> None:
    job = Job(executors=1, cores=1)
    job.stage([10_000])
    assert not job.all_found(tmp_path, RULE)
