"""Processes of several hosts in the flame graph and in Firefox's profile: as people know them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.hosts.two_hosts import WEST, TwoHosts, WestClock
from tests.support.tables import HOST, PID, S, StageSpec

from pyrometer.export import export_profile
from pyrometer.flame.facts import facts_of
from pyrometer.store import Run


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return TwoHosts([StageSpec([40, 30, 50, 20])], WestClock(2 * S)).write(tmp_path)


def test_processes_bear_their_own_numbers(run_dir: Path) -> None:
    with Run.open(run_dir) as run:
        processes = facts_of(run.tables)["values"]["process"]
    assert sorted(processes) == sorted([f"{HOST}:{PID}", f"{WEST}:{PID}"])


def test_firefox_tells_processes_of_one_number_apart(run_dir: Path, tmp_path: Path) -> None:
    export_profile(run_dir, "firefox", tmp_path / "out", "cpu")
    threads = json.loads((tmp_path / "out").read_text())["threads"]
    assert {thread["pid"] for thread in threads} == {str(PID), f"{PID} on {WEST}"}
    assert all(str(thread["tid"]).removesuffix("-jvm").isdecimal() for thread in threads)
    assert max(int(str(one["tid"]).removesuffix("-jvm")) for one in threads) < 1 << 32
