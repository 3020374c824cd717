"""From the file to the plan: treatments that can be run here, and every trial in its order."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pyrometer import __version__
from pyrometer.errors import CapabilityError, UsageError
from pyrometer.experiment.feasible import honoured, host_facts
from pyrometer.experiment.together import check_together
from pyrometer.experiment.trials import ordered
from pyrometer.plan.experiment_file import Experiment
from pyrometer.plan.experiment_source import Source, read_source
from pyrometer.plan.factors import find_factor
from pyrometer.plan.treatments import Own, Treatments, baseline_of, combinations, short_names
from pyrometer.probes.profile import parse_profile
from pyrometer.run.host import this_host
from pyrometer.run.launch import own_factors
from pyrometer.run.own import is_own_command
from pyrometer.store.experiment import (
    CanaryPlace,
    LeftOutTreatment,
    Plan,
    PlannedTreatment,
)
from pyrometer.workload import registry
from pyrometer.workload.contract import parse_scale
from pyrometer.workload.launch import AUTO_WARMUP
from pyrometer.workload.own import yaml_path

MOST_TRIALS = 100_000


def checked(path: Path) -> tuple[Source, Treatments]:
    """Read a file and everything that it names; what only this host lacks is left out, told.

    Raises
    ------
    UsageError
        Whatever is wrong in the file, with its place.
    """
    source = read_source(path)
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
    return source, combinations(source, own_factors(experiment.workload), host_facts())


def plan_of(
    path: Path, folder: Path, *, seed: int | None = None, blocks: int | None = None
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

    Raises
    ------
    UsageError
        Something in the file is wrong, or there is nothing to run.
    CapabilityError
        This host can honour no treatment.
    """
    source, wanted = checked(path)
    experiment = source.experiment
    made = honoured(wanted, experiment.workload, folder)
    if not made.run:
        told = "; ".join(f"{one.name or 'the treatment'}: {one.reason}" for one in made.left_out)
        raise CapabilityError(f"{path}: no treatment can be run here: {told}")
    own = own_factors(experiment.workload)
    times = experiment.blocks if blocks is None else blocks
    if times * len(made.run) > MOST_TRIALS:
        raise UsageError(f"{times * len(made.run)} trials: at most {MOST_TRIALS}")
    chosen = next(one for one in (seed, experiment.seed, seed_of(experiment)) if one is not None)
    split = _split(source, made, own)
    check_together(source, made, own, times)
    once = is_own_command(experiment.workload)
    iterations = 1 if once else experiment.iterations
    warmup: Any = 0 if once else "auto" if experiment.warmup == "auto" else int(experiment.warmup)
    rounds = iterations + (AUTO_WARMUP if warmup == "auto" else warmup)
    return Plan(
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
        canaries=canaries_of(source, made),
        guard=experiment.guard.model_dump(),
        baseline=baseline_of(source, own, made),
        treatments=[
            PlannedTreatment(name=one.name, levels=dict(one.levels), varied=dict(one.varied))
            for one in made.run.values()
        ],
        left_out=[
            LeftOutTreatment(name=one.name, reason=one.reason, varied=dict(one.varied))
            for one in made.left_out
        ],
        trials=ordered(source, made, times, chosen, split, rounds),
        machine=this_machine(),
        workload_sha256=digest_of(experiment.workload),
        pyrometer_version=__version__,
    )


def _split(source: Source, made: Treatments, own: Own) -> list[str]:
    """Factors whose levels stay together within a block: those asked for, or known to be dear."""
    asked = source.experiment.design.split
    if source.experiment.design.kind != "randomized-blocks":
        return []
    if asked is not None:
        return list(short_names(dict.fromkeys(asked, ""), own))
    varied = dict.fromkeys(name for one in made.run.values() for name in one.varied)
    return [name for name in varied if name not in own and find_factor(name).dear]


def canaries_of(source: Source, made: Treatments) -> CanaryPlace:
    """Decide before what canaries are measured.

    Before iterations they run where the workload does. What limits it would limit them: they would
    see the treatment instead of the machine, and push pages of a limited memory out.
    """
    experiment = source.experiment
    if experiment.design.kind == "duet":
        # Two at once would measure each other; what the machine does meets both anyway.
        return "none"
    if experiment.canaries != "iteration":
        return experiment.canaries
    if is_own_command(experiment.workload):
        return "trial"
    workload = registry.get(experiment.workload)
    for one in made.run.values():
        own = {name: level for name, level in one.levels.items() if name in workload.variants}
        others = one.levels.keys() - own.keys()
        limited = any(find_factor(name).scope == "os" for name in others) or any(
            find_factor(name).scope == "host" for name in others & one.varied.keys()
        )
        spec = registry.resolve(experiment.workload, own, experiment.scale)
        if limited or workload.limits(spec):
            return "trial"
    return "iteration"


def this_machine() -> dict[str, str | int | None]:
    """Give what tells machines apart whose times must not be mixed."""
    host = this_host(with_card=False)
    return {"cpu_model": host.cpu_model, "cpus_count": host.cpus_count}


def digest_of(*workloads: str) -> str | None:
    """Give the digest of workloads' files; ``None`` where all are workloads by name."""
    named = [one for one in workloads if one not in registry.entries()]
    files = [path for one in named if (path := yaml_path(one) or Path(one)).is_file()]
    whole = hashlib.sha256(b"".join(path.read_bytes() for path in files))
    return whole.hexdigest() if files else None


def seed_of(experiment: Experiment) -> int:
    """Give the seed that follows from what an experiment says."""
    text = experiment.model_dump_json().encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big")
