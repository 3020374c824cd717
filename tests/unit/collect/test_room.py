"""Memory and CPUs that programs may have: of the machine, and of control groups above us."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrometer.collect.host.room import room

G = 1 << 30
MEMINFO = f"MemTotal: {16 * G // 1024} kB\nMemAvailable: {12 * G // 1024} kB\nSwapTotal: 0 kB\n"
UNIFIED = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
SPLIT = (
    "31 20 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "32 20 0:28 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


@pytest.fixture(autouse=True)
def eight_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))


def host(root: Path, mounts: str, groups: str, files: dict[str, str]) -> Path:
    whole = {"proc/meminfo": MEMINFO, "proc/self/mountinfo": mounts, "proc/self/cgroup": groups}
    whole |= {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in whole.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_least_of_every_group_above_counts_in_version_2(tmp_path: Path) -> None:
    files = {
        "pod/memory.max": f"{4 * G}\n",
        "pod/memory.current": f"{3 * G}\n",
        "pod/memory.stat": f"anon 5\ninactive_file {G}\n",
        "pod/cpu.max": "150000 100000\n",
        "pod/main/memory.max": "max\n",
        "pod/main/cpu.max": "max 100000\n",
    }
    found = room(host(tmp_path, UNIFIED, "0::/pod/main\n", files))
    assert (found.memory_bytes, found.free_bytes, found.cpus_count) == (4 * G, 2 * G, 2)


def test_the_least_of_every_group_above_counts_in_version_1(tmp_path: Path) -> None:
    files = {
        "memory/memory.limit_in_bytes": f"{6 * G}\n",
        "memory/memory.usage_in_bytes": f"{G}\n",
        "memory/memory.stat": "total_inactive_file 0\n",
        "cpu/a/cpu.cfs_quota_us": "-1\n",
        "cpu/a/cpu.cfs_period_us": "100000\n",
        "cpu/cpu.cfs_quota_us": "300000\n",
        "cpu/cpu.cfs_period_us": "100000\n",
    }
    groups = "4:memory:/docker/a\n1:cpu:/a\n"
    found = room(host(tmp_path, SPLIT, groups, files))
    assert (found.memory_bytes, found.free_bytes, found.cpus_count) == (6 * G, 5 * G, 3)


def test_without_limits_it_is_the_machine(tmp_path: Path) -> None:
    no_limit = {"memory.max": "max\n", "cpu.max": "max 100000\n"}
    found = room(host(tmp_path, UNIFIED, "0::/\n", no_limit))
    assert (found.memory_bytes, found.free_bytes, found.cpus_count) == (16 * G, 12 * G, 8)
    assert room(tmp_path / "nothing").memory_bytes is None
