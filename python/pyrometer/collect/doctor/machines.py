"""Whether virtual machines can be made for trials, and how fast they would be."""

from __future__ import annotations

from pyrometer.collect.doctor.finding import Finding
from pyrometer.collect.host.room import room
from pyrometer.core.errors import CapabilityError, PyrometerError
from pyrometer.guests import delay, emulator
from pyrometer.guests.cache import cache_root, kernel_cache
from pyrometer.guests.here import check_here
from pyrometer.guests.machine import MEMORY_BYTES
from pyrometer.guests.parts import kernels

KVM_REMEDY = "sudo usermod -aG kvm $USER, then log in again"


def machines() -> Finding:
    """Look for what a run in a machine of usual size would need; nothing is started."""
    name = "machines"
    try:
        check_here({"machine.memory": MEMORY_BYTES}, room().free_bytes)
        kernel = f"kernel {kernels.known(None, kernel_cache()).partition(' ')[0]}{_lacking()}"
    except PyrometerError as error:
        return Finding(name, None, False, error.message, error.remedy)
    kind, why = emulator.accelerator(cache=cache_root())
    if kind == "kvm":
        how = "/dev/kvm can be opened: they run on the processor"
        return Finding(name, "kvm", True, f"{how}; {kernel}")
    rights = f" ({KVM_REMEDY})" if "ermission" in (why or "") else ""
    how = f"emulated, 10 to 50 times slower: counts, not times: {why}{rights}"
    return Finding(name, "tcg", True, f"{how}; {kernel}")


def _lacking() -> str:
    try:
        delay.program()
    except CapabilityError as error:
        return f"; {error.message} ({error.remedy})"
    return ""
