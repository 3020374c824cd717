"""Threads outside tasks, and what they served."""

from __future__ import annotations

from pathlib import Path

from tests.support.tables import HOST, MS, PID, StageSpec, World, mono

from pyrometer.attribution.schema import Helper
from pyrometer.store import Run
from pyrometer.summary.summary import summary

WRITER = "stdout writer for python3"
BROADCAST = "broadcast-exchange-0"


def helpers_of(world: World, folder: Path, *samples: tuple[str, int]) -> list[Helper]:
    """Add CPU samples of helper threads, by name and time in ms, and account for them."""
    for name, at_ms in samples:
        world.add(
            "samples", host=HOST, pid=PID, tid=900 + len(name), clock="mono",
            source="async-profiler", event="cpu", unit="ns", t_ns=mono(at_ms), weight=10 * MS,
            role="helper", thread_name=name, category="helper",
        )  # fmt: skip
    with Run.open(world.write(folder)) as run:
        return summary(run, "application").helpers


def middle_ms(world: World, stage: int) -> int:
    """A moment at which a task of the stage ran."""
    span = next(row for row in world.rows["spans"] if row["stage_id"] == stage)
    return (int(span["start_mono_ns"]) + int(span["end_mono_ns"])) // 2 // MS - mono(0) // MS


def test_a_writer_serves_the_stage_that_ran(tmp_path: Path) -> None:
    world = World([StageSpec([400, 400]), StageSpec([300])])
    first, second = (middle_ms(world, stage) for stage in (0, 1))
    made = helpers_of(world, tmp_path, (WRITER, first), (WRITER, first), (WRITER, second))
    assert [(h.thread, h.serves, h.stage_id, h.sql_id, h.samples_count) for h in made] == [
        (WRITER.replace("3", "N"), "stage", 0, 0, 2),
        (WRITER.replace("3", "N"), "stage", 1, 0, 1),
    ]
    assert made[0].on_cpu_ns == 20 * MS


def test_a_broadcast_serves_the_one_execution_that_was_open(tmp_path: Path) -> None:
    world = World([StageSpec([400])])
    at = middle_ms(world, 0)
    one = helpers_of(world, tmp_path / "one", (BROADCAST, at))
    assert [(h.serves, h.sql_id, h.stage_id) for h in one] == [("sql", 0, None)]
    second = dict(world.rows["sql_executions"][0], sql_id=1)
    world.rows["sql_executions"].append(second)
    two = helpers_of(world, tmp_path / "two")
    assert [(h.serves, h.sql_id) for h in two] == [("application", None)]


def test_what_nothing_ties_is_the_applications(tmp_path: Path) -> None:
    world = World([StageSpec([400])])
    at = middle_ms(world, 0)
    made = helpers_of(world, tmp_path, ("shuffle-server-4-1", at), (WRITER, 1))
    assert {h.serves for h in made} == {"application"}


def test_a_writer_among_two_stages_is_not_guessed(tmp_path: Path) -> None:
    world = World([StageSpec([400, 400])])
    at = middle_ms(world, 0)
    world.rows["spans"][-1]["stage_id"] = 7
    made = helpers_of(world, tmp_path, (WRITER, at))
    assert [h.serves for h in made] == ["application"]
