"""Run directories are their owner's alone: 0700, and 0600 for the files in them."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing; one that is there stays as it is.

    Raises
    ------
    OSError
        If it cannot be created.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def keep_private(root: Path) -> None:
    """Take from group and others what they may do with all that is ours below `root`.

    The folder itself protects what is in it; this is for the day when somebody copies it. Links
    are not followed, and what belongs to another user (a JVM that was attached to) is left alone.
    """
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                _restrict(Path(folder) / name)


def _restrict(path: Path) -> None:
    found = path.lstat()
    if found.st_uid == os.geteuid() and stat.S_IFMT(found.st_mode) in (stat.S_IFREG, stat.S_IFDIR):
        mode = stat.S_IMODE(found.st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700, follow_symlinks=True)
