"""What the workload runner tells: a line per start and end of an iteration, and messages."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ITERATIONS_FILE = "iterations.ndjson"


class IterationLog:
    """Appends to ``iterations.ndjson``, each line flushed to the kernel.

    Parameters
    ----------
    path : Path
        File to append to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed = False

    def write(self, kind: str, iteration: int, warmup: bool, **more: Any) -> None:
        """Write one line with the present time on both clocks.

        A full disk must not end the workload: that is said once, and the run goes on.
        """
        record = {
            "k": kind,
            "iteration": iteration,
            "warmup": warmup,
            "mono_ns": time.monotonic_ns(),
            "wall_ns": time.time_ns(),
            **more,
        }
        try:
            with self._path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(record) + "\n")
        except OSError as error:
            if not self._failed:
                say(f"{self._path} cannot be written: {error}; iterations will be missing")
            self._failed = True


def say(message: str) -> None:
    """Write a message of the runner to standard error."""
    sys.stderr.write(f"pyrometer workload: {message}\n")
    sys.stderr.flush()
