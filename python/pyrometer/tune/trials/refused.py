"""What is never launched: levels that make no treatment here, or would not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyrometer.collect.host.room import room
from pyrometer.collect.launch.launch import factors_of_workload
from pyrometer.core import units
from pyrometer.core.errors import PyrometerError
from pyrometer.experiments.plan.treatments import Treatment, Treatments
from pyrometer.experiments.run.honoured import honoured
from pyrometer.trial.factors import parse_treatment
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.memory import ELSEWHERE, TAKES, memory_of
from pyrometer.tune.space.space import Space

NOT_LAUNCHED = "not launched: "
"""Begins why nothing is known of a trial that was refused."""
KEPT = 0.05
"""Share of the machine's memory that stays free."""

Honour = Callable[[Treatments, str, Path], Treatments]
"""Leaves out treatments that a host cannot honour, each with the reason."""


@dataclass(frozen=True)
class Refusal:
    """Why a configuration is not launched.

    Attributes
    ----------
    passing : bool
        It fits into the machine, and others have the memory that it needs: it may be tried later.
    """

    reason: str
    passing: bool = False


def available() -> tuple[float, float] | None:
    """Memory that programs can still have here, and all of it; ``None`` if it cannot be read."""
    found = room()
    if found.free_bytes is None or not found.memory_bytes:
        return None
    return float(found.free_bytes), float(found.memory_bytes)


def why_not(
    configuration: Mapping[str, str],
    shared: Mapping[str, str],
    space: Space,
    workload: str,
    folder: Path,
    memory: tuple[float, float] | None,
    honour: Honour = honoured,
) -> Refusal | None:
    """Say why a configuration must not be launched; ``None`` if it may.

    What changes no memory takes what the job takes, which runs.

    Parameters
    ----------
    configuration, shared : mapping of str to str
        Levels of the trial alone, and of all trials.
    folder : Path
        Where runs are written.
    memory : (float, float) or None
        Available, and in all, as :func:`available` gives them.
    honour : callable
        Says what this host cannot honour.
    """
    if not configuration:
        return None  # The user's own job, as it is.
    written = {**shared, **configuration}
    declared = factors_of_workload(workload)
    try:
        parsed = parse_treatment([f"{name}={level}" for name, level in written.items()], declared)
        if broken := infeasible(space, configuration):
            return Refusal(broken)
        facts = space.facts or {}
        found = memory_of(written, facts)
        needed = found.driver if ELSEWHERE in facts else found.total
    except PyrometerError as error:
        return Refusal(f"{error.message} ({error.remedy})" if error.remedy else error.message)
    if short := _short(needed, memory) if TAKES & configuration.keys() else None:
        return short
    one = Treatment("trial", written, parsed, dict(configuration))
    left_out = honour(Treatments({"trial": one}), workload, folder).left_out
    return Refusal(left_out[0].reason) if left_out else None


def _short(needed: float, memory: tuple[float, float] | None) -> Refusal | None:
    if memory is None or needed <= memory[0] - KEPT * memory[1]:
        return None
    return Refusal(
        f"it may take {units.size(needed)}, and {units.size(memory[0])} of"
        f" {units.size(memory[1])} are available",
        passing=needed <= (1 - KEPT) * memory[1],
    )
