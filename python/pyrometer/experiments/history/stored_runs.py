"""Finished runs in folders, trials of experiments among them, for their history.

Earlier trials of the same workload, in stored runs and experiments, for forecasts.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pyrometer.collect.launch.driver_place import not_measured
from pyrometer.collect.launch.record import HOME, iteration_lines
from pyrometer.core import units
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.experiments.folder import ExperimentPaths, Plan, is_experiment, read_plan
from pyrometer.experiments.history.history import StoredRun, Subject
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.forecast import Past, past_trials
from pyrometer.experiments.run.other_machine import other_machine
from pyrometer.guests.described import kind_of_host, names_of_host
from pyrometer.store.manifest import Manifest, read_manifest
from pyrometer.store.paths import RunPaths

MOST_RUNS = 200


def past_of(plan: Plan, pilots: Iterable[Path], folders: Iterable[Path] = (HOME,)) -> list[Past]:
    """Return earlier trials: of the pilots, else of whatever the folders of runs hold.

    Parameters
    ----------
    plan : Plan
        Whose workload and scale count.
    pilots : iterable of Path
        Runs or experiments that the user names.
    folders : iterable of Path
        Where runs and experiments lie, by default ``./pyrometer-runs``; the newest are read.

    Raises
    ------
    UsageError
        If a pilot is neither, or of another workload or scale.
    """
    named = list(pilots)
    for path in named:
        found = _of_experiment(path, plan) if is_experiment(path) else _of_run(path, plan)
        if not found:
            raise UsageError(
                f"{path}: no finished trial of {plan.workload} at scale {plan.scale}",
                "give a pilot of the same workload and scale",
            )
    places = named or list(_newest(folders))
    return [one for path in places for one in _quietly(path, plan)]


def _newest(folders: Iterable[Path]) -> Iterator[Path]:
    places = [
        one
        for folder in folders
        if folder.is_dir()
        for one in folder.iterdir()
        if (one / "manifest.json").is_file() or is_experiment(one)
    ]
    yield from heapq.nlargest(MOST_RUNS, places, key=lambda path: path.stat().st_mtime_ns)


def _quietly(path: Path, plan: Plan) -> list[Past]:
    # Any folder may hold runs that are incomplete or of another version: skip those.
    try:
        return _of_experiment(path, plan) if is_experiment(path) else _of_run(path, plan)
    except PyrometerError:
        return []


def _of_experiment(path: Path, plan: Plan) -> list[Past]:
    other = read_plan(path)
    if (other.workload, other.scale) != (plan.workload, plan.scale):
        return []
    return past_trials(other, read_journal(path), str(path))


def _of_run(path: Path, plan: Plan) -> list[Past]:
    manifest = read_manifest(path)
    same = (manifest.workload.name, str(manifest.workload.scale)) == (plan.workload, plan.scale)
    if not same or manifest.state != "finished" or not_measured(manifest.doubts):
        return []
    times = iterations_of(path)
    ran = length_of(manifest)
    return [
        Past(
            treatment=", ".join(f"{k}={v}" for k, v in sorted(manifest.treatment.items())),
            seconds=sum(times) / len(times) if times else ran,
            duration_s=ran,
            iterations_s=tuple(times),
        )
    ]


def length_of(manifest: Manifest) -> float | None:
    """Return how long a trial like this run takes, from launch to tables, in s."""
    phases = [p for p in manifest.phases if p.end_mono_ns is not None]
    if not phases:
        return None
    # Data are generated once, and trials of an experiment write no report.
    spent = [p for p in phases if p.name not in ("prepare", "report")]
    return sum(((p.end_mono_ns or 0) - p.start_mono_ns) / 1e9 for p in spent)


def iterations_of(path: Path) -> list[float]:
    """Return the times of a run's measured iterations in s, from its log of iterations."""
    starts: dict[int, int] = {}
    times = []
    lines = iteration_lines(RunPaths(path).iterations)
    warmup = {line.get("iteration") for line in lines if line.get("warmup") is True}
    for line in lines:
        at, moment = line.get("iteration"), line.get("mono_ns")
        if not isinstance(at, int) or not isinstance(moment, int) or at in warmup:
            continue
        if line.get("k") == "start":
            starts[at] = moment
        elif line.get("status") == "ok" and moment > starts.get(at, moment):
            times.append((moment - starts[at]) / 1e9)
    return times


@dataclass(frozen=True)
class Wanted:
    """Which runs to read: of this workload, of this scale, begun since; ``None``: all."""

    workload: str | None = None
    scale: str | None = None
    since_wall_ns: int | None = None


@dataclass
class Found:
    """Runs, and the folders that could not be read, each with the reason."""

    runs: list[StoredRun] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)


def stored_runs(
    folders: Iterable[Path], wanted: Wanted, watch: Callable[[list[Path]], Iterable[Path]] = iter
) -> Found:
    """Read the manifests of finished runs.

    Parameters
    ----------
    folders : iterable of Path
        Runs, experiments, or folders that hold them.
    watch : callable
        Iterates over the list of runs, and may show progress.

    Raises
    ------
    UsageError
        If a folder is none.
    """
    found = Found()
    places = {place: None for folder in folders for place in _runs_in(folder, found)}
    for place in watch(list(places)):
        try:
            run = _read(place, wanted)
        except PyrometerError as error:
            found.unread[str(place)] = error.message
            continue
        if run is not None:
            found.runs.append(run)
    return found


def _runs_in(folder: Path, found: Found) -> Iterator[Path]:
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", "give runs, experiments, or what holds them")
    if is_experiment(folder):
        try:
            plan, ended = read_plan(folder), read_journal(folder).ended.values()
        except PyrometerError as error:
            found.unread[str(folder)] = error.message
            return
        if any(trial.launch is not None for trial in plan.trials):
            found.unread[str(folder)] = "its treatments shared launches: such times are others"
            return
        trials = ExperimentPaths(folder).trials
        yield from (trials / one.folder for one in ended if one.status == "finished")
    elif (folder / "manifest.json").is_file():
        yield folder
    else:
        for one in sorted(folder.iterdir()):
            if is_experiment(one) or (one / "manifest.json").is_file():
                yield from _runs_in(one, found)


def _read(place: Path, wanted: Wanted) -> StoredRun | None:
    manifest = read_manifest(place)
    subject = _subject(manifest)
    begun = (
        manifest.created_wall_ns if manifest.started_wall_ns is None else manifest.started_wall_ns
    )
    if (
        manifest.state != "finished"
        or manifest.exit.code not in (0, None)
        or wanted.workload not in (None, subject.workload)
        or wanted.scale not in (None, subject.scale)
        or begun < (wanted.since_wall_ns or 0)
    ):
        return None
    if why := not_measured(manifest.doubts) or other_machine(manifest.doubts):
        raise UsageError(why)
    seconds = _seconds(place, manifest)
    return None if seconds is None else StoredRun(
        subject, begun, seconds, str(place), _facts(manifest)
    )  # fmt: skip


def _seconds(place: Path, manifest: Manifest) -> float | None:
    """Mean of the measured iterations; of a command its whole time."""
    times = iterations_of(place)
    if times:
        return sum(times) / len(times)
    if manifest.started_mono_ns is None or manifest.ended_mono_ns is None:
        return None
    return (manifest.ended_mono_ns - manifest.started_mono_ns) / 1e9


def _subject(manifest: Manifest) -> Subject:
    work, host = manifest.workload, manifest.host
    levels = {**work.variant, **manifest.treatment}
    card = [
        host.cpu_model,
        host.cpus_count and f"{host.cpus_count} CPUs",
        host.memory_bytes and units.size(host.memory_bytes),
        manifest.machine and kind_of_host(manifest.machine),
    ]
    return Subject(
        workload=work.name or " ".join(work.command),
        scale="" if work.scale is None else str(work.scale),
        treatment=", ".join(f"{name}={level}" for name, level in sorted(levels.items())),
        profile=manifest.profile,
        host=", ".join(str(one) for one in card if one),
    )


def _facts(manifest: Manifest) -> dict[str, str]:
    """Return what may differ between runs of a series, and could explain a change."""
    result = manifest.results[-1] if manifest.results else None
    facts = {
        **manifest.versions,
        "pyrometer": manifest.pyrometer_version,
        "kernel": manifest.host.kernel,
        "host name": manifest.host.hostname,
        **names_of_host(manifest.machine or {}),
        "iterations": str(manifest.iterations),
        "warm-up": str(manifest.warmup),
        "result": result.checksum if result else None,
    }
    return {name: str(fact) for name, fact in facts.items() if fact is not None}
