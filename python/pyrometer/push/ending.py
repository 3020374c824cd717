"""When a run is over, seen from outside: nobody keeps it and none of its JVMs still runs."""

from __future__ import annotations

from pyrometer.process import runs
from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import Launcher, keeper_alive

__all__ = ["is_over"]


def is_over(paths: RunPaths, launcher: Launcher | None) -> bool:
    """Whether nothing more will be recorded; a keeper that was killed leaves its JVMs running.

    Parameters
    ----------
    paths : RunPaths
        The run.
    launcher : Launcher or None
        The process that keeps it, from the manifest.
    """
    if not paths.raw.is_dir():
        return True
    if not paths.exit.exists() and keeper_alive(launcher):
        return False
    pids = (path.stem.rpartition("-")[2] for path in (*paths.plugin_files(), *paths.profiles()))
    return not any(pid.isdecimal() and runs(int(pid)) for pid in pids)
