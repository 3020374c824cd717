from pathlib import Path

import pytest
from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.straggler_tail import RULE
from pyrometer.explain.schema import Remedy

SHORT = [1_000, 1_010, 990, 1_000] * 4


def test_a_long_task_that_comes_last(tmp_path: Path) -> None:
    job = Job()
    job.stage([*SHORT, 4_000])
    (found,) = job.found(tmp_path, RULE)
    assert found.place.stage_id == 0
    # 4 s and then 4 s, where 20 s of work end at about 5 s.
    assert saves(found, 8_000 - 5_000)


def test_the_same_task_first(tmp_path: Path) -> None:
    job = Job()
    job.stage([4_000, *SHORT])
    assert not job.found(tmp_path, RULE)


def test_tasks_alike(tmp_path: Path) -> None:
    job = Job()
    job.stage(SHORT)
    assert not job.found(tmp_path, RULE)


def _remedy(folder: Path, **columns: int) -> Remedy:
    job = Job()
    query = job.query(0, 10_000)
    job.stage([*SHORT, 4_000], sql=query, columns=lambda _: dict(columns))
    (found,) = job.found(folder, RULE)
    return found.remedies[0]


def test_more_partitions_of_a_shuffle_are_not_to_be_joined_again(tmp_path: Path) -> None:
    remedy = _remedy(tmp_path, shuffle_read_records_count=10)
    assert (remedy.factor, remedy.level) == ("spark.sql.shuffle.partitions", "68")
    assert remedy.levels == {"spark.sql.adaptive.coalescePartitions.enabled": "false"}


def test_a_cache_beside_a_shuffle_is_no_file_to_divide(tmp_path: Path) -> None:
    remedy = _remedy(tmp_path, shuffle_read_records_count=10, input_bytes=1_000)
    assert (remedy.factor, remedy.level) == ("spark.sql.shuffle.partitions", "68")


@pytest.mark.parametrize(
    ("made", "way"),
    [
        ("Exchange hashpartitioning(a#1, 17), ENSURE_REQUIREMENTS", "spark.sql.shuffle.partitions"),
        ("Exchange RoundRobinPartitioning(17), REPARTITION_BY_NUM", "repartition(68).cache()"),
        ("", "repartition(68).cache()"),
    ],
)
def test_a_cache_is_divided_as_it_was_made(tmp_path: Path, made: str, way: str) -> None:
    job = Job()
    below = [("Exchange", made)] if made else [("Range", "Range (0, 100)")]
    nodes = [("InMemoryTableScan", "InMemoryTableScan [a#1]"), *below]
    query = job.query(0, 10_000, nodes)
    stage = job.stage([*SHORT, 4_000], sql=query, columns=lambda _: {"input_bytes": 1_000})
    job.metric(query, 0, "number of output rows", 100)
    job.log.rows["node_metrics"][-1]["stage_id"] = stage
    (found,) = job.found(tmp_path, RULE)
    remedy = found.remedies[0]
    assert way in " ".join(filter(None, (remedy.factor, remedy.after)))


def test_near_miss_partitions_of_a_shuffle_do_not_divide_files(tmp_path: Path) -> None:
    assert "read the files in about 68 parts" in _remedy(tmp_path, input_bytes=1_000).text
