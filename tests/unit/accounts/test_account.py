"""The account of plain processes: three sources, each second once, and what sessions said."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.support.tables import HOST, MONO0, MS, PID, WALL0, World, mono

from pyrometer.core import units
from pyrometer.store import Run
from pyrometer.store.manifest import Host, Manifest, Workload, write_manifest
from pyrometer.summary import screen
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary

PERIOD_MS = 10


def plain_world() -> World:
    """Make a world without Spark: whatever the simulation wrote is taken out again."""
    world = World([])
    world.rows = {
        "clock_pairs": [{"host": HOST, "source": "plugin", "mono_ns": MONO0, "wall_ns": WALL0}]
    }
    return world


def passes(world: World, until_ms: int) -> None:
    for number, at in enumerate(range(0, until_ms + 1, PERIOD_MS)):
        world.add(
            "os_series", host=HOST, t_mono_ns=mono(at), scope="probe", name="passes_count",
            value=number + 1,
        )  # fmt: skip


def counters(world: World, at: int, run_ms: float, delay_ms: float, **more: Any) -> None:
    row = {
        "host": HOST, "pid": PID, "tid": PID, "comm": "postgres", "timeslices_count": 1,
        "first": False, "last": False, **more,
    }  # fmt: skip
    world.add(
        "thread_counters", t_mono_ns=mono(at), run_ns=int(run_ms * MS),
        run_delay_ns=int(delay_ms * MS), **row,
    )  # fmt: skip


def state(
    world: World, at: int, passes_count: int, state: str, word: str | None, **more: Any
) -> None:
    length = passes_count * PERIOD_MS
    row = {
        "host": HOST, "pid": PID, "tid": PID, "begin_mono_ns": mono(at),
        "end_mono_ns": mono(at + (passes_count - 1) * PERIOD_MS), "passes_count": passes_count,
        "weight_ns": length * MS, "state": state, "annotation": word,
        "syscall": None, **more,
    }  # fmt: skip
    world.add("thread_states", **row)


def shown(world: World, folder: Path) -> Summary:
    world.write(folder)
    write_manifest(
        folder,
        Manifest(
            run_id="r", created_wall_ns=WALL0, pyrometer_version="0", state="finished",
            workload=Workload(command=["postgres"]), profile="probe", host=Host(cpus_count=2),
            started_wall_ns=WALL0, started_mono_ns=MONO0,
            ended_wall_ns=WALL0 + 1000 * MS, ended_mono_ns=MONO0 + 1000 * MS,
        ),
    )  # fmt: skip
    with Run.open(folder) as run:
        return summary(run)


@pytest.fixture
def session() -> World:
    """One second of a session: half of it reading, on a CPU for most of that."""
    world = plain_world()
    passes(world, 1000)
    counters(world, 0, 0, 0, first=True, user_ns=0, system_ns=0)
    counters(world, 1000, 700, 50, user_ns=200 * MS, system_ns=500 * MS)
    state(world, 0, 20, "on_cpu", "no wait event")
    state(world, 200, 50, "on_cpu", "IO:DataFileRead")
    state(world, 700, 5, "run_queue", "IO:DataFileRead")
    state(world, 750, 5, "disk", "IO:DataFileRead", syscall="pread64")
    state(world, 800, 20, "sleeping", "Client:ClientRead", syscall="epoll_wait")
    return world


def test_every_second_of_a_thread_is_counted_once(session, tmp_path):
    account = shown(session, tmp_path).account
    assert account is not None
    rows = {row.path: row for row in account.view.rows}
    assert account.view.total_ns == 1000 * MS
    assert rows["on_cpu"].value_ns == 700 * MS
    assert rows["on_cpu/system"].value_ns == 500 * MS
    assert rows["run_queue"].value_ns == 50 * MS
    assert rows["asleep"].value_ns == 250 * MS
    assert account.view.closure_ratio == pytest.approx(0, abs=1e-9)
    assert rows["asleep"].low_ns < 250 * MS < rows["asleep"].high_ns
    (program,) = account.programs
    assert {wait.name: wait.time_ns for wait in program.waits} == {
        "epoll_wait": 200 * MS,
        "pread64": 50 * MS,
    }


def test_closure_moves_by_what_is_taken_away(session, tmp_path):
    session.rows["thread_states"] = [
        row for row in session.rows["thread_states"] if row["state"] != "sleeping"
    ]
    account = shown(session, tmp_path).account
    assert account.view.closure_ratio == pytest.approx(-0.2)


def test_waits_and_cpu_exceed_all_time_where_waits_were_on_a_cpu(session, tmp_path):
    account = shown(session, tmp_path).account
    (told,) = account.sessions
    assert (told.pid, told.active_ns) == (PID, 800 * MS)
    assert told.cpu_ratio == pytest.approx(700 / 800)
    assert told.wait_ratio == pytest.approx(600 / 800)
    assert told.cpu_and_wait_ratio == pytest.approx(1300 / 800)
    assert told.cpu_in_wait_ratio == pytest.approx(500 / 800)
    assert told.asleep_in_wait_ratio == pytest.approx(50 / 800)
    assert told.no_wait_ratio == pytest.approx(200 / 800)
    assert told.closure_ratio == pytest.approx(0, abs=1e-9)
    (process,) = account.annotated
    reading = next(word for word in process.words if word.word == "IO:DataFileRead")
    assert (reading.time_ns, reading.on_cpu_ns, reading.waits, reading.idle) == (
        600 * MS, 500 * MS, True, False,
    )  # fmt: skip
    assert reading.share.low < 0.6 < reading.share.high


def test_words_of_other_programs_are_told_without_waits(tmp_path):
    world = plain_world()
    passes(world, 1000)
    counters(world, 0, 0, 0, first=True)
    counters(world, 1000, 1000, 0)
    state(world, 0, 100, "on_cpu", "parsing")
    account = shown(world, tmp_path).account
    assert not account.sessions
    assert [word.word for word in account.annotated[0].words] == ["parsing"]


def test_the_account_is_printed(session, tmp_path):
    made = shown(session, tmp_path)
    text = io.StringIO()
    screen.show(Console(file=text, width=120), made)
    assert "IO:DataFileRead" in text.getvalue()
    assert f"= {units.percent(1.625)} of the time not idle" in " ".join(text.getvalue().split())
    assert "epoll_wait" in text.getvalue()
    assert "task slots" not in text.getvalue()


def test_a_run_with_spark_has_no_such_account(tmp_path):
    with Run.open(World([]).write(tmp_path)) as run:
        assert summary(run).account is None
