"""Rows of two hosts on one axis: within the bound where one clock had shown them, never mixed."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.hosts.two_hosts import BOUND, WEST, TwoHosts, WestClock
from tests.support.tables import HOST, MS, PID, S, StageSpec, mono, wall, write_tables

from pyrometer.core.errors import UsageError
from pyrometer.core.process_numbers import KEY, own_number
from pyrometer.store import Run, Tables
from pyrometer.store.axis import times
from pyrometer.store.axis.write import write_axis
from pyrometer.store.sql import host_views
from pyrometer.store.sql.host_views import HostRows, as_recorded

STAGES = [StageSpec([40, 30, 50, 20, 35]), StageSpec([30, 60])]
CLOCKS = st.builds(
    WestClock,
    ahead_ns=st.sampled_from([50 * MS, -50 * MS, 2 * S, -2 * S, 900_000 * S, -4_000 * S]),
    drift_ppm=st.sampled_from([0.0, 200.0, -200.0]),
)
TIMES = {
    "spans": "start_mono_ns, end_mono_ns",
    "thread_counters": "t_mono_ns",
    "os_series": "t_mono_ns",
    "samples": "t_ns",
    "processes": "start_mono_ns, end_mono_ns",
    "clock_pairs": "mono_ns",
}


@cache
def read(west: WestClock, *queries: str) -> list[list[tuple[Any, ...]]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Run.open(TwoHosts(STAGES, west).write(Path(folder))) as run,
    ):
        return [run.tables.query(sql) for sql in queries]


@given(west=CLOCKS)
@settings(max_examples=examples(5, 10), deadline=None)
def test_times_of_another_host_land_where_one_clock_had_shown_them(west: WestClock) -> None:
    queries = [
        f"SELECT host, {columns} FROM {table} ORDER BY ALL" for table, columns in TIMES.items()
    ]
    for table, moved, truth in zip(
        TIMES, read(west, *queries), read(WestClock(), *queries), strict=True
    ):
        assert len(moved) == len(truth) > 0
        for row, right in zip(moved, truth, strict=True):
            assert row[0] == right[0]
            off = [abs(a - b) for a, b in zip(row[1:], right[1:], strict=True)]
            assert max(off) <= (BOUND if row[0] == WEST else 0), table


@given(west=CLOCKS)
@settings(max_examples=examples(3, 6), deadline=None)
def test_joins_by_time_give_the_same_rows(west: WestClock) -> None:
    # Which task each wall sample lies in, by process, thread and time.
    sql = """
      SELECT x.host, x.task_attempt_id, s.task_attempt_id, count(*) FROM samples x
      JOIN spans s ON s.pid = x.pid AND s.tid = x.tid
        AND x.t_ns >= s.start_mono_ns AND x.t_ns < s.end_mono_ns GROUP BY ALL ORDER BY ALL
    """
    (found,) = read(west, sql)
    assert [found] == read(WestClock(), sql)
    assert {(mine, task) for _, mine, task, _ in found} == {(t, t) for t in range(7)}


def test_one_number_on_two_hosts_is_two_processes() -> None:
    sql = "SELECT host, pid, count(*) FROM spans GROUP BY ALL ORDER BY host"
    joined = "SELECT count(*) FROM spans s JOIN processes p USING (pid) WHERE s.host <> p.host"
    spans, mixed = read(WestClock(2 * S), sql, joined)
    (lab, first, n), (west, second, m) = spans
    assert (lab, west, first) == (HOST, WEST, PID)
    assert second == KEY + PID
    assert own_number(second) == PID
    assert n + m == 7
    assert mixed == [(0,)]


def test_series_of_a_process_bear_its_number() -> None:
    sql = (
        "SELECT DISTINCT scope, host FROM os_series WHERE scope LIKE 'process/%'"
        " AND scope NOT IN (SELECT 'process/' || pid FROM processes)"
    )
    assert read(WestClock(), sql) == [[]]


def test_hosts_of_the_event_log_get_the_names_of_streams() -> None:
    tasks, executors = read(
        WestClock(),
        "SELECT DISTINCT host FROM tasks ORDER BY 1",
        "SELECT executor_id, host FROM executors ORDER BY 1",
    )
    assert tasks == [(HOST,), (WEST,)]
    assert executors == [("1", HOST), ("2", WEST), ("driver", HOST)]


def test_the_bound_is_a_column_and_holds() -> None:
    ((clock, bound),) = read(
        WestClock(2 * S, 200), "SELECT clock, bound_ns FROM hosts WHERE number = 1"
    )[0]
    assert clock == "messages"
    assert 100_000 <= bound <= BOUND


def test_a_host_that_exchanged_no_messages_is_aligned_by_wall_clocks(tmp_path: Path) -> None:
    two = TwoHosts(STAGES, WestClock(2 * S), pings=False)
    for row in two.rows["processes"]:
        row["app_id"] = None
    with Run.open(two.write(tmp_path)) as run:
        clock = run.tables.query("SELECT clock, bound_ns FROM hosts WHERE host = 'west'")
        first = run.tables.scalar("SELECT min(start_mono_ns) FROM processes WHERE host = 'west'")
        doubts = [doubt.code for doubt in two.doubts]
    ((truth,),) = read(WestClock(), "SELECT min(start_mono_ns) FROM processes WHERE host = 'west'")[
        0
    ]
    assert clock == [("wall", None)]
    assert abs(first - truth) < MS
    assert doubts == ["clock_bound_unknown"]


def test_a_pause_on_a_host_that_is_not_known_has_no_time(tmp_path: Path) -> None:
    two = TwoHosts(STAGES)
    for number, host in enumerate((HOST, None)):
        two.add("gc_pauses", host=host, pid=PID, gc_id=number, start_wall_ns=wall(20),
                duration_ns=MS, collector="G1", kind="young")  # fmt: skip
    with Run.open(two.write(tmp_path)) as run:
        found = run.tables.query("SELECT host, start_wall_ns FROM gc_pauses ORDER BY gc_id")
    assert found == [(HOST, wall(20)), (None, None)]


def test_times_of_a_clock_that_nobody_knows_are_missing_and_not_0(tmp_path: Path) -> None:
    two = TwoHosts(STAGES, WestClock(2 * S), pings=False)
    for row in two.rows["processes"]:
        row["app_id"] = None
    two.rows["clock_pairs"] = [r for r in two.rows["clock_pairs"] if r["host"] == HOST]
    with Run.open(two.write(tmp_path)) as run:
        times = run.tables.query("SELECT DISTINCT start_mono_ns FROM spans WHERE host = 'west'")
    assert times == [(None,)]
    assert [doubt.code for doubt in two.doubts] == ["clock_unknown"]


def test_only_one_host(tmp_path: Path) -> None:
    with Run.open(TwoHosts(STAGES, WestClock(2 * S)).write(tmp_path)) as run:
        for host, tasks in ((HOST, 4), (WEST, 3)):
            with run.on_host(host) as own:
                for table in ("spans", "thread_counters", "os_series", "samples", "tasks"):
                    hosts = own.tables.query(f"SELECT DISTINCT host FROM {table}")
                    assert hosts == [(host,)], table
                assert own.tables.rows_count("spans") == tasks
                assert own.tables.has("stages")


def test_a_run_of_one_host_has_no_axis(tmp_path: Path) -> None:
    two = TwoHosts(STAGES)
    rows = {
        table: [row for row in rows if row.get("host") not in (WEST, "10.0.0.2")]
        for table, rows in two.rows.items()
    }
    write_tables(tmp_path, rows)
    assert write_axis(tmp_path / "tables") == []
    assert not (tmp_path / "tables" / "hosts.parquet").exists()
    with Tables(tmp_path / "tables") as tables:
        assert not tables.several_hosts
        assert tables.query("SELECT DISTINCT pid FROM spans") == [(PID,)]


def test_tables_that_are_made_tell_hosts_apart_and_leave_times(tmp_path: Path) -> None:
    west = WestClock(2 * S)
    write_tables(tmp_path, TwoHosts(STAGES, west).rows)
    with Tables(tmp_path / "tables", HostRows.APART) as tables:
        assert tables.several_hosts
        sql = "SELECT host, pid, tid, min(start_mono_ns) FROM spans GROUP BY ALL ORDER BY ALL"
        apart, back = tables.query(sql), tables.query(f"SELECT DISTINCT pid FROM ({_back()})")
        assert tables.key_of(WEST) == KEY
    with Tables(tmp_path / "tables", HostRows.AS_RECORDED) as tables:
        recorded = tables.query(sql)
    assert {pid for _, pid, _, _ in apart} == {PID, KEY + PID}
    assert [(h, own_number(p), own_number(t), m) for h, p, t, m in apart] == recorded
    assert back == [(PID,)]


def _back() -> str:
    return as_recorded("SELECT pid, tid FROM spans")


@pytest.mark.parametrize("value", [(1 << 63) - 1, -(1 << 63)])
def test_a_damaged_time_is_missing_and_stops_nobody(tmp_path: Path, value: int) -> None:
    two = TwoHosts(STAGES, WestClock(900_000 * S))
    two.write(tmp_path)
    for table, damaged in (
        ("thread_counters", {"t_mono_ns": value}),
        ("samples", {"t_ns": value, "clock": "wall"}),
    ):
        row = next(row for row in two.rows[table] if row["host"] == WEST)
        two.add(table, **{**row, **damaged})
    columns = {"thread_counters": "t_mono_ns", "samples": "t_ns"}
    missing = "SELECT count(*) FROM {} WHERE {} IS NULL"

    def found() -> list[int]:
        with Run.open(tmp_path) as run:
            return [run.tables.scalar(missing.format(*one)) for one in columns.items()]

    # By the lines of clocks, and as they are written beside.
    write_tables(tmp_path, {table: two.rows[table] for table in columns})
    by_lines = found()
    two.write(tmp_path)
    assert found() == by_lines
    assert max(by_lines) <= 1


def test_times_in_files_are_those_of_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = TwoHosts(STAGES, WestClock(2 * S, 200.0))
    for number, host in enumerate((HOST, WEST, None)):
        two.add("gc_pauses", host=host, pid=PID, gc_id=number, start_mono_ns=mono(20),
                start_wall_ns=wall(20), duration_ns=MS, collector="G1", kind="young")  # fmt: skip
    # A host at a time, and rows of none.
    monkeypatch.setattr(times, "MOST_ROWS", 1)
    folder = two.write(tmp_path) / "tables"
    files = {name: list(folder.glob(f"{name}*.parquet")) for name in [*TIMES, "gc_pauses"]}
    with Tables(folder) as tables:
        stored = {name: tables.query(f"SELECT * FROM {name} ORDER BY ALL") for name in files}
    for file in (one for some in files.values() for one in some):
        bare = file.with_suffix(".bare")
        duckdb.execute(
            f"COPY (SELECT COLUMNS(c -> c NOT LIKE '%axis_ns') FROM '{file}')"
            f" TO '{bare}' (FORMAT parquet)"
        )
        assert file.stat().st_size != bare.stat().st_size
        bare.replace(file)
    with Tables(folder) as tables:
        for name, rows in stored.items():
            assert tables.query(f"SELECT * FROM {name} ORDER BY ALL") == rows, name
    assert [row[0] for row in stored["gc_pauses"]].count(None) == 1


@pytest.mark.parametrize("cells", [0, 1_000_000])
def test_rows_of_some_hosts_are_theirs(
    tmp_path: Path, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_views, "_KEPT_CELLS", cells)
    with Tables(TwoHosts(STAGES, WestClock(2 * S)).write(tmp_path) / "tables") as tables:
        names = ("spans", "thread_counters", "os_series", "samples", "tasks", "executors")
        both = {name: tables.query(f"SELECT * FROM {name}") for name in names}
        hosts = {name: tables.query(f"SELECT host FROM {name}") for name in names}
        for host in (HOST, WEST):
            with tables.of_hosts(host) as own:
                for name in names:
                    every = zip(both[name], hosts[name], strict=True)
                    its = sorted(map(repr, (row for row, (of,) in every if of == host)))
                    found = own.query(f"SELECT * FROM {name}")
                    assert sorted(map(repr, found)) == its, name
                    assert own.rows_count(name) == len(its) > 0
                own.define("mine", "SELECT 1 AS one")
        with tables.of_hosts(HOST, WEST) as own:
            assert own.scalar("SELECT count(*) FROM samples") == len(both["samples"])
        assert tables.defined == set()
        assert tables.scalar("SELECT count(*) FROM samples") == len(both["samples"])


@pytest.mark.parametrize(("most_rows", "count"), [(1, 2), (1_000_000, 1)])
def test_groups_of_hosts_have_every_row_once(tmp_path: Path, most_rows: int, count: int) -> None:
    two = TwoHosts(STAGES, WestClock(2 * S))
    two.rows["thread_counters"][0]["host"] = None
    with Tables(two.write(tmp_path) / "tables") as tables:
        for name in ("spans", "thread_counters", "os_series", "samples"):
            groups = [tables.query(sql) for sql in tables.in_groups(name, most_rows)]
            assert len(groups) == count, name
            rows = sorted(repr(row) for group in groups for row in group)
            assert rows == sorted(map(repr, tables.query(f"FROM {name}"))), name
        with tables.of_hosts(WEST) as own:
            (only,) = own.in_groups("spans", most_rows)
            assert own.query(only) == own.query("FROM spans")


def test_a_run_of_one_host_is_one_group(tmp_path: Path) -> None:
    rows = {"spans": [row for row in TwoHosts(STAGES).rows["spans"] if row["host"] == HOST]}
    write_tables(tmp_path, rows)
    with Tables(tmp_path / "tables") as tables:
        assert tables.in_groups("spans", 1) == ["FROM spans"]


def test_a_damaged_number_in_rows_of_a_host_is_told_in_one_message(tmp_path: Path) -> None:
    two = TwoHosts(STAGES, WestClock(2 * S))
    two.write(tmp_path)
    row = next(row for row in two.rows["samples"] if row["host"] == WEST)
    rows = [*two.rows["samples"], {**row, "pid": (1 << 63) - 1}]
    write_tables(tmp_path, {"samples": rows})
    with pytest.raises(UsageError, match="too large to compute with"):
        Tables(tmp_path / "tables")
    # Of many rows there is a view: those of a host are read with its account.
    write_tables(tmp_path, {"samples": rows * 200})
    with Tables(tmp_path / "tables") as tables:
        with pytest.raises(UsageError, match="too large to compute with"):
            tables.of_hosts(WEST)
        with tables.of_hosts(HOST) as own:
            assert own.rows_count("samples") == own.scalar("SELECT count(*) FROM samples") > 0
