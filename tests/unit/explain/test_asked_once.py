"""What a judgement asks of the database: nothing twice, and nothing of tables without rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tests.support.asking import asked_of
from tests.support.tables import StageSpec, World

from pyrometer.core import schema
from pyrometer.explain.findings import explain
from pyrometer.store import Run


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], set[str]]:
    """What is asked to judge a run of Spark without SQL, and which tables it has rows of."""
    folder = World([StageSpec([500] * 8, sql_id=None), StageSpec([100] * 4, sql_id=None)]).write(
        tmp_path_factory.mktemp("run"), {"apps", "stages", "tasks", "executors"}
    )
    with Run.open(folder) as run:
        found = asked_of(run.tables)
        explain(run)
        return found, {name for name in schema.tables() if run.tables.has(name)}


def test_nothing_is_asked_twice(asked: tuple[list[str], set[str]]) -> None:
    twice = [sql for sql, times in Counter(asked[0]).items() if times > 1]
    assert [sql for sql in twice if "FROM l_returned" not in sql] == []  # arrays are not kept


def test_a_query_of_a_table_without_rows_is_not_asked(asked: tuple[list[str], set[str]]) -> None:
    statements, there = asked
    assert there == {"apps", "stages", "tasks", "executors"}
    empty = "|".join(schema.tables().keys() - there)
    single = re.compile(rf"SELECT [^()]* FROM (main[.])?({empty})( WHERE [^()]*)?( ORDER BY .*)?")
    assert [sql for sql in statements if single.fullmatch(" ".join(sql.split()))] == []


def test_gaps_between_queries_are_not_looked_up_among_them(
    asked: tuple[list[str], set[str]],
) -> None:
    assert not any("description FROM sql_executions" in sql for sql in asked[0])


def test_the_attempts_of_a_window_are_planned_once(tmp_path: Path) -> None:
    with Run.open(World([StageSpec([500] * 8)]).write(tmp_path)) as run:
        explain(run)
        kind = "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'w_tasks'"
        assert run.tables.scalar(kind) == 1
