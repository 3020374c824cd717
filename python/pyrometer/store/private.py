"""Run directories are their owner's alone: 0700, and 0600 for the files in them."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from pyrometer.core.errors import UsageError
from pyrometer.core.users import user_name

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing; one that is there stays as it is.

    Raises
    ------
    OSError
        If it cannot be created.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def make_own(folder: Path) -> None:
    """Make a private folder for a run or an experiment, or take an empty one, if it is ours.

    Raises
    ------
    OSError
        If it cannot be created.
    """
    make_private(folder)
    # A file system may know no rights.
    with contextlib.suppress(OSError):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if _is_loose(about := os.fstat(opened)):
                os.fchmod(opened, stat.S_IMODE(about.st_mode) & ~0o077)
        finally:
            os.close(opened)


def make_out_of_reach(folder: Path, remedy: str) -> Path:
    """Make a private folder in whose place, or above it, only its user and root can put another.

    Parameters
    ----------
    folder : Path
        The folder; an existing one stays as it is.
    remedy : str
        What to do where others can.

    Returns
    -------
    Path
        The folder by a path without links.

    Raises
    ------
    UsageError
        If others can; nothing is made then.
    OSError
        If it cannot be created.
    """
    _require_out_of_reach(folder, remedy)
    made = folder.resolve()
    for above in reversed(made.parents):
        # Whatever the umask is.
        if not above.exists():
            above.mkdir(mode=0o755, exist_ok=True)
    make_private(made)
    # Somebody may have been faster where everybody may make folders.
    _require_out_of_reach(made, remedy)
    return made


def _require_out_of_reach(folder: Path, remedy: str) -> None:
    for path in (folder.absolute(), folder.resolve()):
        for place in (*reversed(path.parents), path):
            try:
                about = place.lstat()
            except FileNotFoundError:
                break
            mode = 0 if stat.S_ISLNK(about.st_mode) else about.st_mode
            # In a folder such as /tmp, what is ours stays ours.
            shared = mode & _BY_OTHERS and (place == path or not mode & stat.S_ISVTX)
            if shared or about.st_uid not in (0, os.geteuid()):
                raise UsageError(
                    f"{place} belongs to user {user_name(about.st_uid)}"
                    + (" and may be changed by others" if shared else "")
                    + f": files of {user_name(os.geteuid())} are not safe below it",
                    remedy,
                )


def keep_private(root: Path) -> None:
    """Take from group and others what they may do with all that is ours below `root`.

    The folder itself protects what is in it; this is for the day when somebody copies it. Links
    are not followed, and what belongs to another user (a JVM that was attached to) is left alone.
    """
    with contextlib.suppress(OSError):
        for _, folders, files, here in os.fwalk(root.resolve()):
            for name in (*folders, *files):
                with contextlib.suppress(OSError):
                    _restrict(name, here)


def _restrict(name: str, folder: int) -> None:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    # No device or pipe is opened, nor what needs no change.
    if not _is_loose(found):
        return
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    opened = os.open(name, flags, dir_fd=folder)
    try:
        # Another one may bear the name by now.
        if _is_loose(about := os.fstat(opened)):
            os.fchmod(opened, stat.S_IMODE(about.st_mode) & 0o700)
    finally:
        os.close(opened)


def _is_loose(about: os.stat_result) -> bool:
    kept = stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)
    return kept and about.st_uid == os.geteuid() and bool(about.st_mode & 0o077)
