"""Whether machines can be made here, as far as that is known before one is."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from pyrometer.core import units
from pyrometer.core.errors import CapabilityError
from pyrometer.guests import delay, emulator
from pyrometer.guests.cache import cache_root, free_bytes_of
from pyrometer.guests.machine import Machine, machine_of
from pyrometer.guests.parts import initrd, nameless
from pyrometer.guests.qemu import own_bytes
from pyrometer.trial.factors import Level

MACHINE = "x86_64"
"""What virtual machines are, and so the host whose kernel and programs they run."""


def require_tools() -> None:
    """Look for the programs that make and run machines; nothing is started.

    Raises
    ------
    CapabilityError
        If one is missing, with the command that installs it; on a host of another architecture.
    """
    here = platform.machine()
    if here != MACHINE:
        raise CapabilityError(
            f"virtual machines run the programs of their host, on {MACHINE} only: this is {here}",
            f"leave machine.* out, or use a host that is {MACHINE}",
        )
    emulator.program()
    initrd.busybox()
    nameless.require_maker("ext4")


def is_amd(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the processor describes its cores and threads as AMD's do."""
    try:
        text = cpuinfo.read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return re.search(r"^vendor_id\s*: (AuthenticAMD|HygonGenuine)$", text, re.MULTILINE) is not None


def check_here(treatment: Mapping[str, Level], free_bytes: int | None) -> Machine:
    """Describe the machine that a treatment asks for, and look whether it can be made here.

    Parameters
    ----------
    treatment : mapping
        Levels of the trial.
    free_bytes : int or None
        Memory that programs started here can still have; ``None``: not known.

    Raises
    ------
    UsageError, CapabilityError
        If it cannot.
    """
    machine = machine_of(treatment, len(os.sched_getaffinity(0)))
    assert machine is not None
    require_tools()
    nameless.require_maker(machine.filesystem or "ext4")
    if machine.limits.latency_ms is not None:
        delay.program()
    cache = cache_root()
    own = own_bytes(emulator.accelerator(cache=cache)[0])
    if free_bytes is not None and machine.memory_bytes + own > free_bytes:
        raise CapabilityError(
            f"a virtual machine with {units.size(machine.memory_bytes)} of memory, which takes"
            f" {units.size(own)} more for itself, and {units.size(free_bytes)} are available here",
            "set a smaller machine.memory, or end what else runs here",
        )
    free = free_bytes_of(cache)
    if machine.swap_bytes > free:
        raise CapabilityError(
            f"machine.swap={units.size(machine.swap_bytes)} is a file in {cache}, and"
            f" {units.size(free)} are free there",
            "set a smaller machine.swap, or PYROMETER_CACHE to a folder on another disk",
        )
    return machine


def crowded(machine: Machine, cpus: int | None) -> str | None:
    """Say that a machine has more CPUs than its host may use, without a full stop.

    Examples
    --------
    >>> crowded(Machine(cpus_count=8), 2)
    '8 CPUs of the machine take turns on 2 of its host'
    >>> crowded(Machine(cpus_count=2), 2), crowded(Machine(cpus_count=2), None)
    (None, None)
    """
    if cpus is None or machine.cpus_count <= cpus:
        return None
    return f"{machine.cpus_count} CPUs of the machine take turns on {cpus} of its host"
