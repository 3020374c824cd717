"""Control groups of ours that stay behind: named, found again, and removed."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from pyrometer.process import start_ticks

PREFIX = "pyrometer-"
REMOVE_S = 5.0

_NAME = re.compile(rf"{PREFIX}(?P<pid>[0-9]+)-(?P<ticks>[0-9]+)")


def group_name(pid: int) -> str:
    """Name of the group that the launcher `pid` makes."""
    return f"{PREFIX}{pid}-{start_ticks(pid)}"


def remove(folders: Sequence[str], within_s: float = REMOVE_S) -> list[str]:
    """Remove groups; returns those that stay because a process still runs in them."""
    deadline = time.monotonic() + within_s
    left = list(folders)
    while True:
        for folder in list(left):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                continue
            left.remove(folder)
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(0.02)


def leftovers(folders: Iterable[str], below: bool = False) -> list[str]:
    """Find groups of runs whose launcher is gone: their name ends in its pid and start time.

    Parameters
    ----------
    folders : iterable of str
        Groups that may hold them.
    below : bool
        Whether their descendants are searched, too.
    """
    pattern = f"**/{PREFIX}*" if below else f"{PREFIX}*"
    found = {str(path) for folder in folders for path in Path(folder).glob(pattern)}
    return sorted(folder for folder in found if _lost(folder))


def mounted() -> list[str]:
    """Where control groups are mounted on this host."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [line.split()[4] for line in lines if " - cgroup" in line]


def members(folder: str) -> list[int]:
    """Give the processes in a group; none where it is gone."""
    try:
        return [int(pid) for pid in Path(folder, "cgroup.procs").read_text("ascii").split()]
    except OSError:
        return []


def told(folders: Sequence[str]) -> str:
    """Name groups, each with the processes that still run in it."""
    return ", ".join(f"{folder} ({_held_by(members(folder))})" for folder in folders)


def _held_by(pids: Sequence[int]) -> str:
    return f"processes {' '.join(map(str, pids))}" if pids else "no process"


def removal(folders: Sequence[str]) -> str:
    """Give the command that ends what still runs in groups and removes them.

    Examples
    --------
    >>> removal(["/nowhere/pyrometer-1-1", "/nowhere/pyrometer-1-2"])
    'rmdir /nowhere/pyrometer-1-1 /nowhere/pyrometer-1-2'
    """
    pids = sorted({pid for folder in folders for pid in members(folder)})
    ending = f"kill -9 {' '.join(map(str, pids))}; sleep 1; " if pids else ""
    return f"{ending}rmdir {shlex.join(folders)}"


def _lost(folder: str) -> bool:
    name = _NAME.fullmatch(Path(folder).name)
    return name is not None and name["ticks"] != str(start_ticks(int(name["pid"])))
