"""Accounts of very many hosts are reckoned by groups of them, and are what they are in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.hosts.two_hosts import WEST, TwoHosts, WestClock
from tests.support.tables import HOST, MS, PID, S, StageSpec, mono

from pyrometer.accounts.hardware import counters as of_threads
from pyrometer.accounts.hardware.hardware import hardware
from pyrometer.accounts.window import open_scope
from pyrometer.pages.axis import find_axis
from pyrometer.pages.columns import Pack
from pyrometer.store import Run
from pyrometer.store.sql import queries
from pyrometer.timeline import jvm
from pyrometer.window import counters

STAGES = [StageSpec([400, 300, 500, 200, 350, 450, 250]), StageSpec([300, 300, 300])]
EVENTS = (("cycles", 2), ("instructions", 3), ("task-clock", 1))


def two_hosts() -> TwoHosts:
    """Give hosts with counters of their task threads, and with compilations."""
    two = TwoHosts(STAGES, WestClock(2 * S))
    for number, (host, factor) in enumerate(((HOST, 1), (WEST, 5))):
        ahead = 2 * S * number
        threads = {row["tid"] for row in two.rows["spans"] if row["host"] == host}
        for tid in sorted(threads):
            for event, rate in EVENTS:
                for at in range(0, 1500, 50):
                    two.add(
                        "perf_counts", host=host, t_mono_ns=mono(at) + ahead, scope="thread",
                        pid=PID, tid=tid, event=event, value=at * MS * rate * factor,
                        enabled_ns=at * MS, running_ns=at * MS,
                    )  # fmt: skip
        for at in range(50, 1000, 90 + 40 * number):
            two.add("jit", host=host, pid=PID, level=4, start_mono_ns=mono(at) + ahead)
            two.add("deoptimisations", host=host, pid=PID, level=4, kind="invalidated",
                    t_mono_ns=mono(at + 7) + ahead)  # fmt: skip
    return two


def reckoned(root: Path) -> dict[str, Any]:
    """Give what is reckoned by groups: counters of threads, growth of series, tracks of JVMs."""
    with Run.open(root) as run:
        scope = open_scope(run, "application")
        axis = find_axis(run.tables, {})
        assert axis is not None
        pack = Pack()
        return {
            "hardware": hardware(scope).model_dump(mode="json"),
            "series": run.tables.query("FROM w_series ORDER BY ALL"),
            "tracks": jvm.work_tracks(run.tables, axis, pack),
            "columns": (pack.directory, pack.encoded()),
        }


def assert_same(mine: Any, other: Any, where: str = "") -> None:
    """Compare to the last bit, but for floats: sums of groups are added in another order."""
    if isinstance(mine, dict):
        assert mine.keys() == other.keys(), where
        for key, value in mine.items():
            assert_same(value, other[key], f"{where}.{key}")
    elif isinstance(mine, list | tuple):
        assert len(mine) == len(other), where
        for place, value in enumerate(mine):
            assert_same(value, other[place], f"{where}[{place}]")
    elif isinstance(mine, float):
        assert mine == pytest.approx(other, rel=1e-6), where
    else:
        assert mine == other, where


def test_groups_of_hosts_give_the_same_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = two_hosts().write(tmp_path)
    whole = reckoned(root)
    for module, name in ((of_threads, "MOST_ROWS"), (counters, "_MOST_ROWS"), (jvm, "_MOST_ROWS")):
        monkeypatch.setattr(module, name, 1)
    assert_same(reckoned(root), whole)
    assert {host for host, *_ in whole["series"]} == {HOST, WEST}
    found = whole["hardware"]
    assert {one["event"] for one in found["counters"]} == {event for event, _ in EVENTS}
    assert found["stages"][0]["task_ipc"]["value"] == pytest.approx(1.5)
    assert sum(one["tasks_count"] for one in found["stages"]) == 10
    assert found["operators"]
    by_id = {track["id"]: track["kind"] for track in whole["tracks"]}
    assert by_id["jit"] == "stack"
    assert by_id["deoptimisations"] == "series"


HOSTS, THREADS, READINGS = 150, 4, 400


@pytest.mark.slow
def test_counters_of_many_hosts_fit_into_a_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = TwoHosts([StageSpec([400, 300])]).write(tmp_path)
    target = root / "tables" / "perf_counts.parquet"
    duckdb.execute(
        f"""
        COPY (SELECT 'host-' || h AS host, {mono(10)} + i * 500_000 AS t_mono_ns,
            'thread' AS scope, 10_000 + h AS pid, 20_000 + t AS tid, e AS event,
            i * 1000 AS value, i * 500_000 AS enabled_ns, i * 500_000 AS running_ns
          FROM range({HOSTS}) a(h), range({THREADS}) b(t), range({READINGS}) c(i),
            (VALUES ('cycles'), ('instructions')) d(e))
        TO '{target}' (FORMAT parquet)
        """
    )
    for limit in ("MEMORY_LIMIT", "MORE_MEMORY", "MOST_MEMORY"):
        monkeypatch.setattr(queries, limit, "128MB")
    monkeypatch.setattr(of_threads, "MOST_ROWS", 40_000)
    with Run.open(root) as run:
        run.tables.connection.execute("SET max_temp_directory_size = '0KB'")
        found = hardware(open_scope(run, "application"))
    grown = HOSTS * THREADS * (READINGS - 1) * 1000
    assert {one.event: one.value for one in found.counters} == {
        "cycles": grown,
        "instructions": grown,
    }
