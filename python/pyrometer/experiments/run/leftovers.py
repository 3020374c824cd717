"""Leftovers of a trial whose Pyrometer was killed: processes, switches, folders of barriers."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

from pyrometer.collect.host.settings_restore import put_back
from pyrometer.collect.launch.environment import INSIDE
from pyrometer.collect.launch.together import BARRIER
from pyrometer.core.liveness import start_ticks

POLITE_S = 10.0


def of_run(root: Path) -> list[int]:
    """Pids of processes that were started in a run directory below `root`."""
    mark = os.fsencode(f"{INSIDE}={root.absolute()}")
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            variables = Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
            if any(one == mark or one.startswith(mark + b"/") for one in variables):
                found.append(int(entry))
    return found


def end(root: Path) -> int:
    """End processes that remain of trials below `root`, and return their number.

    They are asked first, then killed: an application that outlives its Pyrometer would disturb the
    next trial. Then the switches that it had held are restored.
    """
    known = {pid: start_ticks(pid) for pid in of_run(root)}
    for number, seconds in ((signal.SIGTERM, POLITE_S), (signal.SIGKILL, POLITE_S)):
        for pid in _alive(known):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while _alive(known) and time.monotonic() < deadline:
            time.sleep(0.05)
    put_back()
    for folder in root.glob(f"{BARRIER}*"):
        shutil.rmtree(folder, ignore_errors=True)
    return len(known)


def _alive(known: dict[int, int | None]) -> list[int]:
    return [pid for pid, ticks in known.items() if ticks and start_ticks(pid) == ticks]
