"""A co-run as an experiment: blocks of every party, in random order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyrometer import __version__
from pyrometer.collect.launch.launch import factors_of_workload, is_workload_command
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.corun.plan import Member, Party
from pyrometer.experiments.folder import (
    Company,
    LeftOutTreatment,
    Plan,
    PlannedTreatment,
    PlannedTrial,
)
from pyrometer.experiments.plan.design import schedule
from pyrometer.experiments.plan.file import Experiment
from pyrometer.experiments.plan.treatments import Treatment, Treatments
from pyrometer.experiments.run.honoured import honoured
from pyrometer.experiments.run.planned import (
    MOST_TRIALS,
    digest_of,
    seed_of,
    this_machine,
)
from pyrometer.experiments.run.trials import cpus_for, shares
from pyrometer.experiments.run.versions import versions_of
from pyrometer.guests.machine import is_machine
from pyrometer.trial.factors import parse_cpus, parse_treatment, write_numbers
from pyrometer.workloads import registry
from pyrometer.workloads.contract import parse_scale


def corun_plan(parties: Sequence[Party], experiment: Experiment, folder: Path) -> Plan:
    """Plan an experiment over parties.

    Parameters
    ----------
    parties : sequence of Party
        What is measured; each member alone is among them.
    experiment : Experiment
        Everything else, as an experiment file says it; its matrix is empty.
    folder : Path
        Where it is to be run.

    Raises
    ------
    UsageError
        Unknown workload, scale, factor or level; a workload without iterations; CPUs in two places;
        different virtual machines for what is to run together.
    CapabilityError
        No two of them can run together on this host.
    """
    workloads = list(dict.fromkeys(one.workload for party in parties for one in party.members))
    _check(workloads, experiment)
    _check_machines(parties)
    by_party: dict[str, list[tuple[PlannedTreatment, str | None]]] = {}
    left_out = []
    for party in parties:
        name = party.treatment(party.members[0])
        try:
            by_party[name] = _treatments(party, folder)
        except CapabilityError as error:
            left_out.append(LeftOutTreatment(name=name, reason=error.message))
    treatments = [treatment for found in by_party.values() for treatment, _ in found]
    if not any(its.beside or its.neighbour for one in treatments if (its := one.company)):
        reasons = "; ".join(f"{one.name}: {one.reason}" for one in left_out)
        raise CapabilityError(f"nothing can run together here: {reasons}")
    if experiment.blocks * len(treatments) > MOST_TRIALS:
        raise UsageError(f"{experiment.blocks * len(treatments)} trials: at most {MOST_TRIALS}")
    seed = seed_of(experiment) if experiment.seed is None else experiment.seed
    plan = Plan(
        name=experiment.name,
        description=experiment.description,
        files=[],
        workload=experiment.workload,
        scale=experiment.scale,
        profile=experiment.profile,
        iterations=experiment.iterations,
        warmup=int(experiment.warmup),
        seed=seed,
        kind="corun",
        split=[],
        blocks=experiment.blocks,
        margin=experiment.margin,
        timeout_s=experiment.timeout,
        # Canaries would measure the load of the other members.
        canaries="none",
        guard=experiment.guard.model_dump(),
        baseline=None,
        treatments=treatments,
        left_out=left_out,
        trials=list(_trials(by_party, experiment.blocks, seed)),
        machine=this_machine(),
        workload_sha256=digest_of(*workloads),
        pyrometer_version=__version__,
    )
    return plan.model_copy(update={"versions": versions_of(plan)})


def _check(workloads: Sequence[str], experiment: Experiment) -> None:
    parse_profile(experiment.profile)
    for one in workloads:
        parse_scale(registry.get(one), experiment.scale)
        if is_workload_command(one):
            raise UsageError(f"{one} is a command: it has no iterations that could be repeated")


def _check_machines(parties: Sequence[Party]) -> None:
    for first, *others in (party.members for party in parties):
        for one in others:
            different = first.levels.items() ^ one.levels.items()
            for factor in sorted(name for name, _ in different if is_machine(name)):
                raise UsageError(
                    f"{factor}: {first.name} and {one.name} run in one virtual machine, and ask for"
                    " different ones",
                    "set it for all workloads: --set machine.memory=2g",
                )


def _treatments(party: Party, folder: Path) -> list[tuple[PlannedTreatment, str | None]]:
    """Give the treatment of each member of a party, and its CPUs."""
    return [
        (_treatment(party, member, cpus, folder), cpus)
        for member, cpus in zip(party.members, _cpu_sets(party), strict=True)
    ]


def _cpu_sets(party: Party) -> list[str | None]:
    """Give the CPUs of each member; `None` where they share all."""
    if not party.own_cpus:
        return [None] * len(party.members)
    levels = party.members[0].levels
    cpus_here = cpus_for(levels)
    given = [one.cpus for one in party.members if one.cpus]
    if not given:
        try:
            return list(shares(cpus_here, levels.get("host.cpus"), len(party.members)))
        except UsageError as error:
            raise CapabilityError(error.message) from error
    allowed = {cpu.number for cpu in cpus_here}
    in_machine = any(map(is_machine, levels))
    taken: set[int] = set()
    for level in given:
        cpus = parse_cpus(level)
        assert isinstance(cpus, frozenset)
        if not cpus <= allowed:
            absent = "are not in the machine" if in_machine else "may not be used here"
            raise CapabilityError(f"CPUs {write_numbers(cpus - allowed)} {absent}")
        if taken & cpus:
            raise UsageError(
                f"CPUs {write_numbers(taken & cpus)} are given twice",
                "give each its own: @0 and @1",
            )
        taken |= cpus
    return list(given)


def _treatment(party: Party, member: Member, cpus: str | None, folder: Path) -> PlannedTreatment:
    """Give the treatment of a member; raise where this host cannot provide it."""
    levels = dict(member.levels)
    if party.neighbour:
        levels["co.run"] = party.neighbour
    asked = {**levels, **({"host.cpus": cpus} if cpus else {})}
    parsed = parse_treatment(
        [f"{k}={v}" for k, v in asked.items()], factors_of_workload(member.workload)
    )
    company = Company(
        member=member.name,
        workload=member.workload,
        beside=party.others(member),
        neighbour=party.neighbour,
        own_cpus=party.own_cpus,
        offset_s=member.offset_s,
    )
    varied = {
        "workload": member.name,
        "beside": ", ".join([*company.beside, *([party.neighbour] if party.neighbour else [])])
        or "–",
        "CPUs": cpus or "the same",
    }
    name = party.treatment(member)
    found = honoured(
        Treatments({name: Treatment(name, levels, parsed, varied)}), member.workload, folder
    )
    for one in found.left_out:
        raise CapabilityError(one.reason)
    return PlannedTreatment(name=name, levels=levels, varied=varied, company=company)


def _trials(
    by_party: Mapping[str, Sequence[tuple[PlannedTreatment, str | None]]], blocks: int, seed: int
) -> Iterator[PlannedTrial]:
    """Put all trials in their order; those of a party run together."""
    number = 0
    for slot in schedule({name: {} for name in by_party}, blocks, seed):
        party = by_party[slot.treatment]
        for treatment, cpus in party:
            number += 1
            word = re.sub(r"[^A-Za-z0-9._-]+", "-", treatment.name).strip("-.")[:60]
            yield PlannedTrial(
                number=number,
                block=slot.block,
                treatment=treatment.name,
                folder=f"{number:04d}-{word}",
                launch=slot.number if len(party) > 1 else None,
                cpus=cpus,
            )
