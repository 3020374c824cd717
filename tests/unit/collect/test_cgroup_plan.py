"""What is written where for limits, on invented hosts of both versions."""

from __future__ import annotations

import pytest

from pyrometer.collect.host.cgroup_plan import Hierarchy, Plan, hierarchies, plan
from pyrometer.core.errors import CapabilityError, UsageError

MIB = 1 << 20
V1 = [Hierarchy(1, frozenset({c}), f"/cg/{c}/own") for c in ("memory", "cpu", "blkio")]
ALL = frozenset({"memory", "cpu", "io"})
V2 = [Hierarchy(2, ALL, "/cg", "/cg/own", ALL)]


def rows(planned: Plan) -> dict[str, str]:
    return {write.path: write.text for write in planned.writes}


def test_both_versions_get_the_same_levels_in_their_own_words() -> None:
    levels = {"cgroup.memory": 64 * MIB, "cgroup.swap": 0, "cpu.quota": 0.5,
              "cgroup.read_bps": 20 * MIB}  # fmt: skip
    assert rows(plan(levels, V1, "254:0", "g")) == {
        "/cg/memory/own/g/memory.limit_in_bytes": "67108864",
        "/cg/memory/own/g/memory.memsw.limit_in_bytes": "67108864",
        "/cg/cpu/own/g/cpu.cfs_period_us": "100000",
        "/cg/cpu/own/g/cpu.cfs_quota_us": "50000",
        "/cg/blkio/own/g/blkio.throttle.read_bps_device": "254:0 20971520",
    }
    assert rows(plan(levels, V2, "254:0", "g")) == {
        "/cg/g/memory.max": "67108864",
        "/cg/g/memory.swap.max": "0",
        "/cg/g/cpu.max": "50000 100000",
        "/cg/g/io.max": "254:0 rbps=20971520",
    }


def test_what_cannot_be_honoured_is_refused_or_doubted() -> None:
    with pytest.raises(UsageError, match="needs cgroup"):
        plan({"cgroup.swap": 0}, V1, None, "g")
    with pytest.raises(CapabilityError, match="controller memory"):
        plan({"cgroup.memory": MIB}, [], None, "g")
    with pytest.raises(CapabilityError, match="not on a block device"):
        plan({"cgroup.read_bps": MIB}, V1, None, "g")
    limited = plan({"cgroup.write_bps": MIB}, V1, "254:0", "g")
    assert limited.doubt
    assert "direct writes only" in limited.doubt


MOUNT2 = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
SHELL = "0::/user.slice/session.scope\n"


def test_version_2_uses_the_nearest_ancestor_that_hands_all_controllers_down() -> None:
    found = hierarchies(
        MOUNT2,
        SHELL,
        {
            "/sys/fs/cgroup": ("cpu io memory pids", "cpu io memory pids"),
            "/sys/fs/cgroup/user.slice": ("cpu io memory pids", "memory pids"),
        },
    )
    memory = plan({"cgroup.memory": MIB}, found, None, "g")
    assert memory.folders == ("/sys/fs/cgroup/user.slice/g",)
    assert memory.undo == ()
    both = plan({"cgroup.memory": MIB, "cpu.quota": 1.0}, found, None, "g")
    assert both.folders == ("/sys/fs/cgroup/g",)


def test_version_2_enables_at_the_root_what_is_not_handed_down_and_takes_it_back() -> None:
    found = hierarchies(MOUNT2, SHELL, {"/sys/fs/cgroup": ("cpu io memory", "memory")})
    planned = plan({"cgroup.memory": MIB, "cpu.quota": 1.0, "cgroup.cpu_weight": 50}, found, None, "g")  # fmt: skip  # noqa: E501
    control = "/sys/fs/cgroup/cgroup.subtree_control"
    assert [(w.path, w.text) for w in planned.writes[:1]] == [(control, "+cpu")]
    assert [(w.path, w.text) for w in planned.undo] == [(control, "-cpu")]
    assert rows(planned)["/sys/fs/cgroup/g/cpu.weight"] == "50"


def test_a_hybrid_host_gives_what_version_1_has_from_there() -> None:
    mounts = (
        "31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 1 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    )
    groups = "4:memory:/a/b\n0::/\n"
    found = hierarchies(mounts, groups, {"/sys/fs/cgroup/unified": ("cpu io", "")})
    planned = plan({"cgroup.memory": MIB, "cpu.quota": 2.0}, found, None, "g")
    assert planned.folders == ("/sys/fs/cgroup/memory/a/b/g", "/sys/fs/cgroup/unified/g")


def test_a_mounted_part_of_a_hierarchy_is_what_a_container_sees() -> None:
    mounts = "31 1 0:27 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    (place,) = hierarchies(mounts, "4:cpu,cpuacct:/docker/x\n", {})
    assert place.folder == "/sys/fs/cgroup/cpu"
