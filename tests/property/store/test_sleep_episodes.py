"""Extended stacks of many threads with random lives: nothing guessed, no time counted twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.support.sleeps import MS, Part, Seen, observe
from tests.support.tables import HOST, MONO0, PID, Rows, write_tables

from pyrometer.store.ingest import native
from pyrometer.store.sql.host_views import HostRows
from pyrometer.store.states import placed
from pyrometer.store.states.extended_stacks import join_states
from pyrometer.store.tables import Tables

THREADS = 120
LONG, LONG_UNCOUNTED, TRACED = 900, 901, 902


def life(random: Random) -> list[Part]:
    """Sleeps and runs in turn; a run leaves the place where the thread slept."""
    parts = [Part(5 * MS, None)]
    for _ in range(random.randrange(5, 50)):
        length = int(10 ** random.uniform(-0.3, 2.6) * MS)
        parts.append(Part(length, random.randrange(3), random.randrange(2)))
        parts.append(Part(random.randrange(MS, 90 * MS), None))
    return parts


def of_long_sleeps(shortest_ms: int) -> list[Part]:
    """Sleeps long enough for a sample, with a pass on the CPU between any two."""
    parts = [Part(3 * MS, None)]
    for i in range(60):
        parts += [Part((shortest_ms + 7 * i) * MS, i % 3, i % 2), Part((65 + i) * MS, None)]
    return parts


def of_any_sleeps() -> list[Part]:
    """Sleeps of 60 ms and more with hardly anything between, which no pass tells apart."""
    random = Random(3)
    parts = [Part(3 * MS, None)]
    for i in range(150):
        parts += [Part(random.randrange(60, 300) * MS, i % 3, i % 2), Part(MS + 1000 * i, None)]
    return parts


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Seen, Tables]]:
    random = Random(20)
    seen = Seen()
    for tid in range(1, THREADS + 1):
        observe(
            life(random), tid, switches=tid % 2 == 0, places=tid % 3 != 0, tid=tid, into=seen,
            batched=tid % 4 < 2, traced=tid % 5 == 0,
        )  # fmt: skip
    observe(of_long_sleeps(60), 4, tid=LONG, into=seen)
    observe(of_long_sleeps(200), 5, switches=False, tid=LONG_UNCOUNTED, into=seen)
    observe(of_any_sleeps(), 6, tid=TRACED, into=seen, batched=True, traced=True)
    at = MONO0
    for _ in range(40):
        at += random.randrange(600 * MS)
        length = random.randrange(1, 200 * MS)
        at += length
        seen.add(
            "safepoints",
            pid=PID,
            end_mono_ns=at,
            operation="G1CollectForAllocation",
            total_ns=length,
        )
    folder: Path = tmp_path_factory.mktemp("extended")
    tables = seen.write(folder) / "tables"
    join_states(tables, native())
    with Tables(tables) as opened:
        yield seen, opened


def test_a_joined_stack_is_the_one_that_slept(world: tuple[Seen, Tables]) -> None:
    seen, tables = world
    joined = 0
    for tid, t, stack, state, status in tables.query(
        "SELECT tid, end_mono_ns, java_stack, s.state, join_status FROM samples s"
        " JOIN thread_states t USING (tid) WHERE s.event = 'state' AND t.begin_mono_ns <= s.t_ns"
        " AND t.end_mono_ns >= s.t_ns"
    ):
        truth = seen.stack_at[tid, t]
        assert stack is None or stack == truth, (tid, t, status)
        assert (truth is None) == (state == "on_cpu")
        assert (stack is not None) == (status in ("joined", "joined_by_run_time"))
        joined += stack is not None
    assert joined > THREADS


def test_weights_add_up_to_the_time_of_the_passes(world: tuple[Seen, Tables]) -> None:
    _, tables = world
    whole = tables.query("SELECT tid, sum(weight_ns)::BIGINT FROM thread_states GROUP BY 1")
    made = tables.query(
        "SELECT tid, sum(weight)::BIGINT FROM samples WHERE event = 'state' GROUP BY 1"
    )
    assert sorted(made) == sorted(whole)
    least, states = tables.query(
        "SELECT min(weight), count(DISTINCT tid) FROM samples WHERE event = 'state'"
    )[0]
    assert least >= 0
    assert states == THREADS + 3


def test_pauses_take_who_waits_on_a_futex(world: tuple[Seen, Tables]) -> None:
    _, tables = world
    classes = dict(
        tables.query(
            "SELECT wait_class, count(*) FROM samples s JOIN safepoints p ON s.pid = p.pid"
            " AND s.t_ns >= p.end_mono_ns - p.total_ns AND s.t_ns < p.end_mono_ns"
            " WHERE event = 'state' AND wait_class IS NOT NULL GROUP BY 1"
        )
    )
    assert set(classes) == {"gc_or_safepoint", "block_io"}
    assert not tables.scalar(
        "SELECT count(*) FROM samples s LEFT JOIN safepoints p ON s.pid = p.pid"
        " AND s.t_ns >= p.end_mono_ns - p.total_ns AND s.t_ns < p.end_mono_ns"
        " WHERE wait_class = 'gc_or_safepoint' AND p.pid IS NULL"
    )


@pytest.mark.every_variant
@pytest.mark.parametrize("tid", [LONG, LONG_UNCOUNTED, TRACED])
def test_long_sleeps_have_their_stack_and_class(world: tuple[Seen, Tables], tid: int) -> None:
    _, tables = world
    asleep, found = tables.query(
        "SELECT sum(weight), sum(weight) FILTER (java_stack IS NOT NULL) FROM samples"
        " WHERE event = 'state' AND state <> 'on_cpu' AND tid = ?",
        [tid],
    )[0]
    assert found / asleep > 0.98
    classes = tables.query(
        "SELECT DISTINCT java_stack, wait_class FROM samples WHERE event = 'state' AND tid = ?"
        " AND java_stack IS NOT NULL AND wait_class <> 'gc_or_safepoint' ORDER BY 1, 2",
        [tid],
    )
    told = [(0, "block_io"), (0, "lock"), (1, "block_io"), (1, "timed_sleep"), (2, "block_io")]
    assert classes == told


def states(folder: Path, rows: Rows, host: str) -> list[tuple[object, ...]]:
    tables = write_tables(folder, rows) / "tables"
    join_states(tables, native())
    with Tables(tables, HostRows.AS_RECORDED) as opened:
        return opened.query(
            "SELECT pid, tid, t_ns, weight, state, wait_class, java_stack, join_status,"
            " task_attempt_id, role FROM samples WHERE event = 'state' AND host = ? ORDER BY ALL",
            [host],
        )


def elsewhere(row: dict[str, Any]) -> dict[str, Any]:
    """Give the row of a thread as it is on another host, with a clock that began later."""
    times = {name: row[name] - 3000 * MS for name in row if name.endswith("_mono_ns")}
    times |= {"t_ns": row["t_ns"] - 3000 * MS} if "t_ns" in row else {}
    return {**row, **times} | ({"host": "west"} if "host" in row else {})


@pytest.mark.parametrize("traced", [False, True])
def test_a_thread_of_the_same_number_on_another_host_changes_nothing(
    tmp_path: Path, traced: bool
) -> None:
    here = observe(life(Random(1)), 1, batched=True, traced=traced).rows
    there = observe(life(Random(2)), 2, batched=True, traced=traced).rows
    west = {
        table: [elsewhere(row) for row in rows]
        for table, rows in there.items()
        if table not in ("stacks", "frames")
    }
    dictionaries = {table: here[table] for table in ("stacks", "frames")}
    both = {table: [*rows, *west.get(table, ())] for table, rows in here.items()}
    alone = states(tmp_path / "here", here, HOST)
    assert states(tmp_path / "both", both, HOST) == alone
    assert len({status for *_, status, _, _ in alone}) > 1
    assert states(tmp_path / "both2", both, "west") == states(
        tmp_path / "there", {**west, **dictionaries}, "west"
    )


@pytest.mark.parametrize("traced", [False, True])
def test_hosts_in_turn_give_the_rows_that_they_give_at_once(
    tmp_path: Path, traced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = observe(life(Random(4)), 4, batched=True, traced=traced)
    rows = seen.rows
    for number in range(3):
        there = observe(life(Random(number)), number, batched=True, traced=traced).rows
        for table, more in there.items():
            if table not in ("stacks", "frames"):
                moved = [elsewhere(row) | {"host": f"host-{number}"} for row in more]
                rows[table] = [*rows[table], *moved]
    at_once = every_row(tmp_path / "at_once", rows)
    monkeypatch.setattr(placed, "MOST_ROWS", 1)
    in_turn = every_row(tmp_path / "in_turn", rows)
    assert in_turn == at_once
    sleeps = [(host, one) for host, one in in_turn["samples"][1] if one is not None]
    assert len({host for host, _ in sleeps}) == 4
    assert len({one for _, one in sleeps}) == len(sleeps)


def test_a_host_without_a_name_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = observe(life(Random(4)), 4, batched=True, traced=False).rows
    nameless = [elsewhere(row) | {"host": ""} for row in rows["thread_states"]]
    rows["thread_states"] = [*rows["thread_states"], *nameless]
    monkeypatch.setattr(placed, "MOST_ROWS", 1)
    join_states(write_tables(tmp_path, rows) / "tables", native())
    with Tables(tmp_path / "tables") as tables:
        weight = tables.scalar("SELECT sum(weight) FROM samples WHERE event = 'state'")
        assert weight == tables.scalar("SELECT sum(weight_ns) FROM thread_states") > 0


def every_row(folder: Path, rows: Rows) -> dict[str, list[list[tuple[object, ...]]]]:
    """Join states; gives what is in the tables then, and whose each sleep is."""
    tables = write_tables(folder, rows) / "tables"
    join_states(tables, native())
    with Tables(tables, HostRows.AS_RECORDED) as opened:
        return {
            "samples": [
                opened.query("SELECT * FROM samples ORDER BY ALL"),
                opened.query(
                    "SELECT DISTINCT host, episode_id FROM samples WHERE event = 'state'"
                    " ORDER BY ALL"
                ),
            ],
            "stacks": [opened.query("SELECT * FROM stacks ORDER BY ALL")],
            "frames": [opened.query("SELECT * FROM frames ORDER BY ALL")],
        }
