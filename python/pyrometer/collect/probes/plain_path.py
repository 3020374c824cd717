"""Paths that every reader of a JVM's options takes as they stand.

A quote ends an option of the JVM's log, ``%p`` is a process there, ``=`` ends the path of an agent,
a comma an option of the profiler; in a POSIX locale Java has no path outside ASCII at all. Where a
path holds such a character, JVMs are given a link to it instead.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path

_PLAIN = re.compile(r"[A-Za-z0-9/._+-]+")


def is_plain(path: Path) -> bool:
    """Whether a path holds no character that means something to anybody.

    Examples
    --------
    >>> is_plain(Path("/runs/a-1.2")), is_plain(Path("/runs/50%"))
    (True, False)
    """
    return _PLAIN.fullmatch(str(path)) is not None


@cache
def plain(path: Path) -> Path:
    """Give the absolute path itself, or a link to it that lives as long as this process.

    Parameters
    ----------
    path : Path
        Of a file or folder; it need not exist yet.
    """
    path = path.absolute()
    return path if is_plain(path) else _linked(path)


@cache
def plain_for_all(path: Path) -> Path:
    """Give a file that every user may read: itself, or, where we are root, a copy.

    Root may start the application as another user, who could not read what is below ``/root``; a
    JVM that cannot read its agent does not start.
    """
    path = path.absolute()
    folder = _folder() if os.geteuid() == 0 and not _open_to_all(path) else None
    if folder is None:
        return plain(path)
    copy = Path(shutil.copyfile(path, folder / f"{len(os.listdir(folder))}-{path.name}"))
    copy.chmod(0o644)
    return copy


def _linked(path: Path) -> Path:
    folder = _folder()
    if folder is None:
        return path
    link = folder / str(len(os.listdir(folder)))
    link.symlink_to(path)
    return link


@cache
def _folder() -> Path | None:
    """Make a folder with a plain name that every user may enter; ``None`` if there is no place."""
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108
        if not is_plain(Path(place)):
            continue
        try:
            folder = Path(tempfile.mkdtemp(prefix="pyrometer-", dir=place))
        except OSError:
            continue
        folder.chmod(0o755)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    return None


def _open_to_all(path: Path) -> bool:
    try:
        if not path.stat().st_mode & stat.S_IROTH:
            return False
        return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents)
    except OSError:
        return False
