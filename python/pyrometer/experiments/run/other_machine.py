"""Whether the virtual machine of a run was the one that its treatment asks for."""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.core.doubt import Doubt

CLOCK = "machine_clock"
"""Doubt of a machine whose clock did not keep time: its host was too busy."""

_WHY = {
    "machine_differs": "it ran in another virtual machine than was asked for",
    CLOCK: "the clock of its virtual machine did not keep time",
}


def other_machine(doubts: Sequence[Doubt]) -> str | None:
    """Say why a run's time is not its treatment's, by its doubts; ``None`` if it is."""
    found = next((one for one in doubts if one.code in _WHY), None)
    return None if found is None else f"{_WHY[found.code]}: {found.message.removesuffix('.')}"
