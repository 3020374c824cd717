"""Runs, experiments and tunings of a folder, newest first: ``pyrometer ls --json``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.experiments.bisect.state import has_ended
from pyrometer.experiments.folder import Ended, is_experiment, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.store.manifest import Manifest
from pyrometer.store.run_folder import runs_in
from pyrometer.store.tables_folder import summary_file


class Entry(BaseModel):
    """A run, an experiment or a tuning.

    Attributes
    ----------
    state : str
        Of a run; an experiment or a tuning is finished, or unfinished; the tuning of a job that
        recurs has no end, and is recurring.
    elapsed_ns : int or None
        From launch to end; of an experiment or a tuning, all its trials together.
    treatment : dict
        Levels by factor, of a run; of a job that recurs what it runs with by now, empty as it is.
    doubts_count : int or None
        As its summary has them; ``None`` if that was not made yet.
    size_bytes : int
        Of its files.
    trials_count, done_count : int or None
        Of an experiment: trials planned, and finished; of a tuning: asked for, and finished.
    last_wall_ns : int or None
        When the last run of a job that recurs began.
    last_failed : str or None
        Why that did not do the job; ``None`` if it did, or is not known to have ended.
    """

    path: str
    kind: Literal["run", "experiment", "tuning"]
    name: str
    state: str
    started_wall_ns: int | None = None
    elapsed_ns: int | None = None
    treatment: dict[str, Any] = Field(default_factory=dict)
    doubts_count: int | None = None
    size_bytes: int = 0
    trials_count: int | None = None
    done_count: int | None = None
    last_wall_ns: int | None = None
    last_failed: str | None = None


class Listing(BaseModel):
    """What a folder holds; ``older_count`` entries are left out, ``unread`` says what and why."""

    model_config = ConfigDict(populate_by_name=True)

    schema_name: str = Field(default="pyrometer/ls/1", alias="schema")
    folder: str
    entries: list[Entry]
    older_count: int = 0
    unread: dict[str, str] = Field(default_factory=dict)


Recognise = Callable[[Path], Entry | None]
"""Gives the entry of a folder that it knows the kind of; of any other, nothing."""


def listing(folder: Path, most: int, more: Sequence[Recognise] = ()) -> Listing:
    """List the newest runs and experiments of a folder.

    Parameters
    ----------
    most : int
        How many are listed.
    more : sequence of callable
        What recognises folders of further kinds.

    Raises
    ------
    UsageError
        If there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", "pyrometer run parquet-scan")
    runs, unread = runs_in(folder)
    found = [_run(place, manifest) for place, manifest in runs]
    for place in sorted(folder.iterdir()):
        try:
            found += [one for know in (_experiment, *more) if (one := know(place)) is not None]
        except PyrometerError as error:
            unread[place] = error.message
    found.sort(key=lambda one: one.started_wall_ns or 0, reverse=True)
    # Only of what is shown: every file of a run is looked at for these.
    for one in found[:most]:
        one.size_bytes = _size(Path(one.path))
        if one.kind == "run":
            one.doubts_count = _doubts(Path(one.path))
    return Listing(
        folder=str(folder),
        entries=found[:most],
        older_count=max(0, len(found) - most),
        unread={str(place): reason for place, reason in unread.items()},
    )


def _run(place: Path, manifest: Manifest) -> Entry:
    return Entry(
        path=str(place),
        kind="run",
        name=manifest.workload.name or " ".join(manifest.workload.command) or place.name,
        state=manifest.state,
        started_wall_ns=manifest.started_wall_ns or manifest.created_wall_ns,
        elapsed_ns=manifest.lasted_ns,
        treatment=manifest.treatment,
    )


def _experiment(place: Path) -> Entry | None:
    if not is_experiment(place):
        return None
    plan, entries = read_plan(place), read_journal(place)
    ended = list(entries.ended.values())
    return entry_of_trials(
        place,
        "experiment",
        plan.name,
        ended,
        trials_count=len(plan.trials),
        finished=len(ended) >= len(plan.trials)
        and (plan.bisection is None or has_ended(place, plan, entries)),
    )


def entry_of_trials(
    place: Path,
    kind: Literal["experiment", "tuning"],
    name: str,
    ended: Sequence[Ended],
    *,
    trials_count: int,
    finished: bool,
) -> Entry:
    """Make the entry of a folder of trials from those that ended.

    Parameters
    ----------
    finished : bool
        Whether nothing of it is still to run.
    """
    spent = [one.duration_s for one in ended if one.duration_s is not None]
    return Entry(
        path=str(place),
        kind=kind,
        name=name,
        state="finished" if finished else "unfinished",
        started_wall_ns=min((one.wall_ns for one in ended), default=place.stat().st_mtime_ns),
        elapsed_ns=round(sum(spent) * 1e9) if spent else None,
        trials_count=trials_count,
        done_count=sum(one.status == "finished" for one in ended),
    )


def _doubts(place: Path) -> int | None:
    from pyrometer.store.locate import Located
    from pyrometer.store.manifest import read_manifest
    from pyrometer.store.paths import RunPaths
    from pyrometer.summary.kept import kept_summary

    paths = RunPaths(place)
    if not summary_file(paths.tables, None).is_file():
        return None
    manifest = read_manifest(place)
    kept = kept_summary(Located(paths, manifest, list(manifest.doubts)))
    return None if kept is None else len(kept.doubts)


def _size(place: Path) -> int:
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                # Files of a run that is under way come and go.
                continue
    return total
