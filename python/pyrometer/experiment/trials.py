"""Trials of an experiment: their order, which share a launch, and what is launched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from pyrometer.experiment.together import shares
from pyrometer.plan import Trial, parse_treatment
from pyrometer.plan.design import in_turn, schedule, side_by_side
from pyrometer.plan.experiment_source import Source
from pyrometer.plan.treatments import Treatments
from pyrometer.run.launch import own_factors
from pyrometer.store.experiment import Plan, PlannedTreatment, PlannedTrial
from pyrometer.workload.launch import AUTO_WARMUP


def ordered(
    source: Source, made: Treatments, blocks: int, seed: int, split: list[str], rounds: int
) -> list[PlannedTrial]:
    """Put all trials in their order, with where and how each runs."""
    kind, names = source.experiment.design.kind, list(made.run)
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
        sides = shares(frozenset(os.sched_getaffinity(0)), source.experiment.set.get("host.cpus"))
        slots = side_by_side((names[0], names[1]), blocks, seed)
    else:
        levels = {name: one.levels for name, one in made.run.items()}
        slots = schedule(levels, blocks, seed, kind=kind, split=split)
    return [
        PlannedTrial(
            number=one.number, block=one.block, treatment=one.treatment,
            folder=f"{one.number:04d}-{_word(one.treatment)}",
            launch=None if one.side is None else one.block,
            cpus=None if one.side is None else sides[one.side],
        )
        for one in slots
    ]  # fmt: skip


def launches(trials: Iterable[PlannedTrial]) -> list[list[PlannedTrial]]:
    """Join trials that are made together."""
    by_launch = groupby(trials, lambda one: (one.launch, one.number if one.launch is None else 0))
    return [list(found) for _, found in by_launch]


def whole_plot(plan: Plan, planned: PlannedTrial) -> tuple[int, dict[str, str]]:
    """Give the block of a trial, and its levels of what stays for several."""
    levels = _treatment(plan, planned).levels
    return planned.block, {name: levels[name] for name in plan.split if name in levels}


def trials_of(plan: Plan, launch: Sequence[PlannedTrial], run_dirs: Sequence[Path]) -> list[Trial]:
    """Make what is launched: a trial for each that is planned, or one in which they take turns."""
    treatments = [_treatment(plan, one) for one in launch]
    if plan.kind != "toggle":
        made = [
            _trial(plan, treatment, treatment.levels, run_dir, planned.cpus)
            for treatment, run_dir, planned in zip(treatments, run_dirs, launch, strict=True)
        ]
        return _overlapping(made, treatments)
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


def _overlapping(made: list[Trial], treatments: Sequence[PlannedTreatment]) -> list[Trial]:
    """Say when each begins, and beside whom, where workloads run together."""
    found = [one.company for one in treatments if one.company]
    if len(found) < 2:
        return made
    first, last = (of(one.offset_s for one in found) for of in (min, max))
    return [
        replace(trial, overlap=(one.offset_s - first, last - first), beside=tuple(one.beside))
        for trial, one in zip(made, found, strict=True)
    ]


def _trial(
    plan: Plan,
    treatment: PlannedTreatment,
    levels: Mapping[str, str],
    run_dir: Path,
    cpus: str | None = None,
) -> Trial:
    asked = {**levels, **({"host.cpus": cpus} if cpus else {})}
    name = treatment.company.workload if treatment.company else plan.workload
    return Trial(
        name=name,
        treatment=parse_treatment(
            [f"{factor}={level}" for factor, level in asked.items()], own_factors(name)
        ),
        profile=plan.profile,
        iterations=plan.iterations,
        warmup=plan.warmup,
        scale=plan.scale,
        run_dir=run_dir,
        timeout_s=plan.timeout_s,
        canaries=plan.canaries == "iteration",
    )


def _word(treatment: str) -> str:
    """Write a treatment as part of a folder's name.

    Examples
    --------
    >>> _word("data.codec=none, jvm.heap=1g")
    'none-1g'
    """
    levels = "-".join(part.partition("=")[2] for part in treatment.split(", "))
    return re.sub(r"[^A-Za-z0-9._-]+", "-", levels).strip("-.")[:60] or "trial"
