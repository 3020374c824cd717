"""Ends a profiler that nobody ends any more: waits for the death of the process that started it.

``python -m pyrometer.collect.attach.profiler_keeper KEPT_FOR JVM LIBRARY OPTIONS``
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from pathlib import Path

from pyrometer.collect.attach.hotspot import Jvm, NoAnswerError
from pyrometer.core.errors import PyrometerError

RETRY_S = 1.0
"""Before a JVM is asked again; twice as long each time, up to a minute."""


def main(kept_for: int, jvm: int, library: Path, options: str) -> None:
    """Wait until one of both processes has ended; stop the profiler if the JVM still runs.

    A JVM that does not answer (it may be stopped) is asked again until it does, or ends; one that
    refuses is not.
    """
    with contextlib.suppress(PyrometerError, OSError):
        target = Jvm(jvm)
        waiting = select.poll()
        for pid in (kept_for, jvm):
            with contextlib.suppress(ProcessLookupError):
                waiting.register(os.pidfd_open(pid), select.POLLIN)
        if os.getppid() == kept_for:
            waiting.poll()
        pause_s = RETRY_S
        while target.runs:
            with contextlib.suppress(NoAnswerError):
                target.load(library, options)
                return
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 60 * RETRY_S)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
