"""CPUs and cores that the trials of a curve had."""

from __future__ import annotations

from pyrometer.experiments.folder import Plan
from pyrometer.guests.machine import is_machine, machine_of
from pyrometer.scaling.plan import level_number
from pyrometer.trial.factors import parse_treatment

LIMITS = ("host.cpus", "cpu.quota")
"""Factors that confine a trial to a number of CPUs."""

UNCOUNTED = frozenset({"numa.nodes", "os.smt"})
"""Factors that confine it to some of the CPUs, and do not say to how many."""


def processors(plan: Plan) -> tuple[float | None, float | None]:
    """CPUs and cores of the machine of every trial: its own one where it had one.

    Cores are known of virtual machines alone; ``None`` where trials differ.
    """
    found = {
        machine_of(
            parse_treatment([f"{k}={v}" for k, v in one.levels.items() if is_machine(k)]),
            int(plan.machine.get("cpus_count") or 1),
        )
        for one in plan.treatments
    }
    if found == {None}:
        cpus = plan.machine.get("cpus_count")
        return (float(cpus) if isinstance(cpus, int) else None), None
    sizes = {(one.cpus_count, one.threads_per_core) for one in found if one is not None}
    if len(sizes) != 1 or None in found:
        return None, None
    count, threads = sizes.pop()
    return float(count), count / threads


def cpus_of_trials(plan: Plan, factor: str) -> float | None:
    """Say how many CPUs every trial could use, whatever the level of `factor`.

    Returns
    -------
    float or None
        ``None`` where trials differ, or a factor confines them to CPUs that it does not count.
    """
    cpus = processors(plan)[0]
    if cpus is None or any(UNCOUNTED & one.levels.keys() for one in plan.treatments):
        return None
    fixed = [name for name in LIMITS if name != factor]
    limits = {
        min([cpus, *(level_number(name, levels[name]) for name in fixed if name in levels)])
        for levels in (one.levels for one in plan.treatments)
    }
    return limits.pop() if len(limits) == 1 else None
