"""Whether virtual machines can be made for trials, and how fast they would be."""

from __future__ import annotations

from pyrometer.collect.doctor.finding import Finding
from pyrometer.core.errors import CapabilityError
from pyrometer.guests import emulator
from pyrometer.guests.cache import cache_root
from pyrometer.guests.here import require_tools

KVM_REMEDY = "sudo usermod -aG kvm $USER, then log in again"


def machines() -> Finding:
    """Look for what a machine is made of; nothing is started."""
    name = "machines"
    try:
        require_tools()
    except CapabilityError as error:
        return Finding(name, None, False, error.message, error.remedy)
    kind, why = emulator.accelerator(cache=cache_root())
    if kind == "kvm":
        return Finding(name, "kvm", True, "/dev/kvm can be opened: they run on the processor")
    rights = f" ({KVM_REMEDY})" if "ermission" in (why or "") else ""
    return Finding(
        name, "tcg", True, f"emulated, 10 to 50 times slower: counts, not times: {why}{rights}"
    )
