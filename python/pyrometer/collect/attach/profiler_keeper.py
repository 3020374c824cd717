"""Ends a profiler that nobody ends any more: waits for the death of the process that started it.

``python -m pyrometer.collect.attach.profiler_keeper KEPT_FOR JVM LIBRARY OPTIONS``
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from pathlib import Path

from pyrometer.collect.attach.hotspot import Jvm
from pyrometer.core.errors import PyrometerError


def main(kept_for: int, jvm: int, library: Path, options: str) -> None:
    """Wait until one of both processes has ended; stop the profiler if the JVM still runs."""
    with contextlib.suppress(PyrometerError, OSError):
        target = Jvm(jvm)
        waiting = select.poll()
        for pid in (kept_for, jvm):
            with contextlib.suppress(ProcessLookupError):
                waiting.register(os.pidfd_open(pid), select.POLLIN)
        if os.getppid() == kept_for:
            waiting.poll()
        if target.runs:
            target.load(library, options)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
