"""From the file to the plan: treatments that can be run here, and every trial in its order.

What this host cannot honour of a treatment is found out before the first trial.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyrometer import __version__
from pyrometer.collect.host.card import this_host
from pyrometer.collect.host.room import room
from pyrometer.collect.launch.command import understand
from pyrometer.collect.launch.driver_place import (
    DEPLOY_MODE,
    INSTEAD,
    NO_TIME,
    driver_of_workload_away,
)
from pyrometer.collect.launch.executors_place import INSTEAD as NOT_THERE
from pyrometer.collect.launch.executors_place import MASTER, alone, check_master, is_here, of_host
from pyrometer.collect.launch.launch import factors_of_workload, is_workload_command
from pyrometer.collect.launch.settings_before import settings_of_workload
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.redaction import redacted
from pyrometer.experiments.folder import CanaryPlace, LeftOutTreatment, Plan, PlannedTreatment
from pyrometer.experiments.plan.file import Experiment
from pyrometer.experiments.plan.source import Source, read_source
from pyrometer.experiments.plan.treatments import (
    Declared,
    LeftOut,
    Treatments,
    baseline_of,
    combinations,
    short_names,
)
from pyrometer.experiments.run.honoured import honoured
from pyrometer.experiments.run.trials import check_together, ordered
from pyrometer.experiments.run.versions import versions_of
from pyrometer.trial.factors import find_factor
from pyrometer.trial.layout import is_layout
from pyrometer.workloads import registry
from pyrometer.workloads.contract import parse_scale
from pyrometer.workloads.custom.paths import yaml_path
from pyrometer.workloads.custom.yaml import YamlCommand
from pyrometer.workloads.launch import AUTO_WARMUP


def host_facts() -> dict[str, float | None]:
    """Facts of the host for constraints; ``None`` where one cannot be read.

    Memory and CPUs are those that programs may have: limits of a container count.
    """
    found = room()
    nodes = len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))
    return {
        "mem_total": found.memory_bytes,
        "swap_total": found.swap_bytes,
        "cpus": found.cpus_count,
        "numa_nodes": nodes or 1,
    }


MOST_TRIALS = 100_000


def checked(
    path: Path, *, host: bool = True, levels: Mapping[str, str] | None = None
) -> tuple[Source, Treatments]:
    """Read a file and what it names; treatments that cannot be honoured are left out, with reasons.

    Parameters
    ----------
    path : Path
        The file.
    host : bool
        Whether memory, swap and settings of this host count, which may change.
    levels : mapping, optional
        Levels that all treatments share, instead of the file's.

    Raises
    ------
    UsageError
        If something in the file is wrong: with line and column.
    """
    source = read_source(path, levels)
    experiment, where = source.experiment, source.document.where
    try:
        parse_scale(registry.get(experiment.workload), experiment.scale)
    except UsageError as error:
        key = "scale" if "scale" in error.message else "workload"
        raise UsageError(f"{where((key,))}: {error.message}", error.remedy) from error
    try:
        parse_profile(experiment.profile)
    except UsageError as error:
        raise UsageError(f"{where(('profile',))}: {error.message}", error.remedy) from error
    facts = host_facts()
    if not host:
        facts |= dict.fromkeys(("mem_total", "swap_total", "numa_nodes"))
    found = combinations(source, factors_of_workload(experiment.workload), facts)
    if host:
        _check_drivers(source, found)
        _check_executors(source, found)
    return source, found


def _check_drivers(source: Source, treatments: Treatments) -> None:
    """Refuse treatments that run on the cluster: they would win by what is not measured."""
    name = source.experiment.workload
    workload = registry.get(name)
    seen = set()
    for said, one in treatments.run.items():
        variant = {k: str(level) for k, level in one.parsed.items() if k in workload.variants}
        rest = [one.parsed.get(factor) for factor in (DEPLOY_MODE, "spark.home")]
        deciding = (*sorted(variant.items()), *rest)
        if deciding in seen:
            continue
        seen.add(deciding)
        spec = registry.resolve(name, variant)
        if away := driver_of_workload_away(workload, spec, one.parsed):
            where = source.document.where(("workload",))
            which = f"{said}: " if said else ""
            raise UsageError(f"{where}: {which}{away}: {NO_TIME}", INSTEAD)


def _check_executors(source: Source, treatments: Treatments) -> None:
    """Refuse levels that reach no executor of a cluster: they would say nothing of the job."""
    name, scale = source.experiment.workload, source.experiment.scale
    workload = registry.get(name)
    known: dict[tuple[tuple[str, str], ...], tuple[str | None, str]] = {}
    for said, one in treatments.run.items():
        variant = {k: str(level) for k, level in one.parsed.items() if k in workload.variants}
        key = tuple(sorted(variant.items()))
        if key not in known:
            own = settings_of_workload(name, variant, scale).get(MASTER, "local")
            spec = registry.resolve(name, variant, scale)
            typed = workload.known_command(spec) if isinstance(workload, YamlCommand) else None
            known[key] = (understand(typed.argv).master if typed else None), own
        words, master = known[key]
        where = source.document.where(("matrix",)) + (f": {said}" if said else "")
        try:
            check_master(words, one.parsed)
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", error.remedy) from error
        master = str(one.parsed.get(MASTER, master))
        rest = one.parsed.keys() - workload.variants.keys()
        # A layout is itself a master, unless the command's words name another.
        alike = [factor for factor in of_host(sorted(rest)) if words or not is_layout(factor)]
        if alike and not is_here(master):
            raise UsageError(f"{where}: {', '.join(alike)}: {alone(master)}", NOT_THERE)


def plan_of(
    path: Path,
    folder: Path,
    *,
    seed: int | None = None,
    blocks: int | None = None,
    kept: Plan | None = None,
    levels: Mapping[str, str] | None = None,
) -> Plan:
    """Plan an experiment.

    Parameters
    ----------
    path : Path
        The file.
    folder : Path
        Where it is to be run.
    seed, blocks : int, optional
        Instead of the file's. Without any seed one follows from the file's content.
    kept : Plan, optional
        One that was made of this file before, to compare with: what it left out stays left out, its
        trials and versions stand, and this host is not asked what it can honour.
    levels : mapping, optional
        Levels that all treatments share, instead of the file's.

    Raises
    ------
    UsageError
        Something in the file is wrong, or there is nothing to run.
    CapabilityError
        This host can honour no treatment.
    """
    source, wanted = checked(path, host=kept is None, levels=levels)
    experiment = source.experiment
    treatments = (
        honoured(wanted, experiment.workload, folder) if kept is None else _as_in(kept, wanted)
    )
    if not treatments.run:
        reasons = "; ".join(
            f"{one.name or 'the treatment'}: {one.reason}" for one in treatments.left_out
        )
        raise CapabilityError(f"{path}: no treatment can be run here: {reasons}")
    declared = factors_of_workload(experiment.workload)
    times = experiment.blocks if blocks is None else blocks
    if times * len(treatments.run) > MOST_TRIALS:
        raise UsageError(f"{times * len(treatments.run)} trials: at most {MOST_TRIALS}")
    chosen = next(one for one in (seed, experiment.seed, seed_of(experiment)) if one is not None)
    split = _split(source, treatments, declared)
    check_together(source, treatments, declared, times)
    once = is_workload_command(experiment.workload)
    iterations = 1 if once else experiment.iterations
    warmup: Any = 0 if once else "auto" if experiment.warmup == "auto" else int(experiment.warmup)
    rounds = iterations + (AUTO_WARMUP if warmup == "auto" else warmup)
    plan = Plan(
        name=experiment.name,
        description=experiment.description,
        files=[str(one) for one in source.files],
        workload=experiment.workload,
        scale=experiment.scale,
        profile=experiment.profile,
        iterations=iterations,
        warmup=warmup,
        seed=chosen,
        kind=experiment.design.kind,
        split=split,
        blocks=times,
        margin=experiment.margin,
        timeout_s=experiment.timeout,
        canaries=canaries_of(source, treatments),
        guard=experiment.guard.model_dump(),
        baseline=baseline_of(source, declared, treatments),
        treatments=[
            PlannedTreatment(name=one.name, levels=dict(one.levels), varied=dict(one.varied))
            for one in treatments.run.values()
        ],
        left_out=[
            LeftOutTreatment(name=one.name, reason=one.reason, varied=dict(one.varied))
            for one in treatments.left_out
        ],
        trials=(
            ordered(source, treatments, times, chosen, split, rounds)
            if kept is None
            else kept.trials
        ),
        machine=this_machine(),
        workload_sha256=digest_of(experiment.workload),
        pyrometer_version=__version__,
    )
    versions = versions_of(plan) if kept is None else kept.versions
    return plan.model_copy(update={"versions": versions})


def _as_in(kept: Plan, treatments: Treatments) -> Treatments:
    """Leave out what a plan left out, whatever this host could honour now."""
    # Of a finished experiment, secrets were struck out.
    reasons = {redacted(one.name): one.reason for one in kept.left_out}
    run, out = {}, list(treatments.left_out)
    for name, treatment in treatments.run.items():
        reason = reasons.get(redacted(name))
        if reason is None:
            run[name] = treatment
        else:
            out.append(LeftOut(name, reason, treatment.varied))
    return Treatments(run, out)


def _split(source: Source, treatments: Treatments, declared: Declared) -> list[str]:
    """Factors whose levels stay together within a block: those asked for, or known to be dear."""
    asked = source.experiment.design.split
    if source.experiment.design.kind != "randomized-blocks":
        return []
    if asked is not None:
        return list(short_names(dict.fromkeys(asked, ""), declared))
    varied = dict.fromkeys(name for one in treatments.run.values() for name in one.varied)
    return [name for name in varied if name not in declared and find_factor(name).dear]


def canaries_of(source: Source, treatments: Treatments) -> CanaryPlace:
    """Decide before what canaries are measured.

    Before iterations they run where the workload runs. Under its limits they would measure the
    treatment instead of the machine, and evict pages of a limited memory.
    """
    experiment = source.experiment
    if experiment.design.kind == "duet":
        # Two at once would measure each other, and the machine affects both sides anyway.
        return "none"
    if experiment.canaries != "iteration":
        return experiment.canaries
    if is_workload_command(experiment.workload):
        return "trial"
    workload = registry.get(experiment.workload)
    for one in treatments.run.values():
        variant = {name: level for name, level in one.levels.items() if name in workload.variants}
        others = one.levels.keys() - variant.keys()
        limited = any(find_factor(name).scope in ("os", "machine") for name in others) or any(
            find_factor(name).scope == "host" for name in others & one.varied.keys()
        )
        spec = registry.resolve(experiment.workload, variant, experiment.scale)
        if limited or workload.limits(spec):
            return "trial"
    return "iteration"


def this_machine() -> dict[str, str | int | None]:
    """Return what identifies a machine: times of different ones must not be mixed."""
    host = this_host(with_card=False)
    return {"cpu_model": host.cpu_model, "cpus_count": host.cpus_count}


def check_same(
    root: Path,
    machine: Mapping[str, str | int | None],
    workloads: Sequence[str],
    digest: str | None,
) -> None:
    """Refuse to go on with what was planned on another machine, or whose workload has changed.

    Parameters
    ----------
    root : Path
        Its folder, for messages.
    machine, digest
        As they were when it was planned.

    Raises
    ------
    UsageError
        If one is not as it was.
    """
    if machine and machine != (here := this_machine()):
        raise UsageError(
            f"{root} was planned on another machine ({machine_words(machine)}; here"
            f" {machine_words(here)})",
            "start again in another folder: times of two machines cannot be mixed",
        )
    if digest and digest != digest_of(*workloads):
        raise UsageError(
            f"{', '.join(workloads)} has changed since {root} was planned",
            "restore it, or run it again in another folder",
        )


def machine_words(machine: Mapping[str, str | int | None]) -> str:
    """Name a machine for people."""
    return f"{machine.get('cpu_model')}, {machine.get('cpus_count')} CPUs"


def digest_of(*workloads: str) -> str | None:
    """Digest of the workloads' files; ``None`` where none is a file."""
    named = [one for one in workloads if one not in registry.entries()]
    files = [path for one in named if (path := yaml_path(one) or Path(one)).is_file()]
    whole = hashlib.sha256(b"".join(path.read_bytes() for path in files))
    return whole.hexdigest() if files else None


def seed_of(experiment: Experiment) -> int:
    """Derive the seed from the content of an experiment, wherever its files are.

    A workload in a file counts by its content and the file's name.
    """
    said = experiment
    if digest := digest_of(experiment.workload):
        name = f"{Path(experiment.workload).name} {digest}"
        said = experiment.model_copy(update={"workload": name})
    text = said.model_dump_json().encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big")
