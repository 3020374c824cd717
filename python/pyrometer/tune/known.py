"""What is known before the first trial: findings of a run, trials of an experiment or a tuning."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from pydantic import ValidationError

from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.core.redaction import Redactor
from pyrometer.experiments.folder import ExperimentPaths, is_experiment, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.explain.kept import findings_of
from pyrometer.explain.schema import Findings
from pyrometer.store import Run
from pyrometer.store.manifest import Manifest, Workload
from pyrometer.tune.judge.before import NO_FINDING, of_findings
from pyrometer.tune.memory.recall import recalled
from pyrometer.tune.memory.remembered import Store, beside, read
from pyrometer.tune.place import is_tuning
from pyrometer.tune.portrait import portrait_of
from pyrometer.tune.space.job import Job, job_of
from pyrometer.tune.start import absolute
from pyrometer.tune.trials.folder import Earlier, Objective, Prior, Tuning, read_tuning
from pyrometer.tune.trials.records import KINDS, Known
from pyrometer.tune.trials.replay import history_of
from pyrometer.workloads import registry
from pyrometer.workloads.custom.yaml import YamlCommand

NS = 1e9


def known_from(
    path: Path,
    workload: str,
    scale: str,
    shared: Mapping[str, str],
    objective: Objective = "elapsed",
    varied: Collection[str] = (),
) -> tuple[list[Prior], list[Earlier]]:
    """Read what `--from` names: a run, an experiment, a tuning, or findings as JSON.

    Parameters
    ----------
    workload : str
        What is going to be tuned: times of anything else say nothing of it. A name, the whole path
        of a file, or the words of a command, secrets struck.
    scale : str
        Its scale.
    shared : mapping of str to str
        Levels of every trial: an experiment's baseline has them, too.
    objective : str
        What is to be small: values of anything else say nothing of it.
    varied : collection of str
        Factors of the workload itself that are varied: a run may have any of their levels.

    Raises
    ------
    UsageError
        If it is none of these, cannot be read, or is of another job.
    """
    if is_tuning(path):
        return [], _of_tuning(path, workload, scale, shared, objective)
    if is_experiment(path):
        if objective != "elapsed":
            raise UsageError(f"--from {path}: an experiment knows times, not {objective}")
        return [], _of_experiment(path, workload, scale, shared)
    if path.is_file() and path.suffix == ".json":
        found = _read_findings(path)
    elif path.exists():
        return _of_run(path, workload, scale, shared, varied), []
    else:
        raise UsageError(
            f"--from {path}: there is no such run, experiment or file",
            "pyrometer ls lists runs and experiments",
        )
    return _priors(found, str(path)), []


def known_before(root: Path, run_dir: Path, tuning: Tuning) -> Known:
    """Say what is known before the search: by the first run of the job as it is, and earlier work.

    Parameters
    ----------
    root : Path
        Folder of the tuning.
    run_dir : Path
        Of the job as it is.
    """
    known = Known(wall_ns=time.time_ns())
    try:
        known.priors = _priors(findings_of(run_dir), "the first run")
        known.reason = None if known.priors else NO_FINDING
    except PyrometerError as error:
        known.reason = error.message
    if tuning.memory is None:
        return known
    try:
        known.portrait = portrait_of(run_dir)
    except PyrometerError:
        return known
    store: Store = read(Path(tuning.memory))
    known.unread = list(store.unread)
    mine = str(root.absolute())
    tunings = [one for one in (*store.tunings, *beside(root)) if one.folder != mine]
    found = recalled(known.portrait, tuning, tuning.space.read(), tunings)
    known.similar, known.earlier = list(found.similar), list(found.earlier)
    known.priors += found.priors
    return known


def job_from_run(path: Path) -> Job | None:
    """Read what a run says of its job, for the bounds of a space; of anything else, nothing.

    A run that does not say what ran, as an event log alone, may be of another job: it says nothing.
    """
    if not path.is_dir() or is_tuning(path) or is_experiment(path):
        return None
    with Run.open(path) as run:
        manifest = run.manifest
        if manifest is None or not _ran(manifest.workload):
            return None
        return job_of(run.tables, levels=_levels_of(manifest).keys())


def held_as_it_is(root: Path) -> Mapping[str, str]:
    """Give the Spark settings that held in the job as it is, by its last run; empty without one."""
    try:
        steps = history_of(read_journal(root, KINDS)).steps
    except PyrometerError:
        return {}
    ended = [
        step.ended
        for step in steps
        if step.is_baseline and step.ended is not None and step.ended.status == "finished"
    ]
    for one in reversed(ended):
        try:
            found = job_from_run(ExperimentPaths(root).trials / one.folder)
        except PyrometerError:
            continue
        if found is not None and found.settings:
            return found.settings
    return {}


def _of_run(
    path: Path, workload: str, scale: str, shared: Mapping[str, str], varied: Collection[str]
) -> list[Prior]:
    """Give findings of a run, and the levels that it was given: they may be as good as any."""
    with Run.open(path) as run:
        manifest = run.manifest
    ran = [] if manifest is None else _ran(manifest.workload)
    if manifest is None or not ran:
        return _priors(findings_of(path), f"{path}, which does not say what job it is of")
    one = workload if workload in ran else ran[0]
    theirs = scale if manifest.workload.scale is None else str(manifest.workload.scale)
    _check_same_job(path, (one, theirs), (workload, scale))
    if workload == absolute(manifest.workload.name or ""):
        _check_same_levels(path, workload, manifest.workload.variant, shared, varied)
    levels = {
        name: level
        for name, level in _levels_of(manifest).items()
        if name not in shared and name not in manifest.workload.variant
    }
    given = [Prior(source=f"levels of {path}", levels=levels)] if levels else []
    return [*given, *_priors(findings_of(path), str(path))]


def _ran(workload: Workload) -> list[str]:
    """Name what ran in a run as tunings do, by its words and its file; nothing where it is mute."""
    words = " ".join(Redactor.of(workload.command).words(workload.command))
    plain = [words] if words and not workload.spec.get("conf") else []
    if workload.name is None:
        return plain
    named = absolute(workload.name)
    more = _words_of(named, {name: str(one) for name, one in workload.variant.items()})
    return [named, *plain, *([more] if more else [])]


def _check_same_levels(
    path: Path,
    workload: str,
    theirs: Mapping[str, object],
    shared: Mapping[str, str],
    varied: Collection[str],
) -> None:
    """Refuse a run with other levels of the workload's own factors, as of another query."""
    for factor, variant in registry.get(workload).variants.items():
        if factor in varied and factor not in shared:
            continue
        ours = shared.get(factor, variant.default)
        if (level := str(theirs.get(factor, ours))) != ours:
            raise UsageError(
                f"--from {path}: it ran {workload} with {factor}={level}, not {ours}",
                f"--set {factor}={level}, or give a run with {factor}={ours}",
            )


def _levels_of(manifest: Manifest) -> dict[str, str]:
    """Give the levels that somebody gave a run, beyond those that its workload brings."""
    origin = manifest.treatment_origin
    return {
        name: str(level)
        for name, level in manifest.treatment.items()
        if origin.get(name) != "workload"
    }


def _read_findings(path: Path) -> Findings:
    try:
        data = parse_json(path.read_bytes())
        if not isinstance(data, dict) or data.get("schema") != "pyrometer/findings/1":
            raise ValueError("its schema is not pyrometer/findings/1")
        return Findings.model_validate(data)
    except (OSError, ValueError, ValidationError) as error:
        why = str(error).splitlines()[0]
        raise UsageError(
            f"--from {path}: not a file of findings: {why}",
            "pyrometer explain RUN --json | tail -1 > FILE",
        ) from error


def _priors(found: Findings, source: str) -> list[Prior]:
    return [
        Prior(
            source=f"{one.finding} of {source}",
            levels=one.levels,
            saving_ratio=one.saving_ratio.value,
        )
        for one in of_findings(found)
    ]


def _of_experiment(
    path: Path, workload: str, scale: str, shared: Mapping[str, str]
) -> list[Earlier]:
    plan, entries = read_plan(path), read_journal(path)
    theirs = workload if _words_of(plan.workload) == workload else plan.workload
    _check_same_job(path, (theirs, plan.scale), (workload, scale))
    levels = {one.name: one.levels for one in plan.treatments}
    made = []
    for one in entries.ended.values():
        known = levels[one.treatment]
        if one.status != "finished" or one.seconds is None or not known.items() >= shared.items():
            continue
        made.append(
            Earlier(
                source=f"trial {one.trial} of {path}",
                of=str(path),
                configuration={name: own for name, own in known.items() if name not in shared},
                value=one.seconds * NS,
                cost=0.0,
            )
        )
    return made


def _words_of(workload: str, levels: Mapping[str, str] | None = None) -> str | None:
    """Give the words of a workload that is a plain command, as plans of tunings have them."""
    try:
        found = registry.get(workload)
        if not isinstance(found, YamlCommand):
            return None
        # Where its run directory goes is no difference.
        command = found.command(registry.resolve(workload, levels or {}), Path("{run}"))
    except PyrometerError:
        return None
    if command.conf or command.env:
        return None
    return " ".join(Redactor.of(command.argv).words(command.argv))


def _of_tuning(
    path: Path, workload: str, scale: str, shared: Mapping[str, str], objective: Objective
) -> list[Earlier]:
    tuning = read_tuning(path)
    job = " ".join(tuning.command) or tuning.workload
    _check_same_job(path, (job, tuning.scale), (workload, scale))
    if tuning.objective != objective:
        raise UsageError(f"--from {path}: it is of {tuning.objective}, not of {objective}")
    if dict(shared) != tuning.shared:
        raise UsageError(f"--from {path}: its trials share other levels", "give the same --set")
    return [
        Earlier(
            source=f"trial {step.asked.trial} of {path}",
            of=str(path),
            configuration=step.asked.configuration,
            value=step.told.value,
            cost=0.0,
            metrics=step.told.metrics,
        )
        for step in history_of(read_journal(path, KINDS)).steps
        if step.counts and step.asked.fidelity == "full" and step.told and step.told.value
    ]


def _check_same_job(path: Path, theirs: tuple[str, str], ours: tuple[str, str]) -> None:
    if (os.path.normpath(theirs[0]), theirs[1]) != (os.path.normpath(ours[0]), ours[1]):
        raise UsageError(
            f"--from {path}: it ran {theirs[0]} at scale {theirs[1]}, not {ours[0]} at scale"
            f" {ours[1]}",
            "give one of the same job: times of another job say nothing about this one",
        )
