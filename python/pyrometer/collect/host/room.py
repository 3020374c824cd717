"""What of a host programs may have: the least of the machine and every control group above us."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyrometer.collect.host.cgroup_plan import hierarchies
from pyrometer.collect.host.facts import parse_meminfo

ROOT = Path("/")


@dataclass(frozen=True)
class Room:
    """Memory and CPUs that programs started here may have.

    Attributes
    ----------
    memory_bytes : int or None
        In all; ``None`` if it cannot be read.
    free_bytes : int or None
        Of it what they can still have.
    swap_bytes : int or None
        Swap of the machine.
    cpus_count : int
        CPUs, a part of one counted whole, as the JVM counts them.
    """

    memory_bytes: int | None
    free_bytes: int | None
    swap_bytes: int | None
    cpus_count: int


def room(root: Path = ROOT) -> Room:
    """Read what programs started by this process may have.

    Parameters
    ----------
    root : Path
        Of the file system; another one simulates a host.
    """
    memory: dict[str, int] = {}
    with contextlib.suppress(OSError):
        memory = parse_meminfo((root / "proc/meminfo").read_text())
    totals = [memory[name] for name in ("MemTotal",) if memory.get(name)]
    free = [memory[name] for name in ("MemAvailable",) if name in memory]
    cpus = [len(os.sched_getaffinity(0))]
    for folder in _groups(root):
        limit = _number(folder, "memory.max", "memory.limit_in_bytes")
        if limit is not None:
            totals.append(limit)
            used = _number(folder, "memory.current", "memory.usage_in_bytes") or 0
            free.append(max(0, limit - max(0, used - _evictable(folder))))
        if (quota := _quota(folder)) is not None:
            cpus.append(max(1, math.ceil(quota)))
    return Room(
        min(totals, default=None), min(free, default=None), memory.get("SwapTotal"), min(cpus)
    )


def _groups(root: Path) -> Iterator[Path]:
    """Give our groups and all above them, in every hierarchy."""
    try:
        mounts = (root / "proc/self/mountinfo").read_text()
        ours = hierarchies(mounts, (root / "proc/self/cgroup").read_text(), {})
    except (OSError, ValueError):
        return
    for own in dict.fromkeys(one.own for one in ours):
        folder = root / own.lstrip("/")
        while folder != root and folder != folder.parent:
            yield folder
            folder = folder.parent


def _number(folder: Path, *names: str) -> int | None:
    """Read the first of the files that is there; ``None`` where it says ``max``."""
    for name in names:
        with contextlib.suppress(OSError, ValueError):
            return int((folder / name).read_text())
    return None


def _evictable(folder: Path) -> int:
    """Bytes of files that the kernel takes back before it lets a group run out of memory."""
    with contextlib.suppress(OSError, ValueError):
        rows = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return int(rows.get("total_inactive_file", rows.get("inactive_file", 0)))
    return 0


def _quota(folder: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    given = _number(folder, "cpu.cfs_quota_us")
    period_us = _number(folder, "cpu.cfs_period_us")
    return given / period_us if given is not None and given > 0 and period_us else None
