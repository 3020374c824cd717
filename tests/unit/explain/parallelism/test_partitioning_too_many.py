from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.explain.explained import Job, saves
from tests.support.explain.planted import only, samples, stack
from tests.support.tables import MS, StageSpec, World

from pyrometer.accounts.window import open_scope
from pyrometer.explain.catalogue.parallelism.partitioning_too_many import RULE
from pyrometer.explain.schema import Finding
from pyrometer.store import Run


def _run(ms: int) -> dict[str, Any]:
    return {"executor_run_time_ns": ms * MS, "shuffle_read_records_count": 10}


def test_half_of_the_time_is_spent_on_starting_tasks(tmp_path: Path) -> None:
    job = Job()
    job.stage([20] * 2_000, columns=lambda n: _run(10))
    (found,) = job.found(tmp_path, RULE)
    # 2 000 times 10 ms on four slots, but for 12 tasks.
    assert saves(found, (2_000 - 12) * 10 / 4)


def test_as_many_tasks_that_work(tmp_path: Path) -> None:
    job = Job()
    job.stage([20] * 2_000, columns=lambda n: _run(20))
    assert not job.found(tmp_path, RULE)


def test_near_miss_a_job_that_lists_files_has_a_task_for_each_path(tmp_path: Path) -> None:
    job = Job()
    job.stage([20] * 2_000, columns=lambda n: _run(10))
    job.log.rows["jobs"][-1]["description"] = "Listing leaf files and directories for 2000 paths"
    assert not job.all_found(tmp_path, RULE)


def test_few_tasks_are_started_as_slowly(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 12, columns=lambda n: _run(1_000))
    assert not job.found(tmp_path, RULE)


@pytest.mark.parametrize("seed", range(4, 8))
def test_near_miss_a_few_tasks_of_almost_one_size_seldom_cost_much_each(
    seed: int, tmp_path: Path
) -> None:
    # All of a task's time is for its rows, but a line through so little spread may end anywhere.
    rng = np.random.default_rng(seed)
    rows = rng.normal(1e6, 2e4, 20).astype(int).tolist()
    run = [int(690 * n / 1e6 + noise) for n, noise in zip(rows, rng.normal(0, 25, 20), strict=True)]
    job = Job()
    job.stage(
        [ms + 10 for ms in run],
        columns=lambda n: {"executor_run_time_ns": run[n] * MS,
                           "shuffle_read_records_count": rows[n]},
    )  # fmt: skip
    assert not job.found(tmp_path, RULE)


def _attempts(folder: Path, **first: str) -> list[Finding]:
    """Run 24 attempts that write nothing, then 24 that write, of equal length."""
    job = Job()
    written = {"shuffle_written_bytes": 1_000}
    job.stage(
        [1_000] * 48,
        columns=lambda n: {"executor_run_time_ns": 900 * MS, "task_index": n % 24,
                           "attempt": n // 24, **(first if n < 24 else written)},
    )  # fmt: skip
    job.log.rows["stages"][-1]["planned_tasks_count"] = 24
    return job.found(folder, RULE)


def test_near_miss_attempts_that_failed_are_no_tasks(tmp_path: Path) -> None:
    assert _attempts(tmp_path / "all")
    assert not _attempts(tmp_path / "failed", status="failed", reason="ExceptionFailure")


def test_the_evidence_counts_the_attempts_that_are_counted(tmp_path: Path) -> None:
    lost = {"status": "failed", "reason": "ExceptionFailure"}
    job = Job()
    job.stage(
        [200] * 48,
        columns=lambda n: {"executor_run_time_ns": 100 * MS, "task_index": n % 40,
                           "attempt": n // 40, "shuffle_written_bytes": 1_000,
                           **(lost if n < 8 else {})},
    )  # fmt: skip
    job.log.rows["stages"][-1]["planned_tasks_count"] = 40
    (found,) = job.all_found(tmp_path, RULE)
    with Run.open(tmp_path) as run:
        tables = open_scope(run, None).tables
        for one in found.evidence[:2]:
            ((value,),) = tables.query(one.query or "")
            assert value == one.estimate.value
    assert found.evidence[1].estimate.value == 40


def test_stages_behind_shuffles_have_their_number_from_one_setting(tmp_path: Path) -> None:
    job = Job()
    for _ in range(3):
        job.stage([20] * 1_000, columns=lambda n: _run(10))
    (found,) = job.found(tmp_path, RULE)
    assert "3 000 tasks of 3 stages on 4 slots" in found.mechanism
    assert found.place.stages_count == 3
    assert saves(found, 3 * (1_000 - 12) * 10 / 4)


@pytest.mark.parametrize(("each_mib", "level"), [(300, "293"), (600, None)])
def test_the_stage_that_needs_most_tasks_says_how_many(
    tmp_path: Path, each_mib: int, level: str | None
) -> None:
    job = Job()
    for size, ms in ((1_000, 30), (each_mib << 20, 20)):
        own = {**_run(10), "shuffle_read_local_bytes": size}
        job.stage([ms] * 400, columns=lambda n, own=own: own)  # type: ignore[misc]
    # A task has a third of its part of the heap, 409.6 MiB: 600 MiB want more tasks than there are.
    assert [one.remedies[0].level for one in job.all_found(tmp_path, RULE)] == [level][
        : bool(level)
    ]


def test_the_stage_on_most_slots_says_how_many_where_size_does_not(tmp_path: Path) -> None:
    job = Job()
    job.stage([30] * 400, columns=lambda n: _run(10))
    job.log.executor("3", 2, job.now_ms + 1)
    job.stage([20] * 400, columns=lambda n: _run(10))
    (found,) = job.all_found(tmp_path, RULE)
    assert found.place.stage_id == 0
    # Three for each of six slots; the costliest stage had four.
    assert found.remedies[0].level == "18"
    assert "three for each slot" in found.remedies[0].text


def test_stages_that_read_no_shuffle_are_told_one_by_one(tmp_path: Path) -> None:
    job = Job()
    for _ in range(2):
        job.stage([20] * 1_000, columns=lambda n: {"executor_run_time_ns": 10 * MS})
    assert [one.place.stages_count for one in job.found(tmp_path, RULE)] == [1, 1]


def test_one_setting_divides_all_files(tmp_path: Path) -> None:
    job = Job()
    for size in (1_000, 2_000):
        query = job.query(job.now_ms, job.now_ms + 500, [FILES])
        stage = job.stage(
            [10] * 100, sql=query,
            columns=lambda n, size=size: {  # type: ignore[misc]
                "executor_run_time_ns": 5 * MS, "input_bytes": size,
            },
        )  # fmt: skip
        job.metric(query, 0, "size of files read", 100 * size)
        job.log.rows["node_metrics"][-1]["stage_id"] = stage
    (found,) = job.found(tmp_path, RULE)
    assert found.place.stages_count == 2
    assert found.remedies[0].factor == "spark.sql.files.maxPartitionBytes"


def test_parts_are_sized_by_the_files_not_by_the_columns_that_are_read(tmp_path: Path) -> None:
    job = Job()
    for ms, count, size in ((80, 100, 100_000_000), (10, 800, 100_000_000_000)):
        query = job.query(job.now_ms, job.now_ms + 5_000, [FILES])
        stage = job.stage(
            [ms] * count, sql=query,
            columns=lambda n: {"executor_run_time_ns": 5 * MS, "input_bytes": 500_000},
        )  # fmt: skip
        job.metric(query, 0, "size of files read", size)
        job.log.rows["node_metrics"][-1]["stage_id"] = stage
    (found,) = job.found(tmp_path, RULE)
    # Of a heap of 4 GiB, 0.6 are for two slots' data, unpacked to three times their size.
    most = (4 << 30) * 0.6 / 2 / 3
    assert int(found.remedies[0].level or 0) == pytest.approx(most, rel=0.01)


def test_large_tasks_are_not_taken_for_overhead(tmp_path: Path) -> None:
    # A line leaves 0.6 s to each at no bytes, and none of them has next to none.
    job = Job()
    job.stage(
        [900 + 40 * (n % 10) for n in range(400)],
        columns=lambda n: {"executor_run_time_ns": (890 + 40 * (n % 10)) * MS,
                           "input_bytes": (80 + 10 * (n % 10)) << 20},
    )  # fmt: skip
    (found,) = job.all_found(tmp_path, RULE)
    # 10 ms are beside the run time of each task: of 400, some are still wanted.
    assert (found.saving.elapsed_ns.high or 0) <= 400 * 10 * MS / 4


def test_a_cache_that_counts_no_bytes_makes_no_task_an_empty_one(tmp_path: Path) -> None:
    # All cost in proportion to their rows, but of half of them no byte is counted.
    job = Job()
    rows = [100 + n % 50 for n in range(400)]
    job.stage(
        rows,
        columns=lambda n: {"executor_run_time_ns": rows[n] * MS, "input_records_count": rows[n],
                           "input_bytes": 1_000 * rows[n] * (n % 2)},
    )  # fmt: skip
    for one in job.all_found(tmp_path, RULE):
        assert one.saving.elapsed_ns.low is not None
        assert one.saving.elapsed_ns.low < 0.1 * sum(rows) * MS / 4


@pytest.mark.parametrize("rows", [2_000_000, 200])
def test_bytes_that_vectored_reads_left_uncounted_say_nothing_of_the_work(
    tmp_path: Path, rows: int
) -> None:
    # Time goes with rows; bytes have nothing to do with it.
    job = Job()
    job.stage(
        [810 + 80 * (n % 3) for n in range(60)],
        columns=lambda n: {"executor_run_time_ns": (800 + 80 * (n % 3)) * MS,
                           "input_bytes": 300 * (1 + n * 17 % 50),
                           "input_records_count": rows + rows // 10 * (n % 3)},
    )  # fmt: skip
    found = job.found(tmp_path, RULE)
    assert bool(found) == (rows == 200)


def test_rows_say_what_tasks_read_where_no_bytes_are_counted(tmp_path: Path) -> None:
    job = Job()
    rows = [10 + n % 50 for n in range(400)]
    job.stage(
        [100 + count for count in rows],
        columns=lambda n: {"executor_run_time_ns": (99 + rows[n]) * MS,
                           "input_records_count": rows[n]},
    )  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, (400 - 12) * 100 / 4)


@pytest.mark.parametrize("sql", [False, True])
def test_the_setting_is_the_one_that_the_stage_obeys(tmp_path: Path, sql: bool) -> None:
    job = Job()
    query = job.query(0, 10_000) if sql else None
    job.stage([20] * 2_000, columns=lambda n: _run(10), sql=query)
    (found,) = job.found(tmp_path, RULE)
    setting = "spark.sql.shuffle.partitions" if sql else "spark.default.parallelism"
    assert found.remedies[0].factor == setting


def _joined(folder: Path, how: str) -> list[Finding]:
    """Run two shuffles whose readers have other numbers of tasks, with a node that reads each."""
    job = Job()
    for count in (100, 60):
        nodes = [("AQEShuffleRead", how), ("Exchange", "Exchange hashpartitioning(a#1, 800)")]
        query = job.query(job.now_ms, job.now_ms + 500, nodes)
        written = job.stage([40] * 4, sql=query)
        read = job.stage([20] * count, sql=query, columns=lambda n: _run(10))
        for stage, name in ((written, "shuffle bytes written"), (read, "records read")):
            job.metric(query, 1, name, 1000)
            job.log.rows["node_metrics"][-1]["stage_id"] = stage
    return job.all_found(folder, RULE)


def test_partitions_joined_up_to_a_size_have_their_number_from_it(tmp_path: Path) -> None:
    (found,) = _joined(tmp_path, "AQEShuffleRead coalesced")
    assert found.place.stages_count == 2
    assert saves(found, (100 + 60 - 24) * 10 / 4)
    (way,) = found.remedies
    assert way.factor == "spark.sql.adaptive.advisoryPartitionSizeInBytes"
    # Spark's own default: as many small ones as there are slots come from another setting.
    assert way.levels == {"spark.sql.adaptive.coalescePartitions.parallelismFirst": "false"}


def test_near_miss_partitions_that_were_not_joined_are_other_causes(tmp_path: Path) -> None:
    assert [one.place.stages_count for one in _joined(tmp_path, "AQEShuffleRead local")] == [1, 1]


def _in_buckets(folder: Path, text: str) -> list[Finding]:
    job = Job()
    nodes = [("Scan parquet sales", f"FileScan parquet sales[a#1] Batched: true, {text}")]
    query = job.query(job.now_ms, job.now_ms + 500, nodes)
    stage = job.stage(
        [10] * 400, sql=query,
        columns=lambda n: {"executor_run_time_ns": 5 * MS, "input_bytes": 1000},
    )  # fmt: skip
    job.metric(query, 0, "size of files read", 400 * 1000)
    job.log.rows["node_metrics"][-1]["stage_id"] = stage
    return job.found(folder, RULE)


@pytest.mark.parametrize("count", ["400 out of 400", "800 out of 800 (Coalesced to 400)"])
def test_a_task_for_each_bucket_of_a_table(tmp_path: Path, count: str) -> None:
    (found,) = _in_buckets(tmp_path, f"Bucketed: true, SelectedBucketsCount: {count}")
    assert saves(found, (400 - 12) * 5 / 4)
    assert "bucketBy(12" in (found.remedies[0].after or "")


def test_near_miss_buckets_do_not_divide_the_scan(tmp_path: Path) -> None:
    (found,) = _in_buckets(tmp_path, "Bucketed: false (disabled by configuration)")
    assert found.remedies[0].factor == "spark.sql.files.maxPartitionBytes"


ASKED = ("Exchange", "Exchange RoundRobinPartitioning(100), REPARTITION_BY_NUM, [plan_id=7]")
NEEDED = ("Exchange", "Exchange hashpartitioning(a#1, 100), ENSURE_REQUIREMENTS, [plan_id=7]")
FILES = ("Scan parquet ", "FileScan parquet [a#1]")


@pytest.mark.parametrize(
    ("made", "remedy"),
    [
        (ASKED, "repartition(100).cache()"),
        (NEEDED, "spark.sql.shuffle.partitions"),
        (FILES, "set spark.sql.files.maxPartitionBytes to their size over 12"),
    ],
)
@pytest.mark.parametrize("scan", ["InMemoryTableScan", "Scan In-memory table t"])
def test_stages_that_read_a_cache_have_their_number_from_it(
    tmp_path: Path, made: tuple[str, str], remedy: str, scan: str
) -> None:
    job = Job()
    for _ in range(4):
        nodes = [(scan, f"{scan} [a#1]"), made]
        query = job.query(job.now_ms, job.now_ms + 500, nodes)
        stage = job.stage(
            [10] * 100, sql=query,
            columns=lambda n: {"executor_run_time_ns": 5 * MS, "input_bytes": 1000},
        )  # fmt: skip
        job.metric(query, 0, "number of output rows", 100)
        job.log.rows["node_metrics"][-1]["stage_id"] = stage
    # What else the program does is so long that each alone is within the noise.
    job.stage([4_000] * 4)
    (found,) = job.found(tmp_path, RULE)
    assert found.place.stages_count == 4
    assert saves(found, 4 * (100 - 12) * 5 / 4)
    (way,) = found.remedies
    assert remedy in " ".join(filter(None, (way.factor, way.before, way.text)))


def test_run_time_that_does_not_grow_with_the_bytes_is_a_cost_of_each_task(tmp_path: Path) -> None:
    job = Job()
    # 1 ms beside the run time; of 19 ms within it, work is 1 ms for a KiB, from none to 4 KiB.
    lengths = [18 + n % 5 for n in range(2_000)]
    job.stage(
        lengths,
        columns=lambda n: {
            **_run(lengths[n] - 1), "shuffle_read_local_bytes": 1 + 1024 * (n % 5),
        },
    )  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, (2_000 - 12) * 18 / 4)
    assert "17.0 ms more each whatever they read" in found.mechanism
    assert found.evidence[-1].estimate.value == pytest.approx(17 * MS, rel=0.05)
    assert found.saving_ratio.value == pytest.approx(18 / 20, rel=0.03)
    assert (found.saving_ratio.low or 0.0) > 0.8


def test_tasks_without_rows_are_costs_with_all_their_time(tmp_path: Path) -> None:
    job = Job()
    # One in ten has something to do, for as long as nine others last.
    job.stage(
        [180 if n % 10 == 0 else 20 for n in range(1_000)],
        columns=lambda n: {
            "executor_run_time_ns": (175 + n // 10 % 7 if n % 10 == 0 else 15) * MS,
            "shuffle_read_local_bytes": 10_000 * (170 + n // 10 % 7) if n % 10 == 0 else 0,
            "shuffle_read_records_count": 10 if n % 10 == 0 else 0,
        },
    )  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, (900 * 20 + 100 * 10) / 4)


def test_run_time_that_is_all_for_bytes_is_no_cost_of_each_task(tmp_path: Path) -> None:
    job = Job()
    lengths = [5 + 10 * (1 + n % 5) for n in range(2_000)]
    job.stage(
        lengths,
        columns=lambda n: {
            **_run(lengths[n] - 5), "shuffle_read_local_bytes": 1024 * (1 + n % 5),
        },
    )  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert found.saving_ratio.value == pytest.approx(5 / 35, rel=0.05)


def test_ranges_that_compute_much_are_not_told_to_be_overhead(tmp_path: Path) -> None:
    job = Job()
    job.stage([1_000] * 100, columns=lambda n: {"executor_run_time_ns": 999 * MS})
    assert not job.found(tmp_path, RULE)


OPENS = "org.apache.spark.shuffle.IndexShuffleBlockResolver.getBlockData"
READS = "org.apache.spark.storage.BufferReleasingInputStream.read"


def _behind(folder: Path, code: str) -> float:
    """Give what a hundred small tasks cost; two behind them spend half their CPU on some code."""
    world = World([StageSpec([10] * 100), StageSpec([300] * 2)])
    world.rows["stages"][1]["parent_ids"] = [0]
    samples(world, 0.5, stage=1, java_stack=stack(world, "java.lang.Thread.run", code))
    return only(world.write(folder), RULE).saving.elapsed_ns.value or 0.0


def test_blocks_that_are_opened_behind_them_are_a_cost_of_many_tasks(tmp_path: Path) -> None:
    opens, reads = _behind(tmp_path / "opens", OPENS), _behind(tmp_path / "reads", READS)
    # Half of the CPU and of the queue, 80 % of 300 ms, for the 94 of 100 blocks that go: as all
    # else, by the factor that is expected of the change.
    assert (opens - reads) / MS == pytest.approx(0.5 * 0.8 * 300 * 0.94, rel=0.5)
