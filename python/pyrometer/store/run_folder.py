"""Folders that hold runs, such as ``pyrometer-runs``: which runs are in one, newest first."""

from __future__ import annotations

from pathlib import Path

from pyrometer.core.errors import PyrometerError
from pyrometer.store.manifest import Manifest, read_manifest
from pyrometer.store.paths import RunPaths


def runs_in(folder: Path) -> tuple[list[tuple[Path, Manifest]], dict[Path, str]]:
    """Find the runs right below a folder.

    Returns
    -------
    tuple of list and dict
        Runs with their manifests, the newest first; and those that cannot be read, with the reason.
    """
    found, unread = [], {}
    for place in sorted(folder.iterdir()):
        if not RunPaths(place).manifest.is_file():
            continue
        try:
            found.append((place, read_manifest(place)))
        except PyrometerError as error:
            unread[place] = error.message
    found.sort(key=lambda one: one[1].started_wall_ns or one[1].created_wall_ns, reverse=True)
    return found, unread


def latest_run(folder: Path) -> tuple[Path, int] | None:
    """Give the newest run of a folder of runs, and how many there are; ``None`` if it is none."""
    paths = RunPaths(folder)
    if not folder.is_dir() or any(p.exists() for p in (paths.manifest, paths.raw, paths.tables)):
        return None
    found, _ = runs_in(folder)
    return (found[0][0], len(found)) if found else None
