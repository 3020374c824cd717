"""The runs of a study, one after another; what is finished is not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyrometer.collect.launch.launch import factors_of_workload
from pyrometer.collect.launch.observe import Watch
from pyrometer.core import units
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.experiments.studies.experiments import Experiments, reason_of
from pyrometer.experiments.studies.judge import report
from pyrometer.experiments.studies.plan import Study, StudyRun
from pyrometer.experiments.studies.schema import StudyReport, StudyRunFacts
from pyrometer.orchestrator import run as orchestrator
from pyrometer.store import Run
from pyrometer.store.manifest import Manifest, read_manifest
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.trial import Trial
from pyrometer.workloads import registry


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study: its trial, or why there is none."""

    name: str
    run: StudyRun
    trial: Trial | None
    reason: str | None = None


def plan_runs(
    study: Study,
    folder: Path,
    *,
    scale: str | None = None,
    only: tuple[str, ...] = (),
    levels: Mapping[str, Mapping[str, str]] | None = None,
) -> list[PlannedRun]:
    """Plan every run before the first is launched.

    Parameters
    ----------
    study : Study
        What is to be run.
    folder : Path
        Each run has a folder of its name in it.
    scale : str, optional
        Instead of that of each run.
    only : tuple of str
        Runs to launch or read; empty: all.
    levels : mapping, optional
        Levels by factor, for a run by name; those of experiments are not for runs.

    Raises
    ------
    UsageError
        If a name, level or scale is wrong.
    """
    both = (*study.runs, *study.experiments)
    for name in (*only, *(levels or {})):
        if name not in both:
            raise UsageError(f"the study has no run {name!r}", f"use one of: {', '.join(both)}")
    runs = []
    for name, declared in study.runs.items():
        if only and name not in only:
            continue
        given = {**declared.set, **(levels or {}).get(name, {})}
        run = declared.model_copy(update={"set": given, "scale": scale or declared.scale})
        missing = [f"{factor} ({why})" for factor, why in run.ask.items() if factor not in given]
        if missing:
            reason = f"needs {', '.join(missing)}: --set {name}.{next(iter(run.ask))}=…"
            runs.append(PlannedRun(name, run, None, reason))
            continue
        try:
            factors = factors_of_workload(run.workload)
            treatment = parse_treatment([f"{k}={v}" for k, v in given.items()], factors)
            trial = Trial(
                name=run.workload,
                treatment=treatment,
                profile=run.profile,
                iterations=run.iterations,
                warmup="auto" if run.warmup == "auto" else int(run.warmup),
                scale=run.scale,
                run_dir=folder / name,
                captured=True,
            )
            chosen = {k: str(v) for k, v in treatment.items() if k in factors}
            registry.resolve(run.workload, chosen, run.scale)
        except PyrometerError as error:
            raise type(error)(f"run {name}: {error.message}", error.remedy) from error
        runs.append(PlannedRun(name, run, trial))
    return runs


def run_study(
    name: str,
    study: Study,
    wanted: list[PlannedRun],
    folder: Path,
    *,
    resume: bool,
    watch: Callable[[Trial], AbstractContextManager[Watch]],
    experiments: Callable[[bool], Experiments] = lambda stopped: Experiments(),
) -> StudyReport:
    """Launch missing runs, then compare; one that fails is reported, and the others go on.

    Parameters
    ----------
    experiments : callable
        Runs the study's experiments, after its runs; is given whether the user has stopped it.

    Raises
    ------
    UsageError
        If the folder holds runs and `resume` is false, or finished runs of another plan.
    """
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not resume)):
        raise UsageError(
            f"{folder} exists and is not an empty folder",
            "make what is missing in it with --resume, or give another folder with -o",
        )
    there = {planned.name: _finished(planned) for planned in wanted if planned.trial is not None}
    facts: list[StudyRunFacts] = []
    documents: dict[str, dict[str, Any]] = {}
    stopped = False
    for planned in wanted:
        finished = there.get(planned.name)
        if finished is None and stopped:
            # Stopping a run stops the study; what is finished is still read.
            planned = replace(planned, trial=None, reason="not run: the study was interrupted")
        fact, document = _run_or_read(planned, finished, watch)
        stopped = stopped or (fact.reason or "").startswith("interrupted")
        facts.append(fact)
        if document is not None:
            documents[planned.name] = document
    made = experiments(stopped)
    return report(name, study, facts, documents, made.facts, made.judged, made.evidence)


def _run_or_read(
    planned: PlannedRun,
    finished: Path | None,
    watch: Callable[[Trial], AbstractContextManager[Watch]],
) -> tuple[StudyRunFacts, dict[str, Any] | None]:
    run = planned.run
    fact = StudyRunFacts(
        name=planned.name,
        workload=run.workload,
        scale=run.scale,
        iterations=run.iterations,
        levels=run.set,
        reason=planned.reason,
    )
    if planned.trial is None:
        return fact, None
    try:
        root = finished
        if root is None:
            trial = replace(planned.trial, run_dir=_free(planned.trial.run_dir))
            with watch(trial) as watching:
                outcome = orchestrator.run(trial, watching)
            root, manifest = outcome.record.paths.root, outcome.record.manifest
            if manifest.state != "finished":
                update = {"reason": manifest.ending, "run_dir": str(root)}
                return fact.model_copy(update=update), None
        document = read_run(root)
    except PyrometerError as error:
        return fact.model_copy(update={"reason": reason_of(error)}), None
    found = {
        "run_dir": str(root),
        "doubts": [doubt["message"] for doubt in document["doubts"]],
        "machine": _machine(document["run"]["host"]),
        "spark_version": document["run"]["spark_version"],
    }
    return fact.model_copy(update=found), document


def _machine(host: Mapping[str, Any]) -> str:
    memory, cpus = host.get("memory_bytes"), host.get("cpus_count")
    facts = (
        host.get("cpu_model"),
        f"{cpus} CPUs" if cpus else None,
        f"{units.size(memory)} of memory" if memory else None,
        f"Linux {host['kernel']}" if host.get("kernel") else None,
    )
    return ", ".join(fact for fact in facts if fact)


def read_run(root: Path) -> dict[str, Any]:
    """Return the fields of ``show --json``, measured iterations only, and characterise's parts."""
    from pyrometer.characterise.queries import characterise
    from pyrometer.summary.summary import summary

    with Run.open(root) as opened:
        document: dict[str, Any] = summary(opened).model_dump(mode="json", by_alias=True)
        document["iterations"] = [one for one in document["iterations"] if not one["warmup"]]
        try:
            parts = characterise(opened).model_dump(mode="json")["parts"]
        except UsageError:
            # No SQL in it: it has no parts, and a study that asks for one gets the reason.
            parts = []
    document["parts"] = parts
    return document


def _attempts(first: Path) -> Iterator[Path]:
    yield first
    number = 2
    while True:
        yield first.with_name(f"{first.name}-{number}")
        number += 1


def _free(first: Path | None) -> Path:
    assert first is not None
    return next(path for path in _attempts(first) if not path.exists())


def _finished(planned: PlannedRun) -> Path | None:
    """Folder of a finished run of this plan.

    Raises
    ------
    UsageError
        If there is a finished run of another plan in its place.
    """
    assert planned.trial is not None
    assert planned.trial.run_dir is not None
    for path in _attempts(planned.trial.run_dir):
        if not path.exists():
            return None
        if not (path / "manifest.json").is_file():
            continue
        manifest = read_manifest(path)
        if manifest.state != "finished":
            continue
        difference = _difference(planned.trial, manifest)
        if difference:
            raise UsageError(
                f"{path}: made with another {difference} than run {planned.name} now has",
                "give another folder with -o",
            )
        return path
    raise AssertionError


def _difference(trial: Trial, manifest: Manifest) -> str | None:
    origin = manifest.treatment_origin
    chosen = {name: v for name, v in manifest.treatment.items() if origin.get(name) != "workload"}
    pairs = {
        "workload": (trial.name, manifest.workload.name),
        "scale": (trial.scale, str(manifest.workload.scale)),
        "treatment": (dict(trial.treatment), chosen),
        "number of iterations": (trial.iterations, manifest.iterations),
        # "auto" is decided by then.
        "warm-up": (trial.warmup, "auto" if trial.warmup == "auto" else manifest.warmup),
        "profile": (trial.profile, manifest.profile),
    }
    return next((what for what, (ours, theirs) in pairs.items() if ours != theirs), None)
