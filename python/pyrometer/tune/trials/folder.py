"""The folder of a tuning: what was asked for (written once) and a journal of what happened.

```
tuning.json          workload, space, objective, budget: never changed
journal.ndjson       a record a line, appended and synced: trials asked for, begun, ended, told
trials/NNNN-…        a run directory for each attempt at a trial
confirmation/        the experiment of winner against baseline; confirmation-SCALE/: elsewhere
```
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pyrometer.core.errors import UsageError
from pyrometer.core.model import in_json
from pyrometer.core.replacing import replacing
from pyrometer.core.user_files import limited_bytes
from pyrometer.experiments.folder import CanaryPlace, ExperimentPaths, sync_folder
from pyrometer.experiments.plan.constraints import parse_constraint
from pyrometer.store import versioned
from pyrometer.store.private import FILE_MODE, make_own
from pyrometer.tune.place import PLAN
from pyrometer.tune.space.space import Knob, Space
from pyrometer.tune.trials.budget import Budget

SCHEMA_VERSION = 1

Objective = Literal["elapsed", "core-seconds", "cost", "p95", "memory"]
"""What is to be small."""

_KNOB = TypeAdapter(Knob)


class Part(BaseModel):
    """Part of a file: what a newer version added is kept."""

    model_config = ConfigDict(extra="allow")


class SavedSpace(Part):
    """A space as it is written: constraints as text."""

    name: str
    knobs: list[dict[str, Any]]
    constraints: list[str] = Field(default_factory=list)
    facts: dict[str, float] | None = None
    left_out: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(cls, space: Space) -> SavedSpace:
        """Write a space down."""
        return cls(
            name=space.name,
            knobs=[_KNOB.dump_python(knob, mode="json") for knob in space.knobs],
            constraints=[one.text for one in space.constraints],
            facts=None if space.facts is None else dict(space.facts),
            left_out=dict(space.left_out),
        )

    def read(self) -> Space:
        """Give the space back.

        Raises
        ------
        UsageError
            If a knob or a constraint is none: somebody edited it.
        """
        try:
            knobs = tuple(_KNOB.validate_python(knob) for knob in self.knobs)
        except ValidationError as error:
            what = error.errors()[0]["msg"]
            raise UsageError(
                f"the space {self.name}: a knob is not valid: {what}",
                "restore the tuning's folder from a copy, or start again in another one with -o",
            ) from error
        return Space(
            name=self.name,
            knobs=knobs,
            constraints=tuple(parse_constraint(text) for text in self.constraints),
            facts=self.facts,
            left_out=self.left_out,
        )


class Prior(Part):
    """What is known before any trial: levels worth trying first, and who says so.

    Attributes
    ----------
    source : str
        A finding's key and run, or an earlier experiment.
    levels : dict of str to str
        Levels by factor.
    saving_ratio : float or None
        Share of the time that they are expected to save; ``None`` where nobody knows.
    """

    source: str
    levels: dict[str, str]
    saving_ratio: float | None = None


class Earlier(Part):
    """A trial of earlier work, which is told before the first one is asked for.

    Attributes
    ----------
    of : str
        The tuning or experiment that it is of; each counts for as much as it turns out to agree.
    """

    source: str
    of: str = ""
    configuration: dict[str, str]
    value: float
    cost: float
    metrics: dict[str, float] = Field(default_factory=dict)


class Fidelity(Part):
    """The job, or something that stands for it at less cost.

    Attributes
    ----------
    warmup : int or str or None
        Warm-up iterations; ``None``: as the job has.
    levels : dict of str to str
        Levels that make it cheap: fewer queries of a suite.
    summary : str
        What is cheap in it, for people.
    chosen : bool
        It is not known before some trials have run what it is.
    cost_ratio : float
        Cost of a trial over that of a full one, as far as it is expected.
    """

    name: str
    scale: str
    iterations: int
    warmup: int | Literal["auto"] | None = None
    levels: dict[str, str] = Field(default_factory=dict)
    summary: str = ""
    chosen: bool = False
    cost_ratio: float = 1.0


class OnlineTerms(Part):
    """What is promised of a recurring job (:class:`pyrometer.tune.online.terms.Terms`)."""

    risk: float
    runs: int
    limit: float
    first: int
    control: int


class Tuning(Part):
    """Everything that decides a tuning (``tuning.json``, ``pyrometer/tuning-plan/1``).

    Attributes
    ----------
    workload : str
        By name, or a file; for a command the file that was written for it.
    command : list of str
        The user's own command, secrets struck; empty for a workload.
    folder : str or None
        Where a command is run.
    fidelities : list of Fidelity
        What may stand for the job; the job itself is always there.
    shared : dict of str to str
        Levels of every trial, the baseline's too.
    conditions : list of str
        What a configuration must fulfil (``--subject-to``).
    check : str or None
        The user's command that judges the result of a trial.
    engine : str
        What chooses trials (:data:`pyrometer.tune.advise.engines.ENGINES`).
    reserved : float
        Part of the budget that is for confirmation, in its unit.
    cpus : int
        CPUs that a trial occupies, by which its time counts as core time.
    memory : str or None
        Folder of earlier tunings that may warm the start; ``None``: none is looked for.
    spark : str or None
        Version of Spark that the job is expected to have; ``None``: the first run shows it.
    online : OnlineTerms or None
        What is promised of a recurring job; ``None``: the search runs at once.
    prices : dict of str to float or None
        Of a core and of a GB for an hour, and the currency's name in ``currency``.
    """

    model_config = ConfigDict(populate_by_name=True, extra="allow")

    schema_name: Literal["pyrometer/tuning-plan/1"] = Field(
        "pyrometer/tuning-plan/1", alias="schema"
    )
    schema_version: int = SCHEMA_VERSION
    name: str
    workload: str
    command: list[str] = Field(default_factory=list)
    folder: str | None = None
    scale: str
    profile: str
    iterations: int
    warmup: int | Literal["auto"]
    fidelities: list[Fidelity] = Field(default_factory=list)
    shared: dict[str, str] = Field(default_factory=dict)
    space: SavedSpace
    objective: Objective = "elapsed"
    conditions: list[str] = Field(default_factory=list)
    check: str | None = None
    engine: str = "own"
    budget: Budget
    reserved: float
    seed: int
    margin: float
    timeout_s: float
    canaries: CanaryPlace
    guard: dict[str, Any]
    cpus: int
    prices: dict[str, Any] | None = None
    priors: list[Prior] = Field(default_factory=list)
    earlier: list[Earlier] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)
    memory: str | None = None
    spark: str | None = None
    online: OnlineTerms | None = None
    machine: dict[str, str | int | None] = Field(default_factory=dict)
    workload_sha256: str | None = None
    pyrometer_version: str | None = None

    @property
    def once(self) -> bool:
        """Whether its time is that of a whole process; else of an iteration."""
        return bool(self.command) or (self.iterations == 1 and self.warmup == 0)


@dataclass(frozen=True)
class TuningPaths(ExperimentPaths):
    """Paths in the folder of a tuning."""

    @property
    def plan(self) -> Path:
        """What was asked for."""
        return self.root / PLAN

    @property
    def command(self) -> Path:
        """The workload's file of a command."""
        return self.root / "command.yaml"

    @property
    def confirmation(self) -> Path:
        """The experiment of winner against baseline."""
        return self.root / "confirmation"

    def elsewhere(self, scale: str) -> Path:
        """Name the experiment of the same at another scale."""
        return self.root / f"confirmation-{scale}"


def begin(root: Path, tuning: Tuning, command_file: str | None = None) -> None:
    """Create the folder of a tuning.

    Parameters
    ----------
    command_file : str, optional
        The workload's file of a command, to be written beside the plan.

    Raises
    ------
    UsageError
        If there is something in it already, or it cannot be written.
    """
    paths = TuningPaths(root)
    try:
        if root.exists() and (not root.is_dir() or not _free(root, command_file)):
            there = paths.plan.is_file()
            raise UsageError(
                f"{root} holds a tuning" if there else f"{root} is not an empty folder",
                f"pyrometer tune resume {root} goes on with it; a new one goes elsewhere: -o DIR"
                if there
                else "give another folder with -o",
            )
        make_own(root)
        if command_file is not None:
            _write(paths.command, command_file)
        _write(paths.plan, in_json(tuning, indent=1) + "\n")
        sync_folder(root)
    except OSError as error:
        raise UsageError(f"{root} cannot be written: {error.strerror}") from error


def _free(root: Path, command_file: str | None) -> bool:
    # A kill before the plan had its name leaves these: nothing had begun.
    return all(
        _is_command(one, command_file) or one.name.startswith((".tuning.json.", ".command.yaml."))
        for one in root.iterdir()
    )


def _is_command(path: Path, command_file: str | None) -> bool:
    """Whether a file is the command's that would be written: any other is somebody's own."""
    if path.name != "command.yaml" or command_file is None or not path.is_file():
        return False
    return path.read_bytes() == command_file.encode()


def _write(target: Path, text: str) -> None:
    with replacing(target, FILE_MODE) as out:
        out.write(text.encode())
        out.flush()
        os.fsync(out.fileno())


def read_tuning(root: Path) -> Tuning:
    """Read what was asked for of a tuning's folder.

    Raises
    ------
    UsageError
        If there is none, it is cut, or a newer version wrote it.
    """
    path = TuningPaths(root).plan
    try:
        text = limited_bytes(path)
    except OSError as error:
        raise UsageError(
            f"{root} is not a tuning's folder: {path.name}: {error.strerror}",
            "give the folder that `pyrometer tune` was given with -o, or printed",
        ) from error
    cut = "restore it from a copy, or start again in another folder with -o"
    return versioned.parse(text, path, Tuning, SCHEMA_VERSION, "the plan of a tuning", cut)
