"""Spans and samples belong to the application that their JVM ran at the time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.simulation.contexts import BETWEEN_MS, two_contexts
from tests.support.tables import MS, OFFSET, mono

from pyrometer.accounts.ledger.sums import Only, group_by, prepare, sums
from pyrometer.accounts.window import open_scope
from pyrometer.store import Run


@pytest.mark.parametrize("clock", ["mono", "wall"])
def test_samples_are_of_the_application_of_their_time(tmp_path: Path, clock: str) -> None:
    made = two_contexts()
    if clock == "wall":
        for row in made.rows["samples"]:
            row |= {"clock": "wall", "t_ns": row["t_ns"] + OFFSET}
    second = mono(BETWEEN_MS) + (OFFSET if clock == "wall" else 0)
    with Run.open(made.write(tmp_path)) as run:
        scope = open_scope(run, "application")
        found = scope.tables.query(
            f"SELECT DISTINCT app_index, t_ns >= {second} FROM w_samples ORDER BY 1"
        )
        assert scope.tables.scalar("SELECT count(*) FROM w_samples") == len(made.rows["samples"])
    assert found == [(0, False), (1, True)]


def test_tasks_of_one_number_have_the_spans_of_their_own_application(tmp_path: Path) -> None:
    with Run.open(two_contexts().write(tmp_path)) as run:
        scope = open_scope(run, "application")
        prepare(scope)
        groups, _ = group_by(scope, "stage", Only(), 10)
        found = sums(scope, groups)
    assert {
        group.keys["app_index"]: (found[group.number].attempts, found[group.number].spans)
        for group in groups
    } == {0: (1, 1), 1: (2, 2)}


def test_workers_of_python_work_for_the_application_that_drove_them(tmp_path: Path) -> None:
    made = two_contexts()
    # Two samples in and after task 0 of the first application, one in task 0 of the second.
    for at, used in ((150, 10), (240, 5), (BETWEEN_MS + 200, 40)):
        made.add("samples", pid=777, tid=777, t_ns=mono(at), clock="mono", source="python",
                 event="cpu", weight=used * MS, unit="ns", role="python", task_attempt_id=0,
                 stage_id=0, thread_name="Python worker")  # fmt: skip
    with Run.open(made.write(tmp_path)) as run:
        scope = open_scope(run, "application")
        prepare(scope)
        groups, _ = group_by(scope, "stage", Only(), 10)
        found = sums(scope, groups)
    assert {group.keys["app_index"]: found[group.number].python for group in groups} == {
        0: (15 * MS, 2),
        1: (40 * MS, 1),
    }


def test_a_span_without_an_end_lasts_as_long_as_its_own_application(tmp_path: Path) -> None:
    made = two_contexts()
    made.rows["spans"][0]["end_mono_ns"] = made.rows["spans"][-1]["end_mono_ns"] = None
    ends = [row["end_mono_ns"] for row in made.rows["processes"]]
    with Run.open(made.write(tmp_path)) as run:
        found = open_scope(run, "application").tables.query(
            "SELECT app_index, max(end_ns) FROM w_spans GROUP BY 1 ORDER BY 1"
        )
    assert found == [(0, ends[0]), (1, ends[1])]
