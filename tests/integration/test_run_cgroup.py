"""Control groups of this machine, where they can be made; the planner on invented ones."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from pyrometer.errors import CapabilityError, UsageError
from pyrometer.run import cgroup
from pyrometer.run.cgroup import Hierarchy

V1 = [Hierarchy(1, frozenset({c}), f"/cg/{c}/own") for c in ("memory", "cpu", "blkio")]
V2 = [Hierarchy(2, frozenset({"memory", "cpu", "io"}), "/cg/own")]
MIB = 1 << 20


def rows(planned: cgroup.Plan) -> dict[str, str]:
    return {write.path: write.text for write in planned.writes}


def test_both_versions_get_the_same_levels_in_their_own_words() -> None:
    levels = {"cgroup.memory": 64 * MIB, "cgroup.swap": 0, "cpu.quota": 0.5,
              "cgroup.read_bps": 20 * MIB}  # fmt: skip
    assert rows(cgroup.plan(levels, V1, "254:0", "g")) == {
        "/cg/memory/own/g/memory.limit_in_bytes": "67108864",
        "/cg/memory/own/g/memory.memsw.limit_in_bytes": "67108864",
        "/cg/cpu/own/g/cpu.cfs_period_us": "100000",
        "/cg/cpu/own/g/cpu.cfs_quota_us": "50000",
        "/cg/blkio/own/g/blkio.throttle.read_bps_device": "254:0 20971520",
    }
    assert rows(cgroup.plan(levels, V2, "254:0", "g")) == {
        "/cg/own/g/memory.max": "67108864",
        "/cg/own/g/memory.swap.max": "0",
        "/cg/own/g/cpu.max": "50000 100000",
        "/cg/own/g/io.max": "254:0 rbps=20971520",
    }


def test_what_cannot_be_honoured_is_refused_or_doubted() -> None:
    with pytest.raises(UsageError, match="needs cgroup"):
        cgroup.plan({"cgroup.swap": 0}, V1, None, "g")
    with pytest.raises(CapabilityError, match="controller memory"):
        cgroup.plan({"cgroup.memory": MIB}, [], None, "g")
    with pytest.raises(CapabilityError, match="no block device"):
        cgroup.plan({"cgroup.read_bps": MIB}, V1, None, "g")
    limited = cgroup.plan({"cgroup.write_bps": MIB}, V1, "254:0", "g")
    assert limited.doubt
    assert "direct writes only" in limited.doubt


def here(levels: dict[str, float], tmp_path: Path) -> cgroup.Plan:
    try:
        planned = cgroup.planned_here(levels, tmp_path)
        with cgroup.applied(planned):
            return planned
    except CapabilityError as error:
        pytest.skip(f"no control groups here: {error.message}")


def test_a_memory_limit_kills_and_leaves_nothing(tmp_path: Path) -> None:
    planned = here({"cgroup.memory": 32 * MIB, "cgroup.swap": 0}, tmp_path)
    with cgroup.applied(planned):
        with cgroup.joined(planned.folders):
            hog = subprocess.Popen(["python3", "-c", "x = bytearray(200 << 20)"])
        assert hog.wait() == -9
        assert cgroup.oom_kills(planned) == 1
    assert not any(Path(folder).exists() for folder in planned.folders)


def test_a_quota_of_a_tenth_gives_a_tenth(tmp_path: Path) -> None:
    planned = here({"cpu.quota": 0.1}, tmp_path)
    with cgroup.applied(planned):
        with cgroup.joined(planned.folders):
            burner = subprocess.Popen(["python3", "-c", "while True: pass"])
        time.sleep(1.0)
        burner.kill()
        _, _, used = os.wait4(burner.pid, 0)
        burner.returncode = -9
    assert used.ru_utime + used.ru_stime < 0.3


def test_a_group_of_a_dead_run_is_found_and_one_of_a_living_run_is_not(tmp_path: Path) -> None:
    planned = here({"cpu.quota": 1.0}, tmp_path)
    parent = Path(planned.folders[0]).parent
    dead = parent / f"{cgroup.PREFIX}4194304-1"
    dead.mkdir()
    with cgroup.applied(planned):
        assert not dead.exists()
        assert planned.folders[0] not in cgroup.leftovers(cgroup.here())
