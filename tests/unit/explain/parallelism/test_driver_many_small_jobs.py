from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.explained import Job, saves
from tests.support.tables import MS, wall

from pyrometer.explain.catalogue.parallelism.driver_many_small_jobs import RULE


def reads(rows: int) -> Callable[[int], dict[str, Any]]:
    return lambda _: {"input_records_count": rows}


def test_a_loop_of_twenty_jobs(tmp_path: Path) -> None:
    job = Job()
    for _ in range(20):
        job.stage([100] * 4, gap_ms=300, name="count at loop.py:7")
    (found,) = job.found(tmp_path, RULE)
    assert found.place.source == "count at loop.py:7"
    assert saves(found, 19 * 300)


def test_as_many_jobs_of_different_lines(tmp_path: Path) -> None:
    job = Job()
    for number in range(20):
        job.stage([100] * 4, gap_ms=300, name=f"count at once.py:{number}")
    assert not job.all_found(tmp_path, RULE)


def test_rounds_without_a_pause(tmp_path: Path) -> None:
    job = Job()
    for _ in range(20):
        job.stage([1_000] * 4, gap_ms=1, name="count at loop.py:7")
    assert not job.found(tmp_path, RULE)


def test_rounds_that_read_what_the_first_cached(tmp_path: Path) -> None:
    job = Job()
    for number in range(20):
        rows = 1_000 if number == 0 else 16
        job.stage([100] * 4, gap_ms=100, name="count at loop.py:7",
                  columns=reads(rows))  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert "Each round read as many rows." in found.mechanism
    # The pauses, and all rounds but the one that fills the cache and one that reads it.
    assert saves(found, 19 * 100 + 18 * 100)


def test_rounds_that_read_other_rows_save_what_each_task_needs_all_the_same(tmp_path: Path) -> None:
    job = Job()
    for number in range(40):
        job.stage([20] * 8, gap_ms=50, name="parquet at loop.py:7",
                  columns=reads(100 + number))  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert "as many rows" not in found.mechanism
    saving = found.saving.elapsed_ns
    # 39 pauses of 50 ms, and 38 rounds of two times 20 ms: the first may have filled a cache.
    assert saving.value is not None
    assert saving.value > 39 * 50 * MS
    assert saves(found, 0.95 * (39 * 50 + 38 * 40))


NAMES = (
    "count at NativeMethodAccessorImpl.java:0",
    "count at <unknown>:0",
    "$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768",
)
"""How Spark names one line of a program in Python."""
Nodes = Sequence[tuple[str, str]]


def count_of(column: str, value: object, table: str = "t") -> Nodes:
    return [
        ("HashAggregate", "HashAggregate(keys=[], functions=[count(1)])"),
        ("Filter", f"Filter (isnotnull({column}#{value}) AND ({column}#{value} = {value}))"),
        ("InMemoryTableScan", f"InMemoryTableScan [{column}#{value}], [({column}#1 = {value})]"),
        ("Scan parquet ", f"FileScan parquet [a#1] Batched: true, Location: {table}"),
    ]


def ask(
    job: Job, nodes: Nodes, name: str = NAMES[0], pause_ms: int = 20, length_ms: int = 60,
    jobs: int = 1, rows: int = 0, passed: int | None = None, said: str | None = None,
) -> None:  # fmt: skip
    """Run a query: 100 ms until each of its jobs, which has a task for each of four slots."""
    start = job.now_ms + pause_ms
    sql = job.query(start, start, nodes)
    for number in range(jobs):
        job.stage([length_ms] * 4, gap_ms=100 + (0 if number else pause_ms), name=name, sql=sql,
                  columns=reads(rows))  # fmt: skip
    job.log.rows["sql_executions"][-1].update(
        end_wall_ns=wall(job.now_ms), description=name if said is None else said
    )
    if passed is not None:
        job.metric(sql, 1, "number of output rows", passed)
        job.metric(sql, 2, "number of output rows", 4 * rows)


def test_one_line_of_python_is_one_loop_however_spark_names_it(tmp_path: Path) -> None:
    job = Job()
    for value, name in zip(range(30), cycle(NAMES)):
        ask(job, count_of("day", value), name, said=NAMES[value % 2])
    (found,) = job.all_found(tmp_path, RULE)
    assert found.shown
    assert found.mechanism.startswith("30 rounds that each give one row of the same input (count")
    assert saves(found, 29 * 120)
    assert "df.agg(*(F.count_if(" in (found.remedies[0].after or "")


def test_two_queries_in_the_body_of_a_loop_are_one_finding(tmp_path: Path) -> None:
    job = Job()
    for value in range(15):
        ask(job, count_of("day", value))
        _, *below = count_of("hour", value)
        ask(job, [("HashAggregate", "HashAggregate(keys=[k#1], functions=[count(1)])"), *below])
    (found,) = job.all_found(tmp_path, RULE)
    assert found.mechanism.startswith("15 rounds")
    assert "30 jobs in all" in found.mechanism
    assert saves(found, 28 * 120)


@pytest.mark.parametrize("name", [NAMES[0], "count at once.py:7"])
def test_ten_different_queries(tmp_path: Path, name: str) -> None:
    job = Job()
    for number in range(10):
        column = f"column_{chr(97 + number)}"
        _, *below = count_of(column, 1)
        ask(
            job,
            [("HashAggregate", f"HashAggregate(keys=[{column}#1], functions=[])"), *below],
            name,
        )
    assert not job.all_found(tmp_path, RULE)


def test_ten_counts_of_ten_tables(tmp_path: Path) -> None:
    job = Job()
    for number in range(10):
        ask(job, count_of(f"column_{chr(97 + number)}", 1, f"table_{chr(97 + number)}"))
    assert not job.all_found(tmp_path, RULE)


def test_checks_of_every_column_of_one_table(tmp_path: Path) -> None:
    job = Job()
    for number in range(30):
        ask(job, count_of(f"column_{chr(97 + number % 26)}{number}", 1))
    (found,) = job.all_found(tmp_path, RULE)
    assert found.shown
    assert found.mechanism.startswith("30 rounds that each give one row of the same input (count")
    assert saves(found, 29 * 120)


def test_iterations_of_a_benchmark(tmp_path: Path) -> None:
    job = Job()
    for iteration in range(6):
        for column in ("day", "hour", "minute"):
            ask(job, count_of(column, 1))
            job.log.rows["jobs"][-1]["iteration"] = iteration
    assert not job.all_found(tmp_path, RULE)


def test_the_very_same_query_again_and_again(tmp_path: Path) -> None:
    job = Job()
    for _ in range(6):
        for column in ("day", "hour"):
            ask(job, count_of(column, 1))
    assert not job.all_found(tmp_path, RULE)


def test_a_program_that_waits_between_its_queries(tmp_path: Path) -> None:
    job = Job()
    for value in range(12):
        ask(job, count_of("batch", value), pause_ms=3_000)
    assert not job.all_found(tmp_path, RULE)


LENGTHS = (600, 100, 240, 70, 300, 90, 150, 400, 80, 200, 120, 30)
"""Of the tasks of each batch of a stream."""
FILE: Nodes = [("Scan parquet ", "FileScan parquet [a#1] Batched: true, Location: t")]


def stream(pauses: Sequence[int], rows: Sequence[int], files: int | None = None) -> Job:
    """Run batches of `LENGTHS`: 100 ms and one stage each."""
    job = Job()
    for n, (length, pause, read) in enumerate(zip(LENGTHS, pauses, rows, strict=True)):
        ask(job, FILE, pause_ms=pause, length_ms=length, rows=read,
            said=f"id = 5 runId = 8 batch = {n}")  # fmt: skip
        if files is not None:
            job.metric(n, 0, "number of files read", files)
    return job


SOON = (150, 160) * 6
"""Pauses of a stream that waits for nothing."""


@pytest.mark.parametrize(
    ("rows", "files", "fixed"),
    [([10 * length for length in LENGTHS], 1, 0), ([*[5_000, 5_050] * 5, 5_000, 100], None, 30)],
    ids=["files", "rows"],
)
def test_batches_of_a_stream_under_a_limit(
    tmp_path: Path, rows: Sequence[int], files: int | None, fixed: int
) -> None:
    (found,) = stream(SOON, rows, files).all_found(tmp_path, RULE)
    assert found.shown
    assert found.mechanism.startswith("12 micro-batches of a stream, of equal size by a limit")
    assert "maxFilesPerTrigger" in (found.remedies[0].after or "")
    saving = found.saving.elapsed_ns
    # Two batches stay of twelve: ten pauses and beginnings go, and what each task needs anyway.
    assert saving.value == pytest.approx(10 * (155 + 100 + fixed) * MS, rel=0.1)
    assert saves(found, 11 * (155 + 100))


def test_batches_of_a_stream_that_take_what_came_meanwhile(tmp_path: Path) -> None:
    rows = [10 * length for length in LENGTHS]
    assert not stream(SOON, rows).all_found(tmp_path, RULE)


def test_batches_of_a_stream_that_waits_for_files(tmp_path: Path) -> None:
    pauses = [50, *(850 - 100 - length for length in LENGTHS[:-1])]
    assert not stream(pauses, [5_000] * 12, 1).all_found(tmp_path, RULE)
    irregular = (120, 900, 300, 30, 700, 200, 20, 500, 60, 800, 400, 10)
    assert not stream(irregular, [5_000] * 12, 1).all_found(tmp_path / "2", RULE)


def test_a_stream_that_takes_all_at_once(tmp_path: Path) -> None:
    job = Job()
    ask(job, FILE, length_ms=2_600, rows=60_000, said="id = 5 runId = 8 batch = 0")
    assert not job.all_found(tmp_path, RULE)


def test_batches_in_which_the_program_runs_queries(tmp_path: Path) -> None:
    def of(nested: bool) -> float:
        job = stream(SOON, [5_000] * 12, 1)
        if nested:
            rows = job.log.rows
            for n in range(12):
                inner = job.query(0, 0)
                rows["sql_executions"][-1].update(root_sql_id=n, **{
                    name: rows["sql_executions"][n][name]
                    for name in ("start_wall_ns", "end_wall_ns", "description")
                })  # fmt: skip
                rows["jobs"][n]["sql_id"] = rows["stages"][n]["sql_id"] = inner
        (found,) = job.all_found(tmp_path / str(nested), RULE)
        assert found.saving.elapsed_ns.low is not None
        return found.saving.elapsed_ns.low / MS

    # What the driver does within a batch may be the program's.
    assert of(nested=True) == pytest.approx(of(nested=False) - 10 * 100, rel=0.1)


def test_one_query_of_many_jobs(tmp_path: Path) -> None:
    job = Job()
    for name in NAMES:
        ask(job, count_of("day", 1), name, jobs=12)
        ask(job, count_of("hour", 1), name, jobs=12)
    assert not job.all_found(tmp_path, RULE)


def test_the_loop_as_one_query(tmp_path: Path) -> None:
    job = Job()
    ask(job, [("HashAggregate", "HashAggregate(keys=[day#1], functions=[count(1)])")])
    assert not job.all_found(tmp_path, RULE)


@pytest.mark.parametrize(("passed", "goes"), [(400, 30 / 31), (12_000, 1 / 2)])
def test_what_passes_a_rounds_own_filter_stays(tmp_path: Path, passed: int, goes: float) -> None:
    job = Job()
    for value in range(30):
        ask(job, count_of("day", value), length_ms=200, rows=3_000, passed=passed)
    (found,) = job.found(tmp_path, RULE)
    assert "Each round read as many rows." in found.mechanism
    saving = found.saving.elapsed_ns
    # 30 ms of each task at most are its own, whatever it reads.
    truth = 29 * (110 + 30 + 170 * goes) * MS
    assert saving.value == pytest.approx(truth, rel=0.06)
    assert saves(found, 29 * 120)
    assert saves(found, 29 * 320)
