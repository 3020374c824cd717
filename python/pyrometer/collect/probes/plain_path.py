"""Paths that every reader of a JVM's options takes as they stand.

A quote ends an option of the JVM's log, ``%p`` is a process there, ``=`` ends the path of an agent,
a comma an option of the profiler; in a POSIX locale Java has no path outside ASCII at all. Where a
path holds such a character, JVMs are given a link to it instead.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from pyrometer.store.scratch import Scratch

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
    """Give the absolute path itself, or a link to it.

    The link lives as long as this process, and any that was started with its name.

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
    made = _folder() if os.geteuid() == 0 and not _open_to_all(path) else None
    if made is None:
        return plain(path)
    copy = Path(shutil.copyfile(path, made.path / f"{len(os.listdir(made.path))}-{path.name}"))
    copy.chmod(0o644)
    return copy


def _linked(path: Path) -> Path:
    made = _folder()
    if made is None:
        return path
    link = made.path / str(len(os.listdir(made.path)))
    link.symlink_to(path)
    return link


@cache
def _folder() -> Scratch | None:
    """Make a folder with a plain name that every user may enter; ``None`` if there is no place."""
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108
        if not is_plain(Path(place)):
            continue
        try:
            made = Scratch("pyrometer-links-", Path(place), _named)
        except OSError:
            continue
        made.path.chmod(0o755)
        return made
    return None


def _named(folder: Path) -> bool:
    """Whether a process was started with the name of a folder, as an application was that lives.

    What it starts later, a JVM with our agent, needs the folder.
    """
    name = os.fsencode(folder)
    for pid in os.listdir("/proc"):
        for file in ("environ", "cmdline") if pid.isdigit() else ():
            with suppress(OSError):
                if name in Path("/proc", pid, file).read_bytes():
                    return True
    return False


def _open_to_all(path: Path) -> bool:
    try:
        if not path.stat().st_mode & stat.S_IROTH:
            return False
        return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents)
    except OSError:
        return False
