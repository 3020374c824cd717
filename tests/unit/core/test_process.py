"""Whether a process still runs."""

from __future__ import annotations

import os

from pyrometer.core.liveness import runs, start_ticks


def test_a_process_that_ended_does_not_run_though_nobody_read_its_status():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it ended, and stays a zombie
    try:
        assert os.path.exists(f"/proc/{pid}")
        assert not runs(pid)
        assert start_ticks(pid) is None
    finally:
        os.waitpid(pid, 0)


def test_two_processes_are_told_apart_by_when_they_started():
    assert start_ticks(os.getpid()) == start_ticks(os.getpid())
    assert runs(os.getpid())
    assert runs(1)
    assert start_ticks(os.getpid()) > start_ticks(1)
