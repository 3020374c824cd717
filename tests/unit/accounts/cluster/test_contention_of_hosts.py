"""Contention on one of several hosts is that host's: its name, and not the launch's processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.hosts.two_hosts import WEST, TwoHosts, WestClock
from tests.support.tables import HOST, S, StageSpec

from pyrometer.explain.findings import explain
from pyrometer.store import Run
from pyrometer.store.manifest import Host, Manifest, Workload
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary


def busy_west(folder: Path, made: TwoHosts | None = None) -> Path:
    """Let other programs take half of the other host's CPUs."""
    two = made or TwoHosts([StageSpec([400, 300, 500, 200])], WestClock(2 * S))
    two.take(WEST, 0.5)
    manifest = Manifest(
        run_id="r", created_wall_ns=1, pyrometer_version="0", profile="full", state="finished",
        workload=Workload(command=["x"]), host=Host(hostname=HOST, cpus_count=two.cpus),
        takers=[{"pid": 7, "comm": "make", "cpu_ns": 9 * S}],
    )  # fmt: skip
    (folder / "manifest.json").write_text(manifest.model_dump_json(by_alias=True))
    return two.write(folder)


def shown(folder: Path) -> Summary:
    with Run.open(folder) as run:
        return summary(run, "application")


def test_the_doubt_names_the_host_and_no_process_of_another(tmp_path: Path) -> None:
    one = shown(busy_west(tmp_path))
    (doubt,) = [doubt for doubt in one.doubts if doubt.code == "host_contended"]
    assert one.contention.host == WEST
    assert f"of the CPU time of {WEST}" in doubt.message
    assert "make" not in doubt.message
    assert one.contention.takers == []


def test_the_finding_is_on_that_host(tmp_path: Path) -> None:
    with Run.open(busy_west(tmp_path)) as run:
        found = explain(run, "application").findings
    (one,) = [one for one in found if one.code == "contended.neighbour"]
    assert one.place.host == WEST


def test_a_busy_host_on_which_no_task_waits_is_not_in_the_way(tmp_path: Path) -> None:
    two = TwoHosts([StageSpec([1000, 1000, 2000, 2000])], WestClock(2 * S))
    two.take(HOST, 0.7)
    for row in two.rows["thread_counters"]:
        if row["host"] == HOST:
            row["run_delay_ns"] = 0
    with Run.open(busy_west(tmp_path, two)) as run:
        one = summary(run, "application")
        found = explain(run, "application").findings
    assert one.contention.host == WEST
    assert [known.host for known in one.contention.hosts] == [WEST, HOST]
    (doubt,) = [doubt for doubt in one.doubts if doubt.code == "host_contended"]
    assert f"70.0 % of the CPU time of {HOST}" in doubt.message
    (neighbour,) = [one for one in found if one.code == "contended.neighbour"]
    assert neighbour.place.host == WEST


def test_a_host_is_judged_by_the_time_in_which_it_was_watched(tmp_path: Path) -> None:
    stages = [StageSpec([400] * 40)]
    since_ms = TwoHosts(stages).world.end_ms * 7 // 10
    one = shown(busy_west(tmp_path, TwoHosts(stages, WestClock(2 * S), since_ms=since_ms)))
    assert one.contention.host == WEST
    assert one.contention.others_ratio == pytest.approx(0.5, abs=0.01)


def test_a_probe_whose_clock_nobody_knows_ran(tmp_path: Path) -> None:
    two = TwoHosts([StageSpec([400, 300, 500, 200])], WestClock(2 * S), pings=False)
    for table in ("processes", "clock_pairs"):
        two.rows[table] = [row for row in two.rows[table] if row["host"] != WEST]
    one = shown(busy_west(tmp_path, two))
    (west,) = [found for found in one.instruments if found.host == WEST]
    assert west.cpu_ns is None
    assert "clock" in (west.reason or "")
