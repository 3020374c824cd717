"""Tracks of several hosts lie on one axis: that of the driver's clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.hosts.two_hosts import BOUND, WEST, TwoHosts, WestClock
from tests.support.tables import HOST, MS, PID, S, StageSpec, wall

from pyrometer.pages.axis import find_axis
from pyrometer.pages.columns import Pack
from pyrometer.store import Run
from pyrometer.timeline.machine import host_tracks, place_track, process_label

STAGES = [StageSpec([400, 300, 500, 200, 350])]


@pytest.mark.parametrize("ahead_ns", [0, 2 * S, -900_000 * S])
def test_one_moment_of_two_hosts_is_one_place(tmp_path: Path, ahead_ns: int) -> None:
    two = TwoHosts(STAGES, WestClock(ahead_ns))
    with Run.open(two.write(tmp_path)) as run:
        axis = find_axis(run.tables, {})
        assert axis is not None
        for host in (HOST, WEST):
            first = run.tables.columns(
                "SELECT min(t_mono_ns)::DOUBLE AS t FROM os_series WHERE host = ?", [host]
            )["t"]
            placed = axis.from_mono(first, host)
            assert placed is not None
            assert abs(placed[0] - (wall(0) - axis.t0_wall_ns) / MS) <= BOUND / MS
        titles = [track["title"] for track in host_tracks(run.tables, axis, Pack())]
    assert f"CPU · {HOST}" in titles
    assert f"CPU · {WEST}" in titles
    # The window did not grow by what the clocks differ.
    assert axis.duration_ms < two.world.end_ms + 1000


def test_processes_are_called_by_their_own_number_and_host(tmp_path: Path) -> None:
    two = TwoHosts(STAGES, WestClock(2 * S))
    for row in two.rows["thread_counters"]:
        row["cpu"] = 1
    with Run.open(two.write(tmp_path)) as run:
        rows = run.tables.query("SELECT DISTINCT pid, host FROM spans ORDER BY host")
        labels = [process_label(run.tables, pid, host) for pid, host in rows]
        assert labels == [f"{PID} on {HOST}", f"{PID} on {WEST}"]
        axis = find_axis(run.tables, {})
        assert axis is not None
        track = place_track(run.tables, axis, Pack())
    threads = {(one["host"], one["pid"], one["tid"]) for one in track["threads"]}
    assert threads == {(host, PID, tid) for host in (HOST, WEST) for tid in (100, 101)}
