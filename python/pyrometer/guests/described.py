"""The machine of a recorded trial in a line, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrometer.core.units import counted, size


def described(block: Mapping[str, Any]) -> str:
    """Say what a machine was, and how long it took to come up.

    Parameters
    ----------
    block : mapping
        ``machine`` of a manifest.

    Examples
    --------
    >>> found = {"cpus_count": 2, "memory_bytes": 2 << 30, "swap_bytes": 1 << 30, "lru_gen": 7}
    >>> boot = [{"step": "kernel", "uptime_s": 2.5}, {"step": "started", "uptime_s": 4.92}]
    >>> described({"kernel": "6.1.0", "accelerator": "tcg", "found": found, "boot": boot})
    'emulated, Linux 6.1.0, 2 CPUs, 2.00 GiB, swap 1.00 GiB, lru_gen 0x7; booted in 4.9 s'
    """
    found = block.get("found") or {}
    how = {"kvm": ["KVM"], "tcg": ["emulated"]}.get(str(block.get("accelerator")), [])
    parts = [*how, f"Linux {block['kernel']}"]
    if "cpus_count" in found:
        parts += [counted(int(found["cpus_count"]), "CPU"), size(found["memory_bytes"])]
    if found.get("swap_bytes"):
        parts.append(f"swap {size(found['swap_bytes'])}")
    if len(found.get("nodes") or ()) > 1:
        parts.append(counted(len(found["nodes"]), "NUMA node"))
    if found.get("lru_gen") is not None:
        parts.append(f"lru_gen {found['lru_gen']:#x}")
    up = next((one for one in block.get("boot") or () if one["step"] == "started"), None)
    if up is None or up.get("uptime_s") is None:
        return ", ".join(parts)
    return f"{', '.join(parts)}; booted in {up['uptime_s']:.1f} s"
