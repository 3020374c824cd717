"""From what a user asks for to a tuning that can begin."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyrometer import __version__
from pyrometer.collect.host.room import room
from pyrometer.collect.host.settings import level_here, unsettable
from pyrometer.collect.launch.command import Command, understand
from pyrometer.collect.launch.driver_place import check_driver_here
from pyrometer.collect.launch.executors_place import alone, of_host
from pyrometer.collect.launch.launch import factors_of_workload, is_workload_command
from pyrometer.collect.launch.settings_before import (
    settings_of_command,
    settings_of_levels,
    settings_of_workload,
)
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import Redactor
from pyrometer.experiments.plan.constraints import Constraint
from pyrometer.experiments.run.planned import digest_of, host_facts, this_machine
from pyrometer.experiments.run.versions import spark_of
from pyrometer.simulation.analysis import Prices
from pyrometer.trial.factors import did_you_mean, factors, parse_treatment
from pyrometer.trial.layout import is_layout
from pyrometer.trial.trial import Trial
from pyrometer.tune.engine import check_engine
from pyrometer.tune.observed import check_observed, cores_of
from pyrometer.tune.space.declared import spaces
from pyrometer.tune.space.file import is_space_file, read_space
from pyrometer.tune.space.job import Job, joined
from pyrometer.tune.space.memory import ELSEWHERE
from pyrometer.tune.space.named import named_space
from pyrometer.tune.space.space import Space
from pyrometer.tune.stand_ins import AUTO, check, stand_ins
from pyrometer.tune.trials.budget import parse_budget, parse_timeout
from pyrometer.tune.trials.folder import (
    Earlier,
    Fidelity,
    Objective,
    OnlineTerms,
    Prior,
    SavedSpace,
    Tuning,
)
from pyrometer.tune.trials.measured import check_sizes, conditions_of
from pyrometer.workloads import registry
from pyrometer.workloads.contract import parse_scale
from pyrometer.workloads.custom import typed_command

UNLIMITED_S = 10 * 365 * 86400.0
"""Of a job that recurs: as it is, it is never stopped, however long it takes."""
WAIT_S = 120.0
SPACE = "spark-sql"
"""Space that is tuned if nobody says."""


@dataclass(frozen=True)
class Wanted:
    """What a user asks for.

    Attributes
    ----------
    workload : str or None
        By name, or a file; ``None`` for a command.
    space : str
        A named space, several joined by ``+``, or a file.
    job : Job or None
        What an earlier run of the job says of it where the job's own settings say nothing.
    fidelities : tuple of str
        Kinds of cheap stand-ins (:data:`pyrometer.tune.stand_ins.KINDS`), ``auto`` or ``none``.
    memory : Path or None
        Folder of earlier tunings.
    timeout : str or None
        Longest time of a trial; ``None``: what the budget allows.
    online : OnlineTerms or None
        What is promised, where the job recurs and each of its runs is one of the tuning's.
    """

    workload: str | None
    command: tuple[str, ...] = ()
    space: str = SPACE
    objective: Objective = "elapsed"
    conditions: tuple[str, ...] = ()
    budget: str = "25"
    check: str | None = None
    shared: Mapping[str, str] = field(default_factory=dict)
    scale: str = "default"
    profile: str = "light"
    iterations: int = 3
    warmup: str = "auto"
    guard: str = "wait"
    engine: str = "own"
    margin: float = 0.02
    seed: int | None = None
    prices: Prices | None = None
    priors: tuple[Prior, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    sources: tuple[str, ...] = ()
    job: Job | None = None
    fidelities: tuple[str, ...] = (AUTO,)
    memory: Path | None = None
    timeout: str | None = None
    online: OnlineTerms | None = None


@dataclass(frozen=True)
class Start:
    """A tuning that can begin, and the workload's file of a command."""

    tuning: Tuning
    command_file: str | None


def started(wanted: Wanted, root: Path) -> Start:
    """Check what is asked for, and write it as a tuning.

    Parameters
    ----------
    root : Path
        Where it is going to be.

    Raises
    ------
    UsageError
        If something of it is wrong: an unknown workload, space, factor, level or condition.
    """
    command_file = None
    parse_profile(wanted.profile)
    check_engine(wanted.engine)
    check(wanted.fidelities)
    conditions = conditions_of(wanted.conditions)
    check_sizes(wanted.conditions)
    budget, cpus = parse_budget(wanted.budget), room().cpus_count
    _check_prices(wanted, conditions)
    if wanted.command:
        label = re.sub(r"[^A-Za-z0-9_-]+", "-", Trial(command=wanted.command).label).strip("-")
        name = label if re.match(r"[A-Za-z_]", label) else f"command-{label}".rstrip("-")
        workload = str((root / "command.yaml").absolute())
        if why := typed_command.filled_in(wanted.command):
            raise UsageError(why, "describe the command as a workload (docs/how-to/workloads.md)")
        levels = {"so": ("as it was typed", wanted.command)}
        summary = "A command that is tuned."
        command_file = typed_command.command_file(name, summary, "typed", levels)
        declared: Mapping[str, Sequence[str]] = {}
        now: dict[str, str] = {}
        once = True
        cheap = []
    else:
        assert wanted.workload is not None
        workload = absolute(wanted.workload)
        parse_scale(registry.get(workload), wanted.scale)
        name = Trial(name=workload).label
        declared = factors_of_workload(workload)
        variants = registry.get(workload).variants
        now = {name: variant.default for name, variant in variants.items()}
        once = is_workload_command(workload) or wanted.online is not None
        cheap = _stand_ins(wanted, workload, once=once)
    shared = parse_treatment([f"{k}={v}" for k, v in wanted.shared.items()], declared)
    spark = spark_of(wanted.command, workload, wanted.shared, shared)
    check_driver_here(wanted.command, workload, shared)
    now = {**_of_host(), **now, **wanted.shared}
    job = _job(wanted, declared)
    spark = spark or job.spark_version
    if ELSEWHERE in job.facts:
        check_observed(wanted.objective, conditions, job, wanted.profile, root)
        cpus = cores_of(job, budget) or cpus
    longest = budget.longest_s(cpus) if wanted.timeout is None else parse_timeout(wanted.timeout)
    space = space_of(wanted.space, now, declared, _refused(wanted, job), job, spark)
    varied = {knob.factor for knob in space.knobs}
    tuning = Tuning(
        name=name,
        workload=workload,
        command=Redactor.of(wanted.command).words(wanted.command),
        folder=str(Path.cwd()) if wanted.command else None,
        scale=wanted.scale,
        profile=wanted.profile,
        iterations=1 if once else wanted.iterations,
        warmup=0 if once else _warmup(wanted.warmup),
        fidelities=cheap,
        shared=dict(wanted.shared),
        space=SavedSpace.of(space),
        objective=wanted.objective,
        conditions=list(wanted.conditions),
        check=wanted.check,
        engine=wanted.engine,
        budget=budget,
        reserved=budget.reserve(),
        seed=_seed(wanted, workload) if wanted.seed is None else wanted.seed,
        margin=wanted.margin,
        timeout_s=UNLIMITED_S if wanted.online is not None else longest,
        canaries="trial" if wanted.online is None else "none",
        guard={"policy": wanted.guard, "wait": WAIT_S},
        cpus=cpus,
        prices=None if wanted.prices is None else wanted.prices.model_dump(),
        priors=list(wanted.priors),
        earlier=[one for one in wanted.earlier if one.configuration.keys() <= varied],
        sources=list(wanted.sources),
        online=wanted.online,
        spark=spark,
        memory=None if wanted.memory is None else str(wanted.memory.absolute()),
        machine=this_machine(),
        workload_sha256=None if wanted.command else digest_of(workload),
        pyrometer_version=__version__,
    )
    return Start(tuning, command_file)


def _check_prices(wanted: Wanted, conditions: Sequence[Constraint]) -> None:
    """Refuse what is about cost where nothing has a price."""
    of_cost = wanted.objective == "cost"
    priced = ["--objective cost"] if of_cost else []
    priced += [f"--subject-to {one.text!r}" for one in conditions if "cost" in one.names]
    remedy = "--price FILE with lines like  core_hour = 0.05"
    if priced and wanted.prices is None:
        raise UsageError(f"{priced[0]} needs prices", remedy)
    if of_cost and wanted.prices is not None and not wanted.prices.of(1.0, 1.0):
        raise UsageError("--objective cost needs a price above 0", remedy)


def _job(wanted: Wanted, declared: Mapping[str, Sequence[str]]) -> Job:
    """Say what holds as it is: by the job's own settings, and a run of it where they are mute."""
    if wanted.command:
        own = settings_of_command(wanted.command)
    else:
        assert wanted.workload is not None
        own = settings_of_workload(wanted.workload, wanted.shared, wanted.scale)
    return joined(wanted.job, own, settings_of_levels(wanted.shared, declared, own))


def _stand_ins(wanted: Wanted, workload: str, *, once: bool) -> list[Fidelity]:
    """List cheap stand-ins for an engine that has a use for them."""
    if wanted.engine != "own" and AUTO in wanted.fidelities:
        return []
    iterations = 1 if once else wanted.iterations
    found = registry.get(workload)
    own = {name: level for name, level in wanted.shared.items() if name in found.variants}
    levels = registry.resolve(workload, own, wanted.scale).levels
    return stand_ins(found, wanted.scale, iterations, levels, wanted.fidelities)


def space_of(
    asked: str,
    now: Mapping[str, str],
    declared: Mapping[str, Sequence[str]],
    refused: Mapping[str, str],
    job: Job | None = None,
    spark: str | None = None,
) -> Space:
    """Read the space that is asked for, bounded for this machine.

    Parameters
    ----------
    asked : str
        Named spaces, joined by ``+``, or a file.
    now : mapping of str to str
        Levels that all trials share.
    job : Job, optional
        What a run of the job says of it.
    spark : str, optional
        Version of the Spark that it is going to have.

    Raises
    ------
    UsageError
        If there is neither a space nor a file of that name, or nothing to vary is left.
    """
    facts: dict[str, float | None] = {**(job.facts if job else {})}
    if ELSEWHERE not in facts:
        facts = {**host_facts(), **facts}
    elif "slots" in facts:
        facts["cpus"] = facts["slots"]
    now = {**(job.now if job else {}), **now}
    names = [one.strip() for one in asked.split("+")]
    bounds: dict[str, Any] = {"now": now, "declared": declared, "refused": refused}
    bounds["spark_version"] = spark
    if is_space_file(asked):
        found = read_space(Path(asked), facts, **bounds)
    else:
        for one in names:
            if one not in spaces():
                remedy = did_you_mean(one, spaces()) or f"use one of: {', '.join(spaces())}"
                raise UsageError(f"--space {asked}: there is no space and no file {one!r}", remedy)
        found = named_space(names, facts, **bounds)
    if not found.knobs:
        why = "; ".join(f"{factor}: {reason}" for factor, reason in found.left_out.items())
        raise UsageError(f"--space {asked} has nothing that can be varied here: {why}")
    return found


def _switches() -> list[str]:
    return [one.name for one in factors() if one.scope == "os" and one.files]


def _of_host() -> dict[str, str]:
    """Levels of the kernel's switches as they are."""
    return {name: level for name in _switches() if (level := level_here(name)) is not None}


def _refused(wanted: Wanted, job: Job) -> dict[str, str]:
    """Factors that cannot be set here, are the same for all trials, or a command decides itself."""
    found = {name: why for name in _switches() if (why := unsettable(name)) is not None}
    found |= dict.fromkeys(wanted.shared, "it is the same for all trials (--set)")
    if ELSEWHERE in job.facts:
        hosts = of_host(one.name for one in factors())
        found |= dict.fromkeys(hosts, alone(job.settings["spark.master"]))
    if wanted.command:
        found |= _decided(understand(wanted.command))
    return found


def _decided(known: Command) -> dict[str, str]:
    found: dict[str, str] = {}
    if known.driver_memory is not None:
        why = f"the command itself says a driver's memory of {known.driver_memory}"
        found |= {"jvm.heap": why, "spark.driver.memory": why}
    if known.master is not None and not known.master.startswith("local"):
        why = f"the command names the master {known.master}"
        found |= {one.name: why for one in factors() if is_layout(one.name)}
    return found


def absolute(workload: str) -> str:
    """Name a workload as plans do, wherever one is: a file by its whole path."""
    return (
        str(Path(workload).absolute())
        if os.path.exists(workload)
        and ("/" in workload or Path(workload).suffix in (".sql", ".py", ".yaml", ".yml"))
        else workload
    )


def _warmup(text: str) -> Any:
    if text != "auto" and not text.isdecimal():
        raise UsageError(f"--warmup {text}: must be a number or auto", "--warmup 1")
    return text if text == "auto" else int(text)


def _seed(wanted: Wanted, workload: str) -> int:
    """Derive a seed from what is asked for, wherever it is."""
    said = f"{wanted.command or Path(workload).name} {wanted.space} {wanted.scale} {wanted.shared}"
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:4], "big")
