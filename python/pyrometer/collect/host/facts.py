"""Facts about this machine: pure readers of /proc texts and one function that opens the files.

CPUs, cores and NUMA nodes of a host, as ``/sys`` shows them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pyrometer.trial.factors import parse_numbers


def parse_cpu_model(cpuinfo: str) -> str | None:
    r"""Name of the first CPU in ``/proc/cpuinfo``.

    Examples
    --------
    >>> parse_cpu_model("processor : 0\nmodel name : AMD EPYC 9R14\n")
    'AMD EPYC 9R14'
    """
    fields = dict(_fields(cpuinfo))
    # ARM kernels give no model name, but the implementer and part number.
    part = fields.get("CPU part")
    return fields.get("model name") or (
        f"ARM implementer {fields.get('CPU implementer')} part {part}" if part else None
    )


def parse_meminfo(meminfo: str) -> dict[str, int]:
    r"""``/proc/meminfo`` in bytes.

    Examples
    --------
    >>> parse_meminfo("MemTotal:       16 kB\nHugePages_Total:   3\n")
    {'MemTotal': 16384}
    """
    sizes = {}
    for name, text in _fields(meminfo):
        number, _, unit = text.partition(" ")
        if unit.strip() == "kB" and number.isdigit():
            sizes[name] = int(number) * 1024
    return sizes


def parse_virtualised(cpuinfo: str, product: str) -> str | None:
    """Hypervisor, as far as CPU flags and the DMI product name show it; ``None`` on bare metal.

    Examples
    --------
    >>> parse_virtualised("flags : fpu hypervisor", "KVM")
    'KVM'
    """
    if "hypervisor" not in dict(_fields(cpuinfo)).get("flags", "").split():
        return None
    return product.strip() or "yes, product unknown"


def descendants(root: int) -> list[int]:
    """All living processes below `root`, parents before children."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            parent = _parent(int(entry))
            if parent is not None:
                children.setdefault(parent, []).append(int(entry))
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def _parent(pid: int) -> int | None:
    stat = _text(f"/proc/{pid}/stat")
    fields = stat[stat.rfind(")") + 2 :].split()
    return int(fields[1]) if len(fields) > 1 else None


def _fields(text: str) -> list[tuple[str, str]]:
    pairs = []
    for line in reversed(text.splitlines()):
        name, colon, value = line.partition(":")
        if colon:
            pairs.append((name.strip(), value.strip()))
    return pairs


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


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
        """First CPU of each core: those that remain when SMT is off."""
        return frozenset(cpu.core for cpu in self.cpus)


def read(root: Path = Path("/")) -> Machine:
    """Read the host, or one that is simulated below `root`."""
    system = root / "sys/devices/system"
    online = parse_numbers(_text_of(system / "cpu/online")) or sorted(os.sched_getaffinity(0))
    at = {
        number: int(folder.name.removeprefix("node"))
        for folder in (system / "node").glob("node[0-9]*")
        for number in parse_numbers(_text_of(folder / "cpulist"))
    }
    cpus = []
    for number in online:
        siblings = parse_numbers(
            _text_of(system / f"cpu/cpu{number}/topology/thread_siblings_list")
        )
        cpus.append(Cpu(at.get(number, 0), min(siblings, default=number), number))
    nodes = parse_numbers(_text_of(system / "node/has_memory")) or sorted(
        {cpu.node for cpu in cpus}
    )
    return Machine(tuple(sorted(cpus)), tuple(nodes))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
