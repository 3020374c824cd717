"""Whether the virtual machine of a run was the one that its treatment asks for.

Also whether it ran as those of the other trials did: on the processor, or emulated.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.core.doubt import Doubt
from pyrometer.experiments.folder import Plan, PlannedTrial
from pyrometer.experiments.journal import Entries
from pyrometer.guests.machine import is_machine

EMULATED = "emulated"
"""Doubt of a machine that ran without KVM."""

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


def otherwise(
    plan: Plan, planned: PlannedTrial, doubted: Sequence[str], entries: Entries
) -> str | None:
    """Say that a trial's machine did not run as that of the first trial; ``None`` if it did.

    Times of a machine that is emulated are not those of one that runs by KVM, so the two are no
    trials of one treatment.

    Parameters
    ----------
    plan, planned : Plan, PlannedTrial
        The trial.
    doubted : sequence of str
        Codes of doubts of its run, which finished.
    entries : Entries
        All that ended before.
    """
    in_machine = {one.name: any(map(is_machine, one.levels)) for one in plan.treatments}
    first = min(
        (
            one
            for one in entries.ended.values()
            if one.status == "finished" and in_machine.get(one.treatment)
        ),
        key=lambda one: one.wall_ns,
        default=None,
    )
    if first is None or not in_machine.get(planned.treatment):
        return None
    how, before = (
        "emulated" if EMULATED in codes else "by KVM" for codes in (doubted, first.doubted)
    )
    if how == before:
        return None
    return (
        f"its virtual machine ran {how}, that of trial {first.trial} {before}: their times cannot"
        " be compared (pyrometer doctor says how machines run here)"
    )
