"""Trials of an experiment: their order, which share a launch, and what is launched.

Treatments that share a launch take turns in one JVM (toggle), or run in parallel (duet).

Duet: Bulej et al., "Duet benchmarking: improving measurement accuracy in the cloud", ICPE 2020.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path

from pyrometer.collect.host import facts
from pyrometer.collect.host.facts import Cpu
from pyrometer.collect.launch.launch import factors_of_workload, is_workload_command
from pyrometer.core.errors import UsageError
from pyrometer.experiments.folder import Plan, PlannedTreatment, PlannedTrial
from pyrometer.experiments.plan.design import in_parallel, in_turn, schedule
from pyrometer.experiments.plan.source import Source
from pyrometer.experiments.plan.treatments import Declared, Treatment, Treatments
from pyrometer.experiments.run.versions import with_kernel
from pyrometer.guests.machine import is_machine, machine_of
from pyrometer.trial.factors import find_factor, parse_cpus, parse_treatment, write_cpus
from pyrometer.trial.trial import Trial
from pyrometer.workloads import registry
from pyrometer.workloads.launch import AUTO_WARMUP

LIKE = ("workload", "spark", "jvm")
"""Scopes of factors in which two treatments of a duet may differ."""

DISKS = ("spark.local.dir", "spark.master")


def may_toggle(factor: str, declared: Declared) -> bool:
    """Whether a factor can change between the iterations of one JVM.

    Examples
    --------
    >>> may_toggle("spark.sql.shuffle.partitions", {}), may_toggle("jvm.heap", {})
    (True, False)
    """
    if factor in declared:
        return True
    return factor != "workload.scale" and not find_factor(factor).restart


def check_together(source: Source, treatments: Treatments, declared: Declared, blocks: int) -> None:
    """Check that the treatments of an experiment can share a launch, if its design wants it.

    Raises
    ------
    UsageError
        If they cannot: with line and column.
    """
    kind = source.experiment.design.kind
    if kind == "randomized-blocks":
        return
    if source.experiment.design.split:
        where = source.document.where(("design", "split"))
        raise UsageError(f"{where}: no split plots with kind: {kind}", "leave design.split out")
    if kind == "fixed-order":
        return
    {"toggle": _check_toggle, "duet": _check_duet}[kind](source, treatments, declared)
    if kind == "duet" and blocks % 2:
        where = source.document.where(("blocks",))
        raise UsageError(
            f"{where}: a duet needs an even number of blocks, not {blocks}: sides are swapped from"
            " one to the next",
            f"blocks: {blocks + 1}",
        )


def _check_toggle(source: Source, treatments: Treatments, declared: Declared) -> None:
    workload, where = source.experiment.workload, source.document.where(("design", "kind"))
    found = registry.get(workload)
    if is_workload_command(workload) or found.engine != "spark":
        raise UsageError(f"{where}: {workload} has no iterations in a JVM to take turns in")
    _each_factor(
        source,
        treatments,
        lambda factor: may_toggle(factor, declared),
        "needs a fresh JVM to change",
    )
    fixed = {name: _fixed(one, source) for name, one in treatments.run.items()}
    first = next(iter(fixed))
    for name, one in fixed.items():
        if one != fixed[first]:
            differ = sorted(dict(one.items() ^ fixed[first].items()))
            raise UsageError(
                f"{where}: {first} and {name} differ in {', '.join(differ)}, which cannot change in"
                " a running JVM",
                "kind: randomized-blocks",
            )


def _fixed(one: Treatment, source: Source) -> Mapping[str, str]:
    """Return settings and limits of a workload's levels that cannot change in a running JVM."""
    experiment = source.experiment
    workload = registry.get(experiment.workload)
    levels = {name: level for name, level in one.levels.items() if name in workload.variants}
    spec = registry.resolve(experiment.workload, levels, experiment.scale)
    settings = workload.spark_conf(spec)
    conf = {key: value for key, value in settings.items() if not key.startswith("spark.sql.")}
    return conf | {factor: str(level) for factor, level in workload.limits(spec).items()}


def _check_duet(source: Source, treatments: Treatments, declared: Declared) -> None:
    where = source.document.where(("design", "kind"))
    if len(treatments.run) != 2:
        raise UsageError(
            f"{where}: a duet has two treatments, the matrix has {len(treatments.run)}",
            "give one factor two levels, or kind: randomized-blocks",
        )
    _each_factor(
        source,
        treatments,
        lambda factor: (
            factor in declared or (find_factor(factor).scope in LIKE and factor not in DISKS)
        ),
        "in parallel, both need the same CPUs, memory, disks and kernel",
    )
    for factor, alone in (("co.run", "none"), ("memory.by", "cgroup")):
        if source.experiment.set.get(factor, alone) != alone:
            where = source.document.where(("set", factor))
            raise UsageError(
                f"{where}: {factor}: each side would start its own (duet)",
                "kind: randomized-blocks",
            )


def _each_factor(
    source: Source, treatments: Treatments, fits: Callable[[str], bool], why: str
) -> None:
    kind = source.experiment.design.kind
    for factor in dict.fromkeys(name for one in treatments.run.values() for name in one.varied):
        if not fits(factor):
            where = source.document.where(("matrix", factor))
            raise UsageError(f"{where}: {factor}: {why} ({kind})", "kind: randomized-blocks")


def cpus_for(levels: Mapping[str, str]) -> tuple[Cpu, ...]:
    """Give the CPUs that trials may use: of this host, or of the machine that levels ask for.

    Raises
    ------
    UsageError, CapabilityError
        If there is no such machine.
    """
    allowed = os.sched_getaffinity(0)
    asked = [f"{name}={level}" for name, level in levels.items() if is_machine(name)]
    machine = machine_of(parse_treatment(asked), len(allowed))
    if machine is None:
        return tuple(cpu for cpu in facts.read().cpus if cpu.number in allowed)
    nodes = machine.topology.nodes if machine.topology else ()
    node_of = {cpu: at for at, node in enumerate(nodes) for cpu in node.cpus}
    threads = machine.threads_per_core
    found = (
        Cpu(node_of.get(number, 0), number // threads * threads, number)
        for number in range(machine.cpus_count)
    )
    return tuple(sorted(found))


def shares(cpus: Sequence[Cpu], level: str | None = None, sides: int = 2) -> list[str]:
    """Share CPUs between sides: whole cores, neighbours together; the remainder stays idle.

    Parameters
    ----------
    cpus : sequence of Cpu
        CPUs that may be used, sorted.
    level : str, optional
        Of ``host.cpus``, where the file sets it.
    sides : int
        How many.

    Raises
    ------
    UsageError
        If there are fewer CPUs than sides.
    """
    wanted = len(cpus) if level is None else parse_cpus(level)
    if isinstance(wanted, int):
        cpus = cpus[:wanted]
    else:
        cpus = [cpu for cpu in cpus if cpu.number in wanted]
    cores: dict[int, list[int]] = {}
    for cpu in cpus:
        cores.setdefault(cpu.core, []).append(cpu.number)
    # One core has only its hardware threads to share.
    parts = list(cores.values()) if len(cores) > 1 else [[cpu.number] for cpu in cpus]
    each = len(parts) // sides
    if each == 0:
        raise UsageError(
            f"in parallel: {sides} CPUs are needed, one for each side", "kind: randomized-blocks"
        )
    return [
        write_cpus(frozenset(chain(*parts[at * each : (at + 1) * each]))) for at in range(sides)
    ]


def ordered(
    source: Source, treatments: Treatments, blocks: int, seed: int, split: list[str], rounds: int
) -> list[PlannedTrial]:
    """All trials in their order, with where and how each runs."""
    kind, names = source.experiment.design.kind, list(treatments.run)
    if kind == "toggle":
        return [
            PlannedTrial(
                number=one.number, block=one.block, treatment=one.treatment,
                folder=f"{one.block:04d}-in-turn", launch=one.block,
                iterations=list(one.iterations),
            )
            for one in in_turn(names, blocks, seed, rounds)
        ]  # fmt: skip
    if kind == "duet":
        shared = source.experiment.set
        sides = shares(cpus_for(shared), shared.get("host.cpus"))
        slots = in_parallel((names[0], names[1]), blocks, seed)
    else:
        levels = {name: one.levels for name, one in treatments.run.items()}
        slots = schedule(levels, blocks, seed, kind=kind, split=split)
    return [
        PlannedTrial(
            number=one.number, block=one.block, treatment=one.treatment,
            folder=f"{one.number:04d}-{folder_word(one.treatment)}",
            launch=None if one.side is None else one.block,
            cpus=None if one.side is None else sides[one.side],
        )
        for one in slots
    ]  # fmt: skip


def launches(trials: Iterable[PlannedTrial]) -> list[list[PlannedTrial]]:
    """Group trials by launch."""
    by_launch = groupby(trials, lambda one: (one.launch, one.number if one.launch is None else 0))
    return [list(found) for _, found in by_launch]


def whole_plot(plan: Plan, planned: PlannedTrial) -> tuple[int, dict[str, str]]:
    """Block of a trial, and its levels of the factors of whole plots.

    Of a trial in a machine of its own, switches of the kernel are those of that machine.
    """
    levels = _treatment(plan, planned).levels
    elsewhere = any(map(is_machine, levels))
    return planned.block, {
        name: levels[name]
        for name in plan.split
        if name in levels and not (elsewhere and name.startswith("os."))
    }


def trials_of(plan: Plan, launch: Sequence[PlannedTrial], run_dirs: Sequence[Path]) -> list[Trial]:
    """Return what is launched: each planned trial, or one trial in which they take turns."""
    treatments = [_treatment(plan, one) for one in launch]
    if plan.kind != "toggle":
        trials = [
            _trial(plan, treatment, treatment.levels, run_dir, planned.cpus)
            for treatment, run_dir, planned in zip(treatments, run_dirs, launch, strict=True)
        ]
        return _overlapping(trials, treatments)
    first = treatments[0]
    shared = {name: level for name, level in first.levels.items() if name not in first.varied}
    whole = _trial(plan, first, shared, run_dirs[0])
    warmup = AUTO_WARMUP if plan.warmup == "auto" else plan.warmup
    return [
        replace(
            whole,
            iterations=plan.iterations * len(launch),
            warmup=warmup * len(launch),
            turns=tuple(
                (treatment.varied, tuple(planned.iterations))
                for treatment, planned in zip(treatments, launch, strict=True)
            ),
        )
    ]


def _treatment(plan: Plan, planned: PlannedTrial) -> PlannedTreatment:
    return next(one for one in plan.treatments if one.name == planned.treatment)


def _overlapping(trials: list[Trial], treatments: Sequence[PlannedTreatment]) -> list[Trial]:
    """Set when each workload of a co-run begins, and which others run with it."""
    found = [one.company for one in treatments if one.company]
    if len(found) < 2:
        return trials
    first, last = (of(one.offset_s for one in found) for of in (min, max))
    return [
        replace(trial, overlap=(one.offset_s - first, last - first), co_running=tuple(one.beside))
        for trial, one in zip(trials, found, strict=True)
    ]


def _trial(
    plan: Plan,
    treatment: PlannedTreatment,
    levels: Mapping[str, str],
    run_dir: Path,
    cpus: str | None = None,
) -> Trial:
    asked = {**with_kernel(plan, levels), **({"host.cpus": cpus} if cpus else {})}
    name = treatment.company.workload if treatment.company else plan.workload
    return Trial(
        name=name,
        treatment=parse_treatment(
            [f"{factor}={level}" for factor, level in asked.items()], factors_of_workload(name)
        ),
        profile=plan.profile,
        iterations=plan.iterations,
        warmup=plan.warmup,
        scale=plan.scale,
        run_dir=run_dir,
        timeout_s=plan.timeout_s,
        canaries=plan.canaries == "iteration",
        captured=True,
    )


def folder_word(treatment: str) -> str:
    """Write a treatment as part of the name of its trials' folders.

    Examples
    --------
    >>> folder_word("data.codec=none, jvm.heap=1g")
    'none-1g'
    """
    levels = "-".join(part.partition("=")[2] for part in treatment.split(", "))
    return re.sub(r"[^A-Za-z0-9._-]+", "-", levels).strip("-.")[:60] or "trial"
