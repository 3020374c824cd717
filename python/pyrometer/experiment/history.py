"""What has run here before of the same workload: stored runs and experiments."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyrometer.analyse.forecast import Past, past_trials
from pyrometer.errors import PyrometerError, UsageError
from pyrometer.run.folder import HOME
from pyrometer.run.record import iteration_lines
from pyrometer.store.experiment import Plan, is_experiment, read_plan
from pyrometer.store.journal import read_journal
from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import Manifest, read_manifest

MOST_RUNS = 200


def past_of(plan: Plan, pilots: Iterable[Path], folders: Iterable[Path] = (HOME,)) -> list[Past]:
    """Give trials of the past: of the pilots, else of what lies in the folders of runs.

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
                "a pilot has the same workload and scale",
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
    # What lies about may be cut or of another version: it is no pilot then.
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
    if not same or manifest.state != "finished":
        return []
    times = iterations_of(path)
    ran = _length(manifest)
    return [
        Past(
            treatment=", ".join(f"{k}={v}" for k, v in sorted(manifest.treatment.items())),
            seconds=sum(times) / len(times) if times else ran,
            duration_s=ran,
            iterations_s=tuple(times),
        )
    ]


def _length(manifest: Manifest) -> float | None:
    phases = [p for p in manifest.phases if p.end_mono_ns is not None]
    if not phases:
        return None
    # Data are made once, and a report is not made of each trial.
    spent = [p for p in phases if p.name not in ("prepare", "report")]
    return sum(((p.end_mono_ns or 0) - p.start_mono_ns) / 1e9 for p in spent)


def iterations_of(path: Path) -> list[float]:
    """Give the times of a run's measured iterations in s, by its log of iterations."""
    starts: dict[int, int] = {}
    times = []
    for line in iteration_lines(RunPaths(path).iterations):
        at, moment = line.get("iteration"), line.get("mono_ns")
        if not isinstance(at, int) or not isinstance(moment, int) or line.get("warmup"):
            continue
        if line.get("k") == "start":
            starts[at] = moment
        elif line.get("status") == "ok" and moment > starts.get(at, moment):
            times.append((moment - starts[at]) / 1e9)
    return times
