"""CPUs, cores and NUMA nodes of a host, as ``/sys`` tells them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Cpu:
    """A logical CPU; sorted by them, those of a core and of a node stand together.

    Attributes
    ----------
    node : int
        Its NUMA node.
    core : int
        The first CPU of its core.
    number : int
        Its own number.
    """

    node: int
    core: int
    number: int


@dataclass(frozen=True)
class Machine:
    """A host.

    Attributes
    ----------
    cpus : tuple of Cpu
        Those online, sorted.
    nodes : tuple of int
        NUMA nodes that have memory.
    """

    cpus: tuple[Cpu, ...]
    nodes: tuple[int, ...]

    @property
    def first_threads(self) -> frozenset[int]:
        """First CPU of each core: what is left where the others are off."""
        return frozenset(cpu.core for cpu in self.cpus)


def numbers(text: str) -> list[int]:
    r"""Read a list of the kernel's.

    Examples
    --------
    >>> numbers("0-2,8\n"), numbers("\n")
    ([0, 1, 2, 8], [])
    """
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def written(found: Iterable[int]) -> str:
    """Write numbers as the kernel does.

    Examples
    --------
    >>> written([8, 0, 1, 2])
    '0-2,8'
    """
    parts: list[list[int]] = []
    for number in sorted(found):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def read(root: Path = Path("/")) -> Machine:
    """Read the host, or one that is simulated below `root`."""
    system = root / "sys/devices/system"
    online = numbers(_text(system / "cpu/online")) or sorted(os.sched_getaffinity(0))
    at = {
        number: int(folder.name.removeprefix("node"))
        for folder in (system / "node").glob("node[0-9]*")
        for number in numbers(_text(folder / "cpulist"))
    }
    cpus = []
    for number in online:
        siblings = numbers(_text(system / f"cpu/cpu{number}/topology/thread_siblings_list"))
        cpus.append(Cpu(at.get(number, 0), min(siblings, default=number), number))
    nodes = numbers(_text(system / "node/has_memory")) or sorted({cpu.node for cpu in cpus})
    return Machine(tuple(sorted(cpus)), tuple(nodes))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
