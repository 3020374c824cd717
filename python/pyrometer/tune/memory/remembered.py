"""Tunings that are kept: a file each, in a folder of one's own or of a team."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pyrometer.core.errors import CapabilityError, PyrometerError
from pyrometer.core.json_text import parse_json
from pyrometer.core.model import Nanoseconds
from pyrometer.core.redaction import redacted
from pyrometer.core.replacing import replacing
from pyrometer.experiments.journal import read_journal
from pyrometer.store.private import FILE_MODE, make_private
from pyrometer.tune.advise.adviser import FULL
from pyrometer.tune.confirm.blocks import pairs_of
from pyrometer.tune.place import is_tuning
from pyrometer.tune.portrait import Portrait
from pyrometer.tune.trials.folder import Tuning, read_tuning
from pyrometer.tune.trials.judged import Judge, Measure
from pyrometer.tune.trials.measured import measured
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import History, history_of

VARIABLE = "PYROMETER_TUNINGS"
NOWHERE = "none"
"""Asked for instead of a folder: nothing is kept, and nothing remembered."""

SCHEMA = "pyrometer/tuning-memory/1"


class RememberedTrial(BaseModel):
    """A full trial that counts: its levels, and the objective."""

    configuration: dict[str, str]
    value: float = Field(gt=0, allow_inf_nan=False)


class Remembered(BaseModel):
    """What is kept of a tuning (``pyrometer/tuning-memory/1``).

    Attributes
    ----------
    id : str
        The same wherever its folder lies, and whichever host reads it (:func:`identity`).
    winner : dict of str to str
        What the search ended with; empty where nothing better was found.
    verdict : str or None
        What its confirmation says (:data:`pyrometer.tune.believe.verdict.Outcome`); ``None`` where
        there was none, or nobody looked.
    """

    model_config = ConfigDict(populate_by_name=True, extra="allow")

    schema_name: Literal["pyrometer/tuning-memory/1"] = Field(
        "pyrometer/tuning-memory/1", alias="schema"
    )
    id: str
    job: str
    scale: str
    objective: str
    shared: dict[str, str] = Field(default_factory=dict)
    machine: dict[str, str | int | None] = Field(default_factory=dict)
    portrait: Portrait
    trials: list[RememberedTrial]
    winner: dict[str, str] = Field(default_factory=dict)
    verdict: str | None = None
    folder: str
    wall_ns: Nanoseconds
    pyrometer_version: str | None = None


@dataclass(frozen=True)
class Store:
    """What a folder holds, and which files could not be read, with the reason."""

    tunings: tuple[Remembered, ...] = ()
    unread: tuple[str, ...] = ()


def folder_of(asked: str | None, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Give the folder of tunings: as asked for, of the variable, or the user's own.

    Examples
    --------
    >>> folder_of(None, {"PYROMETER_TUNINGS": "/team/tunings"}).as_posix()
    '/team/tunings'
    >>> folder_of("none") is None
    True
    """
    named = asked or environment.get(VARIABLE)
    if named == NOWHERE:
        return None
    return Path(named) if named else Path.home() / ".local/share/pyrometer/tunings"


def remembered(root: Path, measure: Measure | None = None) -> Remembered | None:
    """Read a tuning as it is remembered; ``None`` where nobody knows what its job does.

    Parameters
    ----------
    measure : callable, optional
        Reads the metrics of a run, for the verdict of objectives other than elapsed time; without
        it only what the journal knows is judged.

    Raises
    ------
    UsageError
        If it is no tuning, or its journal was edited.
    """
    tuning, history = read_tuning(root), history_of(read_journal(root, KINDS))
    known = history.known
    if known is None or known.portrait is None:
        return None
    place = str(root.absolute())
    trials = [
        RememberedTrial(configuration=step.asked.configuration, value=step.told.value)
        for step in history.steps
        if step.counts and step.asked.fidelity == FULL and step.told and step.told.value
    ]
    return Remembered(
        id=identity(known.wall_ns, tuning.scale, tuning.objective, trials),
        job=" ".join(tuning.command) or tuning.name, scale=tuning.scale,
        objective=tuning.objective, shared=tuning.shared, machine=tuning.machine,
        portrait=known.portrait, trials=trials,
        winner=history.settled.configuration if history.settled else {},
        verdict=_verdict(root, tuning, history, measure),
        folder=place, wall_ns=known.wall_ns, pyrometer_version=tuning.pyrometer_version,
    )  # fmt: skip


def _verdict(root: Path, tuning: Tuning, history: History, measure: Measure | None) -> str | None:
    if measure is None and (tuning.objective != "elapsed" or tuning.conditions):
        return None
    read = Judge(root, tuning, measure or measured, check=lambda command, run: None)
    verdict = pairs_of(root, tuning, read, history).verdict(tuning.margin)
    return None if verdict is None else verdict.outcome


def identity(wall_ns: int, scale: str, objective: str, trials: Sequence[RememberedTrial]) -> str:
    """Name a tuning by when its first run was known, and what that had measured.

    Neither by its folder nor by its host: on a shared file system both differ for the same tuning.

    Examples
    --------
    >>> identity(1, "test", "elapsed", []) == identity(1, "test", "elapsed", [])
    True
    """
    first = trials[0].value if trials else None
    said = f"{wall_ns}\n{scale}\n{objective}\n{first!r}"
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def keep(folder: Path, one: Remembered) -> Path:
    """Write a tuning to a folder, in place of what was kept of it before.

    Raises
    ------
    CapabilityError
        If it cannot be written.
    """
    target = folder / f"{one.id}.json"
    try:
        make_private(folder)
        # Who may enter a folder that a team shares may read what is in it.
        rights = FILE_MODE | (folder.stat().st_mode & 0o044)
        with replacing(target, rights) as out:
            out.write((redacted(one.model_dump_json(by_alias=True)) + "\n").encode())
    except OSError as error:
        raise CapabilityError(
            f"{target} cannot be written: {error.strerror}",
            f"name another folder: --memory, {VARIABLE}; or --memory {NOWHERE}",
        ) from error
    return target


def read(folder: Path) -> Store:
    """Read all tunings of a folder; none where there is no such folder."""
    found: list[Remembered] = []
    unread: list[str] = []
    try:
        paths = sorted(folder.glob("*.json"))
    except OSError as error:
        return Store((), (f"{folder}: {error.strerror}",))
    for path in paths:
        try:
            one = Remembered.model_validate(parse_json(path.read_bytes()))
        except OSError as error:
            unread.append(f"{path}: {error.strerror}")
        except (ValueError, ValidationError):
            unread.append(f"{path}: no {SCHEMA}")
        else:
            # Older versions named tunings by their host, too.
            one.id = identity(one.wall_ns, one.scale, one.objective, one.trials)
            found.append(one)
    return Store(tuple(found), tuple(unread))


def beside(root: Path) -> list[Remembered]:
    """Read the tunings in the same folder of runs; what cannot be read is left out."""
    found = []
    try:
        places = sorted(one for one in root.absolute().parent.iterdir() if is_tuning(one))
    except OSError:
        return []
    for place in places:
        if place == root.absolute():
            continue
        try:
            one = remembered(place)
        except PyrometerError:
            continue
        if one is not None:
            found.append(one)
    return found
