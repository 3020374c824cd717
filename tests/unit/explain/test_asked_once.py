"""What a judgement asks of the database: nothing that it need not ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.tables import StageSpec, World

from pyrometer.explain.findings import explain
from pyrometer.store import Run


class Counting:
    """A connection that notes what it is asked."""

    def __init__(self, connection: Any) -> None:
        self._connection, self.asked = connection, list[str]()

    def execute(self, sql: str, *more: object) -> Any:
        self.asked.append(sql)
        return self._connection.execute(sql, *more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_gaps_between_queries_are_not_looked_up_among_them(tmp_path: Path) -> None:
    stages = [StageSpec([500] * 8, sql_id=None), StageSpec([100] * 4, sql_id=None)]
    folder = World(stages).write(tmp_path, {"apps", "stages", "tasks", "executors"})
    with Run.open(folder) as run:
        counting: Any = Counting(run.tables.connection)
        run.tables.connection = counting
        explain(run)
    assert counting.asked
    assert not any("description FROM sql_executions" in sql for sql in counting.asked)


def test_the_attempts_of_a_window_are_planned_once(tmp_path: Path) -> None:
    with Run.open(World([StageSpec([500] * 8)]).write(tmp_path)) as run:
        explain(run)
        kind = "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'w_tasks'"
        assert run.tables.scalar(kind) == 1
