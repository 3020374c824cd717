"""The process that keeps a run, and whether it still lives."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ConfigDict

from pyrometer.core.liveness import start_ticks
from pyrometer.core.model import Model


class Launcher(Model):
    """The Pyrometer process that keeps the run: while it lives, the run goes on."""

    model_config = ConfigDict(extra="allow")

    pid: int
    start_ticks: int | None = None
    boot_id: str | None = None


def this_launcher() -> Launcher:
    """Identity of this process."""
    return Launcher(pid=os.getpid(), start_ticks=start_ticks(os.getpid()), boot_id=_boot_id())


def keeper_alive(launcher: Launcher | None) -> bool:
    """Whether the process that kept a run still lives here (same boot, pid and start time)."""
    if launcher is None or launcher.boot_id != _boot_id():
        return False
    ticks = start_ticks(launcher.pid)
    return ticks is not None and ticks == launcher.start_ticks


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
