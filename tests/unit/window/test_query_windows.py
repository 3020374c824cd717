"""A window of one query: of one SQL execution, or of all measured ones of a description."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.explained import Job

from pyrometer.core.errors import UsageError
from pyrometer.store import Run
from pyrometer.window.scope import Scope
from pyrometer.window.windows import choose


def three_queries(folder: Path) -> Path:
    """Run a query of 1 s, one of 2 s, and the first again, with 500 ms between them."""
    job = Job()
    for length, name in ((1_000, "q01"), (2_000, "q02"), (1_000, "q01")):
        sql = job.query(job.now_ms + 500, job.now_ms + 500 + length)
        job.log.rows["sql_executions"][-1]["description"] = name
        job.stage([length] * 4, gap_ms=500, sql=sql)
    return job.log.write(folder)


def stages(run: Run, name: str) -> list[int]:
    scope = Scope(run, choose(run, name))
    rows = scope.tables.query("SELECT stage_id FROM w_stages ORDER BY 1")
    assert scope.tables.scalar("SELECT count(*) FROM w_tasks") == 4 * len(rows)
    assert scope.tables.scalar("SELECT count(*) FROM w_sql") == len(rows)
    return [stage for (stage,) in rows]


def test_an_execution_has_its_stages_and_its_time(tmp_path: Path) -> None:
    with Run.open(three_queries(tmp_path)) as run:
        assert stages(run, "sql/1") == [1]
        assert choose(run, "sql/1").length_ns == 2_000_000_000


def test_executions_of_one_description_are_one_window_without_what_is_between(
    tmp_path: Path,
) -> None:
    with Run.open(three_queries(tmp_path)) as run:
        assert stages(run, "query/q01") == [0, 2]
        window = choose(run, "query/q01")
    assert (len(window.intervals), window.length_ns) == (2, 2_000_000_000)


@pytest.mark.parametrize("name", ["sql/3", "query/q03", "query/", "sql/", "sql"])
def test_what_is_no_query_of_the_run_is_refused_with_what_there_is(
    tmp_path: Path, name: str
) -> None:
    with Run.open(three_queries(tmp_path)) as run, pytest.raises(UsageError) as refused:
        choose(run, name)
    assert "query/NAME (as query/q01)" in (refused.value.remedy or "")


def test_a_query_beside_another_is_refused(tmp_path: Path) -> None:
    job = Job()
    for _ in range(2):
        sql = job.query(0, 1_000)
        job.stage([400] * 4, sql=sql)
    with Run.open(job.log.write(tmp_path)) as run, pytest.raises(UsageError) as refused:
        choose(run, "sql/0")
    assert "SQL execution 1 ran at the same time" in str(refused.value)


def test_an_execution_within_another_is_part_of_it(tmp_path: Path) -> None:
    job = Job()
    job.query(0, 1_000)
    inner = job.query(100, 900)
    job.log.rows["sql_executions"][-1]["root_sql_id"] = 0
    job.stage([400] * 4, gap_ms=100, sql=inner)
    with Run.open(job.log.write(tmp_path)) as run:
        assert [row for (row,) in Scope(run, choose(run, "sql/0")).tables.query(
            "SELECT stage_id FROM w_stages"
        )] == [0]  # fmt: skip


def test_a_query_beside_a_job_of_no_query_is_refused(tmp_path: Path) -> None:
    job = Job()
    sql = job.query(0, 1_000)
    job.stage([400] * 4, sql=sql)
    job.stage([400] * 4)
    with Run.open(job.log.write(tmp_path)) as run, pytest.raises(UsageError) as refused:
        choose(run, "sql/0")
    assert "job 1 ran at the same time" in str(refused.value)


def test_a_query_beside_one_that_never_ended_is_refused(tmp_path: Path) -> None:
    job = Job()
    sql = job.query(0, 1_000)
    job.stage([400] * 4, sql=sql)
    job.query(500, 600)
    job.log.rows["sql_executions"][-1]["end_wall_ns"] = None
    with Run.open(job.log.write(tmp_path)) as run, pytest.raises(UsageError) as refused:
        choose(run, "sql/0")
    assert "SQL execution 1 ran at the same time" in str(refused.value)
