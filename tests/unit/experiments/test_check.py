"""The user's own check of a run: what it says, and that nothing of it stays."""

from __future__ import annotations

import os
import time
import tracemalloc
from pathlib import Path

from pyrometer.experiments.run.check import run_check


def test_a_check_says_by_its_exit_code_whether_a_result_is_right(tmp_path: Path) -> None:
    assert run_check('test -d {run} && test "$PYROMETER_RUN_DIR" = {run}', tmp_path) is None
    assert run_check("echo 1 line differs; exit 3", tmp_path) == (
        "the check ended with exit code 3: 1 line differs"
    )


def test_a_check_may_print_more_than_fits_into_memory(tmp_path: Path) -> None:
    # Zeros take no room on the disk.
    command = (
        "truncate -s 64M {run}/check.txt && (echo; echo 1 line differs) >> {run}/check.txt; exit 3"
    )
    tracemalloc.start()
    said = run_check(command, tmp_path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said == "the check ended with exit code 3: 1 line differs"
    assert most < 16 << 20


def _runs(pid: int) -> bool:
    try:
        return not Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].startswith(" Z")
    except OSError:
        return False


def test_a_check_that_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    command = "sleep 600 & echo $! > {run}/pid; wait"
    assert run_check(command, tmp_path, 1.0) == "the check did not end within 1 s"
    child = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 30
    while _runs(child) and time.monotonic() < until:
        os.sched_yield()
    assert not _runs(child)
