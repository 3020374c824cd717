"""Finished runs in folders, trials of experiments among them, for their history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pyrometer import units
from pyrometer.analyse.history import StoredRun, Subject
from pyrometer.errors import PyrometerError, UsageError
from pyrometer.experiment.history import iterations_of
from pyrometer.store.experiment import ExperimentPaths, is_experiment, read_plan
from pyrometer.store.journal import read_journal
from pyrometer.store.manifest import Manifest, read_manifest


@dataclass(frozen=True)
class Wanted:
    """Which runs: of this workload, of this scale, begun since; ``None``: all."""

    workload: str | None = None
    scale: str | None = None
    since_wall_ns: int | None = None


@dataclass
class Found:
    """Runs, and folders that could not be read with the reason."""

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
        Goes through the list of runs, and may show how far it is.

    Raises
    ------
    UsageError
        If a folder is none.
    """
    made = Found()
    places = {place: None for folder in folders for place in _runs_in(folder, made)}
    for place in watch(list(places)):
        try:
            run = _read(place, wanted)
        except PyrometerError as error:
            made.unread[str(place)] = error.message
            continue
        if run is not None:
            made.runs.append(run)
    return made


def _runs_in(folder: Path, made: Found) -> Iterator[Path]:
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", "give runs, experiments, or what holds them")
    if is_experiment(folder):
        try:
            plan, ended = read_plan(folder), read_journal(folder).ended.values()
        except PyrometerError as error:
            made.unread[str(folder)] = error.message
            return
        if any(trial.launch is not None for trial in plan.trials):
            made.unread[str(folder)] = "its treatments shared launches: such times are others"
            return
        trials = ExperimentPaths(folder).trials
        yield from (trials / one.folder for one in ended if one.status == "finished")
    elif (folder / "manifest.json").is_file():
        yield folder
    else:
        for one in sorted(folder.iterdir()):
            if is_experiment(one) or (one / "manifest.json").is_file():
                yield from _runs_in(one, made)


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
    ]
    return Subject(
        workload=work.name or " ".join(work.command),
        scale="" if work.scale is None else str(work.scale),
        treatment=", ".join(f"{name}={level}" for name, level in sorted(levels.items())),
        profile=manifest.profile,
        host=", ".join(str(one) for one in card if one),
    )


def _facts(manifest: Manifest) -> dict[str, str]:
    """Give what may differ between runs of a series, and explain a change."""
    result = manifest.results[-1] if manifest.results else None
    facts = {
        **manifest.versions,
        "pyrometer": manifest.pyrometer_version,
        "kernel": manifest.host.kernel,
        "host name": manifest.host.hostname,
        "iterations": str(manifest.iterations),
        "warm-up": str(manifest.warmup),
        "result": result.checksum if result else None,
    }
    return {name: str(fact) for name, fact in facts.items() if fact is not None}
