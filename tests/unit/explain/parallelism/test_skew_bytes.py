from pathlib import Path

import pytest
from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.skew_bytes import RULE
from pyrometer.explain.schema import Finding

MB = 1_000_000


def _job(lengths: list[int], megabytes: list[int]) -> Job:
    job = Job()
    job.stage(lengths, columns=lambda n: {"shuffle_read_local_bytes": megabytes[n] * MB})
    return job


def test_the_task_that_read_most_is_why_the_stage_is_long(tmp_path: Path) -> None:
    lengths = [*[1_000, 1_010, 990, 1_000, 1_005] * 3, 12_000]
    found = _job(lengths, [*[10] * 15, 120]).found(tmp_path, RULE)
    assert [one.place.stage_id for one in found] == [0]
    # Measured: 3 s and 12 s; spread evenly: 27 s of work on 4 slots.
    assert saves(found[0], 15_000 - 27_015 / 4)


def test_a_long_task_that_read_no_more_is_another_cause(tmp_path: Path) -> None:
    lengths = [*[1_000, 1_010, 990, 1_000, 1_005] * 3, 12_000]
    megabytes = [*[10, 11, 9, 10, 11] * 3, 10]
    assert not _job(lengths, megabytes).found(tmp_path, RULE)


def test_even_tasks(tmp_path: Path) -> None:
    lengths = [1_000, 1_010, 990, 1_000] * 4
    assert not _job(lengths, [10, 11, 9, 10] * 4).found(tmp_path, RULE)


def test_tasks_of_a_size_in_a_last_round_of_their_own_are_not_skewed(tmp_path: Path) -> None:
    assert not _job([1_000, 1_001, 999, 1_000, 1_002], [10, 11, 9, 10, 12]).found(tmp_path, RULE)


def _skewed(folder: Path, median: int, *nodes: str, read: str = "shuffle_read_local") -> Finding:
    """Give the finding on a stage in which the first of some operators ran."""
    lengths = [*[1_000, 1_010, 990, 1_000, 1_005] * 3, 12_000]
    sizes = [*[median * MB] * 15, 12 * median * MB]
    rows = "input" if read == "input" else "shuffle_read"
    job = Job()
    query = job.query(0, 15_000, [(name, name) for name in nodes])
    stage = job.stage(
        lengths, sql=query,
        columns=lambda n: {f"{read}_bytes": sizes[n], f"{rows}_records_count": sizes[n] // 100},
    )  # fmt: skip
    for node in range(len(nodes)):
        job.metric(query, node, "number of output rows", 100)
        job.log.rows["node_metrics"][-1]["stage_id"] = stage
    (found,) = job.found(folder, RULE)
    return found


@pytest.mark.parametrize(("median", "level"), [(10, str(20 * MB)), (100, None)])
def test_parts_are_as_small_as_what_is_split(
    tmp_path: Path, median: int, level: str | None
) -> None:
    (remedy,) = _skewed(tmp_path, median, "SortMergeJoin").remedies
    assert remedy.factor == "spark.sql.adaptive.skewJoin.skewedPartitionFactor"
    assert remedy.levels.get("spark.sql.adaptive.advisoryPartitionSizeInBytes") == level


def test_a_join_below_an_aggregate_is_split_only_if_that_is_forced(tmp_path: Path) -> None:
    split, salt = _skewed(tmp_path, 10, "HashAggregate", "SortMergeJoin LeftOuter").remedies
    assert split.levels["spark.sql.adaptive.forceOptimizeSkewedJoin"] == "true"
    assert salt.example


def test_where_nothing_is_joined_no_setting_of_joins_comes_first(tmp_path: Path) -> None:
    grouped = _skewed(tmp_path / "a", 10, "HashAggregate")
    scanned = _skewed(tmp_path / "b", 10, "Scan parquet", read="input")
    other = _skewed(tmp_path / "c", 10, "Sort")
    assert [one.text for one in grouped.remedies] == ["group by key and salt, then by key"]
    assert "spark.sql.files.maxPartitionBytes" in scanned.remedies[0].text
    assert [one.kind for one in other.remedies] == ["code"]


def test_a_largest_task_of_the_median_is_not_told_in_times(tmp_path: Path) -> None:
    lengths = [*[1_000, 1_010, 990, 1_000, 1_005] * 3, 1_200]
    for one in _job(lengths, [*[100] * 15, 101]).all_found(tmp_path, RULE):
        assert "1.01 times" not in one.mechanism
        assert "read 96.3 MiB, and the median task 95.4 MiB" in one.mechanism
