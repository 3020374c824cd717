"""What virtual machines do to the times of an experiment: its doubts, and notes on its plan."""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.collect.host.room import room
from pyrometer.core.doubt import Doubt
from pyrometer.core.schema import doubt
from pyrometer.experiments.folder import UNAPPLIED, Ended, Plan
from pyrometer.guests import emulator
from pyrometer.guests.cache import cache_root
from pyrometer.guests.here import crowded
from pyrometer.guests.machine import Machine, is_machine, machine_of
from pyrometer.trial.factors import parse_treatment

MACHINES = {
    "emulated": "ran in an emulated machine: their times mean nothing in absolute terms",
    "machine_waited": "had a machine that waited for CPUs of its host, 10 % of its time or more",
    "machine_oversubscribed": "had a machine with more CPUs than its host may use",
    "machine_differs": "had another machine than was asked for",
    "machine_clock": "had a machine whose clock did not keep time",
    "memory_condition_missed": "missed the condition of memory that was asked for",
    UNAPPLIED: "did not have a level that was asked for",
}
"""What doubts about machines and levels mean for trials."""

IN_TURN = "all CPUs of an emulated machine take turns on one thread of its host"
NODES = "nodes of a virtual machine are not nodes of its host: remote memory costs what local does"


def doubts_of_machines(ended: Sequence[Ended]) -> list[Doubt]:
    """Doubt times of trials by the machine that they ran in, and by levels that did not hold."""
    found = []
    for code, what in MACHINES.items():
        trials = [one.trial for one in ended if code in one.doubted]
        if trials:
            text = f"{len(trials)} of {len(ended)} trials {what}; the first is trial {trials[0]}"
            said = [why for one in ended if code in one.doubted for why in one.unapplied]
            if code == UNAPPLIED and said:
                text += f": {'; '.join(dict.fromkeys(one.rstrip('.') for one in said))}"
            found.append(doubt(code, text))
    return found


def doubts_of_nodes(plan: Plan) -> list[Doubt]:
    """Doubt what times say about NUMA nodes where they are those of virtual machines."""
    varied = {name for one in plan.treatments for name in one.varied}
    about = sorted(
        name
        for name in varied
        if name.startswith("numa.") or name in ("machine.numa", "os.numa_balancing")
    )
    if not about or not _machines(plan):
        return []
    return [doubt("machine_nodes", f"{', '.join(about)}: {NODES}")]


def notes_of(plan: Plan, *, emulation: bool = True) -> list[str]:
    """Say before an experiment what its machines, made here, will do to its times.

    Parameters
    ----------
    plan : Plan
        What is to be run.
    emulation : bool
        Whether to say that machines are emulated here.
    """
    machines = _machines(plan)
    if not machines:
        return []
    notes = [one.message for one in doubts_of_nodes(plan)]
    how, why = emulator.accelerator(cache=cache_root())
    if how == "kvm":
        cpus = room().cpus_count
        return [*notes, *dict.fromkeys(said for one in machines if (said := crowded(one, cpus)))]
    if emulation:
        notes.append(f"machines are emulated here ({why}): {IN_TURN}, and no time is hardware's")
    return notes


def _machines(plan: Plan) -> list[Machine]:
    """Machines of the treatments that ask for one."""
    cpus = int(plan.machine.get("cpus_count") or 1)
    found = []
    for one in plan.treatments:
        asked = [f"{name}={level}" for name, level in one.levels.items() if is_machine(name)]
        machine = machine_of(parse_treatment(asked), cpus)
        found += [] if machine is None else [machine]
    return found
