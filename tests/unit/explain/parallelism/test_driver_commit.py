from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.driver_commit import RULE


def _job(commit_ms: int, output: int) -> Job:
    job = Job()
    sql = job.query(0, 2_100 + commit_ms)
    job.stage([1_000] * 8, gap_ms=100, sql=sql, columns=lambda n: {"output_bytes": output})
    job.now_ms += commit_ms
    return job


def test_a_commit_of_five_seconds(tmp_path: Path) -> None:
    (found,) = _job(5_000, 1_000_000).found(tmp_path, RULE)
    assert (found.place.layer, found.place.stage_id) == ("driver", 0)
    assert saves(found, 5_000)


def test_a_query_that_wrote_nothing_commits_nothing(tmp_path: Path) -> None:
    assert not _job(5_000, 0).all_found(tmp_path, RULE)


def test_a_short_commit(tmp_path: Path) -> None:
    assert not _job(20, 1_000_000).found(tmp_path, RULE)
