"""A side of a duet ends with who started it."""

from __future__ import annotations

import os
import subprocess
import sys


def test_a_side_whose_parent_has_ended_already_makes_nothing() -> None:
    """Another parent than the one that it is told: its own ended while it was being started."""
    side = subprocess.run(
        [sys.executable, "-m", "pyrometer.experiments.run.parallel", str(os.getppid())],
        input=b"{}",
        capture_output=True,
        check=False,
    )
    assert side.returncode != 0
    assert side.stdout == b""
    assert f"process {os.getppid()} has ended".encode() in side.stderr
