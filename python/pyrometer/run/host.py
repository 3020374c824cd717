"""Facts about this machine: pure readers of /proc texts and one function that opens the files."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

from pyrometer.probes.card import kept
from pyrometer.store.manifest import Host


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
    """Hypervisor, as far as CPU flags and the DMI product name tell; ``None`` on bare metal.

    Examples
    --------
    >>> parse_virtualised("flags : fpu hypervisor", "KVM")
    'KVM'
    """
    if "hypervisor" not in dict(_fields(cpuinfo)).get("flags", "").split():
        return None
    return product.strip() or "yes, product unknown"


def this_host(with_card: bool = True) -> Host:
    """Read the machine, and the host card if one is kept; what cannot be read is ``None``."""
    cpuinfo = _text("/proc/cpuinfo")
    memory = parse_meminfo(_text("/proc/meminfo"))
    name, model = socket.gethostname(), parse_cpu_model(cpuinfo)
    return Host(
        hostname=name,
        card=kept(name, model) if with_card else None,
        kernel=platform.release(),
        cpus_count=os.cpu_count(),
        cpu_model=model,
        memory_bytes=memory.get("MemTotal"),
        swap_bytes=memory.get("SwapTotal"),
        virtualised=parse_virtualised(cpuinfo, _text("/sys/class/dmi/id/product_name")),
    )


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
