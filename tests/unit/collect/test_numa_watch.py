"""Where the memory of executors lies: kernel's files of a simulated host, and of this one."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.collect.host.numa_watch import (
    FIRST_GAP_S,
    GAP_S,
    NumaWatch,
    about_nodes,
    parse_numa_maps,
    parse_numastat,
)

EXECUTOR = b"java\0-cp\0x\0org.apache.spark.executor.CoarseGrainedExecutorBackend\0"
MAPS = """\
00400000 bind:1 file=/usr/bin/java mapped=2 N0=2 kernelpagesize_kB=4
c0000000 bind:1 anon=300 dirty=300 N0=3 N1=297 kernelpagesize_kB=4
7f000000 bind:1 huge anon=1 dirty=1 N1=1 kernelpagesize_kB=2048
7fff0000 default stack anon=2 dirty=2 N1=2 kernelpagesize_kB=4
"""


def host(root: Path, processes: dict[int, tuple[bytes, str]], hits: int = 100) -> None:
    for node in (0, 1):
        place = root / f"sys/devices/system/node/node{node}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "numastat").write_text(f"numa_hit {hits * (node + 1)}\nother_node {hits}\n")
    for pid, (command, maps) in processes.items():
        place = root / f"proc/{pid}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "cmdline").write_bytes(command)
        (place / "numa_maps").write_text(maps)


def watching(root: Path, pids: list[int]) -> tuple[NumaWatch, list[float]]:
    now = [0.0]
    return NumaWatch(True, lambda: pids, root, lambda: now[0]), now


def test_memory_of_a_bound_executor_is_told_by_node_without_files(tmp_path: Path) -> None:
    host(tmp_path, {7: (EXECUTOR, MAPS), 8: (b"java\0Driver\0", MAPS)})
    watch, _ = watching(tmp_path, [7, 8])
    watch.begin()
    watch.look()
    host(tmp_path, {}, hits=150)
    found = watch.reached()
    (executor,) = found["executors"]
    assert (executor["pid"], executor["bound_to"]) == (7, "1")
    assert executor["bytes_by_node"] == {"0": 3 * 4096, "1": 299 * 4096 + (2 << 20)}
    assert found["bound_ratio"] == pytest.approx(1 - 3 * 4096 / (302 * 4096 + (2 << 20)))
    assert found["nodes"][1] == {
        "node": 1, "numa_hit_pages_count": 100, "other_node_pages_count": 50,
    }  # fmt: skip
    assert found["reason"] is None


def test_memory_that_is_shown_as_a_file_counts() -> None:
    lines = [
        f"4000 bind:1 file={name}\\040(deleted) dirty=9 N0=1 N1=2 kernelpagesize_kB=4"
        for name in ("/memfd:java_heap", "/dev/zero", "/SYSV00000000", "/anon_hugepage", "/data/x")
    ]
    assert dict(parse_numa_maps("\n".join(lines)).by_node) == {0: 4 * 4096, 1: 8 * 4096}


def test_the_executor_with_the_least_on_its_node_counts(tmp_path: Path) -> None:
    away = "c0 bind:0 anon=4 N0=1 N1=3 kernelpagesize_kB=4\n"
    host(tmp_path, {7: (EXECUTOR, MAPS), 9: (EXECUTOR, away)})
    watch, _ = watching(tmp_path, [7, 9])
    watch.look()
    assert watch.reached()["bound_ratio"] == 0.25


def test_the_fullest_look_counts_and_none_is_taken_too_soon(tmp_path: Path) -> None:
    host(tmp_path, {7: (EXECUTOR, MAPS)})
    watch, now = watching(tmp_path, [7])
    watch.look()
    full = watch.reached()["executors"]
    (tmp_path / "proc/7/numa_maps").write_text(MAPS + MAPS)
    now[0] = FIRST_GAP_S / 2
    watch.look()
    assert watch.reached()["executors"] == full
    (tmp_path / "proc/7/numa_maps").write_text("c0 bind:0 anon=1 N0=1 kernelpagesize_kB=4\n")
    now[0] = GAP_S * 2
    watch.look()
    assert watch.reached()["executors"] == full


def test_an_executor_that_comes_later_is_seen_at_once_and_again_soon(tmp_path: Path) -> None:
    host(tmp_path, {})
    watch, now = watching(tmp_path, [7])
    watch.look()
    now[0] = 0.5
    host(tmp_path, {7: (EXECUTOR, "c0 bind:1 anon=1 N1=1 kernelpagesize_kB=4\n")})
    watch.look()
    host(tmp_path, {7: (EXECUTOR, MAPS)})
    now[0] = 0.5 + FIRST_GAP_S
    watch.look()
    (executor,) = watch.reached()["executors"]
    assert executor["bytes_by_node"]["1"] == 299 * 4096 + (2 << 20)


def test_looks_at_a_long_run_are_seldom(tmp_path: Path) -> None:
    host(tmp_path, {7: (EXECUTOR, MAPS)})
    looks: list[float] = []
    now = [0.0]
    watch = NumaWatch(True, lambda: looks.append(now[0]) or [7], tmp_path, lambda: now[0])
    for half in range(400):
        now[0] = half / 2
        watch.look()
    gaps = [later - at for at, later in itertools.pairwise(looks)]
    assert gaps[0] == FIRST_GAP_S
    assert set(gaps[6:]) == {GAP_S}


@pytest.mark.parametrize(
    ("processes", "reason"),
    [
        ({}, "no executor JVM was seen"),
        ({7: (EXECUTOR, "c0 default anon=1 N0=1\n")}, "no executor is bound to nodes"),
    ],
)
def test_what_cannot_be_had_says_why(tmp_path: Path, processes, reason: str) -> None:
    host(tmp_path, processes)
    watch, _ = watching(tmp_path, [7])
    watch.look()
    found = watch.reached()
    assert (found["bound_ratio"], found["reason"]) == (None, reason)


def test_a_kernel_that_shows_no_maps_is_the_reason(tmp_path: Path) -> None:
    host(tmp_path, {7: (EXECUTOR, MAPS)})
    (tmp_path / "proc/7/numa_maps").unlink()
    watch, _ = watching(tmp_path, [7])
    watch.look()
    assert "numa_maps: No such file" in watch.reached()["reason"]


def test_runs_that_are_not_about_nodes_are_left_alone(tmp_path: Path) -> None:
    assert not about_nodes({"numa.bind": "bind"}, nodes=1)
    assert not about_nodes({"jvm.heap": 1}, nodes=2)
    assert about_nodes({"os.numa_balancing": 1}, nodes=2)
    assert about_nodes({"jvm.heap": 1}, nodes=2, in_machine=True)
    assert not about_nodes({"jvm.heap": 1}, nodes=1, in_machine=True)
    watch = NumaWatch(False, lambda: pytest.fail("not to be asked"), tmp_path)
    watch.begin()
    watch.look()
    assert watch.reached() is None


@given(st.text(max_size=400))
def test_any_text_of_the_kernel_is_read(text: str) -> None:
    found = parse_numa_maps(text)
    assert found.total >= 0
    assert all(value >= 0 for value in parse_numastat(text).values())


def test_this_kernel_s_own_maps_are_read_where_it_has_them() -> None:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{os.getpid()}/numa_maps").read_text()
        assert parse_numa_maps(text).total > 0
