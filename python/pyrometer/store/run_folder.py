"""Folders that hold runs, such as ``pyrometer-runs``: which runs are in one, newest first.

A folder in which a run directory is made of files that were there before.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.store.manifest import Manifest, read_manifest
from pyrometer.store.paths import RunPaths
from pyrometer.store.private import make_own


@contextmanager
def new_run_folder(root: Path) -> Iterator[RunPaths]:
    """Make a run directory that only its owner can read; if the block fails nothing of it stays.

    Parameters
    ----------
    root : Path
        A new or an empty folder.

    Raises
    ------
    UsageError
        If it holds something, or cannot be written.
    """
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{root}: exists and is not empty", "give a new directory with -o")
    existed = root.is_dir()
    try:
        make_own(root)
        yield RunPaths(root)
    except BaseException as error:
        take_back(RunPaths(root), existed)
        if isinstance(error, OSError):
            raise UsageError(
                f"{error.filename or root}: {error.strerror or error}",
                "give a directory with room for copies",
            ) from error
        raise


def take_back(paths: RunPaths, existed: bool) -> None:
    """Remove a run directory that came to nothing.

    Parameters
    ----------
    paths : RunPaths
        The directory.
    existed : bool
        Whether the folder was there before, empty: it stays then, and so does what others put
        there meanwhile.
    """
    if not existed:
        shutil.rmtree(paths.root, ignore_errors=True)
        return
    for folder in (paths.raw, paths.tables):
        shutil.rmtree(folder, ignore_errors=True)
    for file in (paths.manifest, paths.report):
        with suppress(OSError):
            file.unlink()


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
