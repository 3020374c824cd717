"""What a JVM did after its recording had ended is unknown, and not zero."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.tables import HOST, MS, PID, StageSpec, World, mono, wall

from pyrometer.accounts.window import open_scope
from pyrometer.core.doubt import Doubt
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import GC_LOG
from pyrometer.store import Run
from pyrometer.summary import terminal
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summarise, summary

CODE = "recording_ended"


@pytest.fixture
def world() -> World:
    """Make two iterations, of which the first is recorded: its last task ends at 175 ms."""
    made = World([StageSpec([40, 30], iteration=0), StageSpec([40, 50], iteration=1)])
    for at in (130, 220):
        made.add("gc_pauses", host=HOST, pid=PID, gc_id=at, collector="G1", kind="young",
                 start_mono_ns=mono(at), start_wall_ns=wall(at), duration_ns=MS)  # fmt: skip
    return made


def ended(made: World, at_ms: int) -> World:
    """Take what was not recorded any more from a world."""
    made.rows["processes"][0]["recorded_until_mono_ns"] = mono(at_ms)
    for table, time in (
        ("spans", "end_mono_ns"),
        ("samples", "t_ns"),
        ("gc_pauses", "start_mono_ns"),
    ):
        made.rows[table] = [row for row in made.rows[table] if row[time] < mono(at_ms)]
    return made


def doubts(found: Summary) -> list[Doubt]:
    return [doubt for doubt in found.doubts if doubt.code == CODE]


def text(found: Summary) -> str:
    out = io.StringIO()
    terminal.show_sections(Console(file=out, width=200), found, ["gc", "jvm", "memory"])
    return out.getvalue()


def test_sums_of_later_times_are_unknown(world: World, tmp_path: Path) -> None:
    made = ended(world, 180)
    with Run.open(made.write(tmp_path)) as run:
        before = summary(run, "iteration/0")
        after, whole = summary(run, "iteration/1"), summary(run, "application")
    assert (before.gc.pauses_count, doubts(before)) == (1, [])
    assert before.operators[0].on_cpu_ns
    for found in (after, whole):
        assert found.gc.pauses_count is None
        assert found.gc.reason == f"driver on {HOST} was not recorded to the end of this window"
        for part in (found.jvm.gc, found.jvm.safepoints, found.memory.allocation):
            assert part.reason == found.gc.reason
        assert len(doubts(found)) == 1
        assert found.gc.reason in text(found)
        assert (found.operators, found.code.reason) == ([], found.gc.reason)
    assert (
        "1 JVM recorded only the beginning of this window: driver on lab (16.0 ms of"
        in doubts(after)[0].message
    )


def test_shares_of_samples_stay_where_next_to_none_is_missing(world: World, tmp_path: Path) -> None:
    with Run.open(ended(world, world.end_ms - 20).write(tmp_path)) as run:
        found = summary(run, "application")
    assert sum(operator.on_cpu_ns or 0 for operator in found.operators) > 100 * MS
    assert (found.gc.pauses_count, len(doubts(found))) == (None, 1)


def test_task_time_is_sparks_where_spans_are_missing(world: World, tmp_path: Path) -> None:
    cpu = sum(row["executor_cpu_time_ns"] for row in world.rows["tasks"])
    with Run.open(ended(world, 180).write(tmp_path)) as run:
        found = summary(run, "application")
    assert found.cpu_base.task_threads_ns == cpu
    assert abs(found.ledger.slot_view.closure_ratio) < 0.01
    assert "event log alone" in (found.ledger.slot_view.reason or "")


def test_a_jvm_that_ended_before_its_recording_is_known(world: World, tmp_path: Path) -> None:
    (driver,) = world.rows["processes"]
    driver["recorded_until_mono_ns"] = driver["end_mono_ns"] + MS
    with Run.open(world.write(tmp_path)) as run:
        found = summary(run, "application")
    assert (found.gc.pauses_count, doubts(found)) == (2, [])


def test_a_jvm_that_was_full_before_its_application_is_unknown(
    world: World, tmp_path: Path
) -> None:
    with Run.open(ended(world, -10).write(tmp_path)) as run:
        found = summary(run, "iteration/0")
    assert found.gc.pauses_count is None
    assert "(0 s of " in doubts(found)[0].message


def test_findings_do_not_take_missing_collections_for_none(world: World, tmp_path: Path) -> None:
    with Run.open(ended(world, 180).write(tmp_path)) as run:
        first, whole = open_scope(run, "iteration/0"), open_scope(run, "application")
        assert (first.unrecorded, GC_LOG.missing(Facts(first, summarise(first)))) == (None, None)
        assert GC_LOG.missing(Facts(whole, summarise(whole))) == whole.unrecorded is not None


def test_drivers_of_two_applications_on_one_host_are_two_jvms(world: World, tmp_path: Path) -> None:
    made = ended(world, 180)
    made.rows["processes"].append({**made.rows["processes"][0], "pid": PID + 1, "app_id": "other"})
    with Run.open(made.write(tmp_path)) as run:
        found = summary(run, "application")
    assert doubts(found)[0].message.startswith("2 JVMs recorded only the beginning")
