"""What a machine turned out to have, read inside it, against what was asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core import units
from pyrometer.guests.machine import Machine
from pyrometer.trial.factors import parse_numbers

MEMORY_LOSS = 0.12
"""Share of memory that a kernel takes before it counts: page structures, itself, the archive."""
FIXED_LOSS_BYTES = 96 << 20
_LINE = re.compile(r"^(?:Node \d+ )?(\w+):\s+(\d+) kB", re.MULTILINE)


class SeenNode(BaseModel):
    """A NUMA node as its kernel shows it."""

    model_config = ConfigDict(extra="ignore")

    node: int
    cpus: list[int] = Field(max_length=4096)
    memory_bytes: int
    distances: list[int] = Field(max_length=1024)


class Seen(BaseModel):
    """A machine as its kernel shows it; ``None`` where it does not."""

    model_config = ConfigDict(extra="ignore")

    release: str = Field(max_length=256)
    cmdline: str = Field(max_length=4096)
    cpus_count: int
    threads_per_core: int | None = None
    memory_bytes: int
    swap_bytes: int
    lru_gen: int | None = None
    filesystem: str | None = Field(default=None, max_length=64)
    clocksource: str | None = Field(default=None, max_length=64)
    nodes: list[SeenNode] = Field(default_factory=list, max_length=1024)


def read(root: Path = Path("/")) -> dict[str, Any]:
    """Read what this machine has.

    Parameters
    ----------
    root : Path
        Of the file system; another one simulates a machine.
    """
    memory = _sizes(_text(root / "proc/meminfo"))
    system = root / "sys/devices/system"
    siblings = _text(system / "cpu/cpu0/topology/thread_siblings_list")
    lru_gen = _text(root / "sys/kernel/mm/lru_gen/enabled")
    return {
        "release": _text(root / "proc/sys/kernel/osrelease"),
        "cmdline": _text(root / "proc/cmdline"),
        "cpus_count": len(parse_numbers(_text(system / "cpu/online"))),
        "threads_per_core": len(parse_numbers(siblings)) or None,
        "memory_bytes": memory.get("MemTotal", 0),
        "swap_bytes": memory.get("SwapTotal", 0),
        "lru_gen": int(lru_gen, 16) if lru_gen else None,
        "filesystem": _filesystem(root),
        "clocksource": _text(system / "clocksource/clocksource0/current_clocksource") or None,
        "nodes": [
            {
                "node": int(folder.name.removeprefix("node")),
                "cpus": parse_numbers(_text(folder / "cpulist")),
                "memory_bytes": _sizes(_text(folder / "meminfo")).get("MemTotal", 0),
                "distances": [int(one) for one in _text(folder / "distance").split()],
            }
            for folder in sorted(
                (system / "node").glob("node[0-9]*"), key=lambda one: int(one.name[4:])
            )
        ],
    }


def oom_kills(root: Path = Path("/")) -> int | None:
    """Count the processes that this kernel has killed since its boot, for want of memory."""
    found = re.search(r"^oom_kill (\d+)$", _text(root / "proc/vmstat"), re.MULTILINE)
    return int(found[1]) if found else None


def oom_kills_since(before: int | None) -> int | None:
    """Count those since `before`; ``None`` where the kernel does not count."""
    now = oom_kills()
    return None if before is None or now is None else now - before


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _filesystem(root: Path) -> str | None:
    """Name the file system below the run directory, which lies where all that is written does."""
    folder = _text(root / "pyrometer/run_dir")
    mounts = (line.split() for line in _text(root / "proc/mounts").splitlines())
    found = (one[2] for one in mounts if one[1].replace("\\040", " ") == folder)
    return next(found, None)


def _sizes(text: str) -> dict[str, int]:
    return {name: int(number) * 1024 for name, number in _LINE.findall(text)}


def differences(asked: Machine, release: str, seen: Seen) -> list[str]:
    """Say in which a machine is not what was asked for, as sentences without a full stop.

    Examples
    --------
    >>> seen = Seen(
    ...     release="6.1", cmdline="quiet", cpus_count=1, memory_bytes=2000 << 20, swap_bytes=0
    ... )
    >>> differences(Machine(cpus_count=2), "6.1", seen)
    ['machine.cpus=2, but it has 1']
    """
    found = []
    if seen.release != release:
        found.append(f"machine.kernel={release}, but {seen.release} runs")
    if seen.cpus_count != asked.cpus_count:
        found.append(f"machine.cpus={asked.cpus_count}, but it has {seen.cpus_count}")
    if seen.threads_per_core not in (None, asked.threads_per_core):
        found.append(
            f"machine.smt={asked.threads_per_core}, but a core has {seen.threads_per_core} threads"
        )
    if not _is_all(asked.memory_bytes, seen.memory_bytes):
        found.append(
            f"machine.memory={_size(asked.memory_bytes)}, but it has {_size(seen.memory_bytes)}"
        )
    # A page of a swap area holds its header.
    if not asked.swap_bytes - 65536 <= seen.swap_bytes <= asked.swap_bytes:
        found.append(f"machine.swap={_size(asked.swap_bytes)}, but it has {_size(seen.swap_bytes)}")
    if asked.lru_gen is not None and bool((seen.lru_gen or 0) & 1) != asked.lru_gen:
        shown = "nothing" if seen.lru_gen is None else f"{seen.lru_gen:#06x}"
        found.append(
            f"machine.lru_gen={'on' if asked.lru_gen else 'off'}, but the kernel shows {shown}"
        )
    if asked.filesystem not in (None, seen.filesystem):
        shown = seen.filesystem or "nothing"
        found.append(f"machine.filesystem={asked.filesystem}, but the kernel shows {shown}")
    lacking = [word for word in asked.cmdline.split() if word not in seen.cmdline.split()]
    if lacking:
        found.append(f"machine.cmdline: the kernel was not given {' '.join(lacking)}")
    return [*found, *_nodes(asked, seen)]


def _nodes(asked: Machine, seen: Seen) -> list[str]:
    if asked.topology is None:
        return []
    wanted = asked.topology
    if len(seen.nodes) != len(wanted.nodes):
        return [f"machine.numa: {len(wanted.nodes)} nodes, but it has {len(seen.nodes)}"]
    found = []
    rows = zip(wanted.nodes, wanted.distances, seen.nodes, strict=True)
    for number, (node, distances, one) in enumerate(rows):
        if sorted(one.cpus) != sorted(node.cpus):
            found.append(f"machine.numa: node {number} has the CPUs {one.cpus}")
        if not _is_all(node.memory_bytes, one.memory_bytes):
            found.append(f"machine.numa: node {number} has {_size(one.memory_bytes)} of memory")
        if tuple(one.distances) != distances:
            found.append(f"machine.numa: node {number} has the distances {one.distances}")
    return found


def _is_all(asked: int, seen: int) -> bool:
    return asked * (1 - MEMORY_LOSS) - FIXED_LOSS_BYTES <= seen <= asked


def _size(number: int) -> str:
    return units.size(number)
