"""Processes outside a run that used CPU while it lasted."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pyrometer.collect.host.takers import MOST, Used, parse_stat, process_table, takers

STAT = "9 (x) S 1 9 9 0 -1 {flags} 0 0 0 0 30 12 0 0 20 0 1 0 5 0 0\n"


def test_the_largest_are_named_and_ours_are_not() -> None:
    after = {pid: Used(1, f"p{pid}", 100 * pid) for pid in range(1, 10)}
    found = takers({}, after, {9, 4}, 100)
    assert [one["pid"] for one in found] == [8, 7, 6, 5, 3]
    assert len(found) == MOST
    assert found[0] == {"pid": 8, "comm": "p8", "cpu_ns": 8_000_000_000}


def test_only_what_was_used_in_between_counts() -> None:
    before = {1: Used(1, "old", 500), 2: Used(1, "old", 500), 3: Used(1, "gone", 9)}
    after = {1: Used(1, "old", 530), 2: Used(7, "new", 40), 4: Used(2, "idle", 1)}
    found = takers(before, after, (), 100)
    assert [(one["comm"], one["cpu_ns"] // 10**6) for one in found] == [("new", 400), ("old", 300)]


@pytest.mark.parametrize(("flags", "seen"), [(0x400100, True), (0x208040, False)])
def test_threads_of_the_kernel_are_no_processes(flags: int, seen: bool) -> None:
    assert (parse_stat(STAT.format(flags=flags)) is not None) == seen


def test_a_process_that_computes_is_found_in_the_table() -> None:
    before = process_table()
    code = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ninput()"
    burner = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert burner.stdout is not None
        burner.stdout.readline()
        after = process_table()
    finally:
        burner.communicate(b"\n")
    # Alone: on a busy machine others may have used more, and only the largest few are listed.
    alone = {burner.pid: after[burner.pid]}
    (mine,) = takers(before, alone, {os.getpid()}, os.sysconf("SC_CLK_TCK"))
    assert mine["cpu_ns"] >= 400_000_000
