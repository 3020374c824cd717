"""States of threads belong to the task of their time."""

from __future__ import annotations

from pathlib import Path

from tests.support.sleeps import Part, observe
from tests.support.tables import MS, PID, write_tables

from pyrometer.store import Tables
from pyrometer.store.ingest import native
from pyrometer.store.states.extended_stacks import join_states


def test_a_state_is_of_the_span_of_its_time(tmp_path: Path) -> None:
    """A second SparkContext of a JVM counts its tasks from 0 again."""
    made = observe([Part(3_000 * MS, 0, task=task) for task in (7, 8, 7)], 5)
    *_, again = made.rows["spans"]
    again.update(job_id=0, stage_id=4, sql_id=None, iteration=None)
    worker = {"pid": PID + 1, "task_attempt_id": 7}
    made.add("thread_states", **{**made.rows["thread_states"][-1], **worker})
    write_tables(tmp_path, made.rows)
    join_states(tmp_path / "tables", native())
    with Tables(tmp_path / "tables") as tables:
        found = tables.query(
            "SELECT DISTINCT pid, stage_id, job_id, sql_id, iteration FROM samples"
            " WHERE source = 'probe' AND task_attempt_id = 7"
        )
    assert set(found) == {
        (PID, 3, 2, 1, 1), (PID, 4, 0, None, None), (PID + 1, None, 0, None, None),
    }  # fmt: skip
