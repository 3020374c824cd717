"""The folder of an experiment: the plan (written once) and a journal of what happened.

```
experiment.json      the plan: treatments and every trial in its order; never changed
journal.ndjson       a record a line, appended and synced: trials that began, trials that ended
trials/NNNN-…        a run directory for each attempt at a trial
```
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pyrometer.core.errors import UsageError
from pyrometer.core.model import Nanoseconds, in_json
from pyrometer.core.replacing import replacing
from pyrometer.core.user_files import limited_bytes
from pyrometer.store import versioned
from pyrometer.store.private import FILE_MODE

SCHEMA_VERSION = 1
UNAPPLIED = "treatment_not_applied"
"""Doubt of a run in which a level did not hold."""

Status = Literal["finished", "failed", "wrong_result", "timeout", "out_of_memory", "disturbed"]
"""How an attempt at a trial ended; ``disturbed``: by something else on the machine, to be repeated.
"""

CanaryPlace = Annotated[
    Literal["iteration", "trial", "none"],
    # Plans of the first version had a truth value: before each trial, or not at all.
    BeforeValidator(lambda value: {True: "trial", False: "none"}.get(value, value)),
]
"""Before what canaries are measured."""


# More than a hundred years are no time of a trial; sums and squares of these stay finite.
Seconds = Annotated[float, Field(ge=-4e9, le=4e9)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow")


class Company(_Part):
    """One of several workloads of a co-run, alone or with others.

    Attributes
    ----------
    member, workload : str
        Its name among them, and what it runs.
    beside : list of str
        Members that run at the same time.
    neighbour : str or None
        Level of ``co.run``: the neighbours that run at the same time.
    own_cpus : bool
        Whether each has CPUs of its own; else all have the same.
    offset_s : float
        When it begins, after the first of them.
    """

    member: str
    workload: str
    beside: list[str] = Field(default_factory=list)
    neighbour: str | None = None
    own_cpus: bool = False
    offset_s: float = 0.0


class PlannedTreatment(_Part):
    """One combination of levels, as they were written; in a co-run, of which workload."""

    name: str
    levels: dict[str, str]
    varied: dict[str, str]
    company: Company | None = None


class LeftOutTreatment(_Part):
    """A treatment that is not run, and why."""

    name: str
    reason: str
    varied: dict[str, str] = Field(default_factory=dict)


class PlannedTrial(_Part):
    """One trial's place in the order of time: number and block count from 1.

    Attributes
    ----------
    launch : int or None
        Trials of the same launch run together: in turn in one JVM, or in parallel. ``None``: this
        one runs alone.
    iterations : list of int
        Where treatments take turns in one JVM: which of its iterations are this treatment's.
    cpus : str or None
        Where several run in parallel: the CPUs of this one.
    """

    number: int
    block: int
    treatment: str
    folder: str
    launch: int | None = None
    iterations: list[int] = Field(default_factory=list)
    cpus: str | None = None


class PlannedBisection(_Part):
    """A search for the first slower level of a factor: trials are chosen one after another.

    Attributes
    ----------
    over : str
        The factor.
    levels : list of str
        All levels in their order.
    treatments : dict of str to str
        Treatments by level, of those that this host can honour.
    error : float
        Largest probability of a wrong answer.
    most_trials : int
        Trials after which it stops without an answer.
    """

    over: str
    levels: list[str]
    treatments: dict[str, str]
    error: float
    most_trials: int


class Plan(_Part):
    """Everything that decides an experiment (``experiment.json``, ``pyrometer/experiment/1``)."""

    model_config = ConfigDict(populate_by_name=True, extra="allow")

    schema_name: Literal["pyrometer/experiment/1"] = Field("pyrometer/experiment/1", alias="schema")
    schema_version: int = SCHEMA_VERSION
    name: str
    description: str = ""
    files: list[str]
    workload: str
    scale: str
    profile: str
    iterations: int
    warmup: int | Literal["auto"]
    seed: int
    kind: str
    split: list[str]
    blocks: int
    margin: float
    timeout_s: float
    canaries: CanaryPlace
    guard: dict[str, Any]
    baseline: str | None
    treatments: list[PlannedTreatment]
    left_out: list[LeftOutTreatment]
    trials: list[PlannedTrial]
    bisection: PlannedBisection | None = None
    machine: dict[str, str | int | None] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    workload_sha256: str | None = None
    pyrometer_version: str | None = None

    @property
    def workloads(self) -> list[str]:
        """What runs: one, or several together."""
        found = dict.fromkeys(one.company.workload for one in self.treatments if one.company)
        return list(found) or [self.workload]


class Canaries(_Part):
    """What the machine attained just before a trial; ``None`` where it could not be measured.

    Measured before each iteration: the geometric mean over those that count.
    """

    alu_ns: float | None = None
    latency_ns: float | None = None
    copy_bytes_per_s: float | None = None
    reason: str | None = None


class HostCanary(Canaries):
    """What a host of a cluster attained before the executors of a trial began there.

    Measured by its agent while no executor was there; each is the median of its repetitions.
    `reason` says why there is none.

    Attributes
    ----------
    wall_ns : int or None
        When it ended, by the clock of the host.
    age_s : float or None
        How long that was before the first executor of the trial began there.
    """

    wall_ns: Nanoseconds | None = None
    age_s: float | None = None


class HostSeen(_Part):
    """What others did on a host of a cluster during a trial, and how its tasks fared.

    Attributes
    ----------
    host : str
        Its name.
    busy_ratio, steal_ratio : float or None
        Shares of its CPUs that others and the hypervisor took; ``None`` where no probe was.
    slower_ratio : float or None
        How much longer tasks took there than those of the same stages elsewhere.
    canary : HostCanary or None
        What it attained before; ``None`` in journals of before there was one.
    """

    host: str
    busy_ratio: float | None = None
    steal_ratio: float | None = None
    slower_ratio: float | None = None
    canary: HostCanary | None = None


class Surroundings(_Part):
    """What else the machine did, before or during a trial; ``None`` where it cannot be read."""

    busy_ratio: float | None = None
    steal_ratio: float | None = None
    load: float | None = None
    free_memory_ratio: float | None = None
    swapped_pages_count: int | None = None
    heaviest: list[str] = Field(default_factory=list)
    waited_s: float = 0.0
    disturbed: list[str] = Field(default_factory=list)
    hosts: list[HostSeen] = Field(default_factory=list)


class Ended(_Part):
    """The end of an attempt at a trial.

    Attributes
    ----------
    seconds : float or None
        Mean of its measured iterations; of a command its whole time, less `waited_s`. ``None`` if
        it did not finish.
    waited_s : float or None
        Of an application on a cluster: how long it waited for its first executor.
    censored_s : float or None
        How long it had run when time or memory ran out: to finish, it would have taken longer.
    outside : str or None
        What ended it, where that may be nothing of its own doing.
    iterations_s : list of float
        Iterations that count.
    series_s : list of float
        All iterations, those of the warm-up first.
    counted_from : int or None
        Position in the series from which iterations count.
    shape : str or None
        What the series looks like (:mod:`pyrometer.statistics.warmup`).
    doubted : list of str
        Codes of doubts about the machine that it ran in.
    unapplied : list of str
        Levels of its treatment that did not hold, as sentences that begin with the factor.
    work : dict of str to float
        What its run did in Spark (:mod:`pyrometer.experiments.run.work`).
    """

    k: Literal["end"] = "end"
    trial: int
    attempt: int
    block: int
    treatment: str
    status: Status
    folder: str
    seconds: Seconds | None = None
    waited_s: Seconds | None = None
    censored_s: Seconds | None = None
    outside: str | None = None
    iterations_s: list[Seconds] = Field(default_factory=list)
    series_s: list[Seconds] = Field(default_factory=list)
    counted_from: int | None = None
    shape: str | None = None
    duration_s: Seconds | None = None
    reason: str | None = None
    rows: int | None = None
    checksum: str | None = None
    plan: str | None = None
    work: dict[str, float] = Field(default_factory=dict)
    canaries: Canaries | None = None
    before: Surroundings | None = None
    during: Surroundings | None = None
    adopted: bool = False
    doubted: list[str] = Field(default_factory=list)
    unapplied: list[str] = Field(default_factory=list)
    wall_ns: Nanoseconds

    @property
    def worked_s(self) -> float | None:
        """How long it had run when time or memory ran out, less what it waited for executors."""
        return None if self.censored_s is None else max(0.0, self.censored_s - (self.waited_s or 0))


class Began(_Part):
    """The beginning of an attempt at a trial."""

    k: Literal["begin"] = "begin"
    trial: int
    attempt: int
    folder: str
    canaries: Canaries | None = None
    before: Surroundings | None = None
    wall_ns: Nanoseconds


@dataclass(frozen=True)
class ExperimentPaths:
    """Paths in an experiment's folder."""

    root: Path

    @property
    def plan(self) -> Path:
        """The plan."""
        return self.root / "experiment.json"

    @property
    def journal(self) -> Path:
        """The journal."""
        return self.root / "journal.ndjson"

    @property
    def trials(self) -> Path:
        """Folder of the run directories."""
        return self.root / "trials"


def is_experiment(path: Path) -> bool:
    """Whether a folder holds an experiment."""
    return ExperimentPaths(path).plan.is_file()


def write_plan(root: Path, plan: Plan) -> None:
    """Write the plan through a temporary name."""
    target = ExperimentPaths(root).plan
    with replacing(target, FILE_MODE) as out:
        out.write(f"{in_json(plan, indent=1)}\n".encode())
        out.flush()
        os.fsync(out.fileno())
    sync_folder(root)


def read_plan(root: Path) -> Plan:
    """Read the plan of an experiment's folder.

    Raises
    ------
    UsageError
        If there is none, it is cut, or a newer version wrote it.
    """
    path = ExperimentPaths(root).plan
    try:
        text = limited_bytes(path)
    except OSError as error:
        raise UsageError(
            f"{root} is not an experiment's folder: {path.name}: {error.strerror}",
            "give the folder that `pyrometer experiment run` was given with -o",
        ) from error
    cut = "restore it from a copy, or start again in another folder with -o"
    return versioned.parse(text, path, Plan, SCHEMA_VERSION, "a plan of an experiment", cut)


def sync_folder(root: Path) -> None:
    """Sync a folder, so that new names in it are on the disk."""
    descriptor = os.open(root, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
