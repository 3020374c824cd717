"""``manifest.json`` (``pyrometer/manifest/1``): model, atomic write, careful read."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import json_bytes, parse_json
from pyrometer.core.model import Model, Nanoseconds
from pyrometer.core.redaction import Redactor, redacted_data
from pyrometer.core.replacing import replacing
from pyrometer.core.user_files import limited_bytes
from pyrometer.store import versioned
from pyrometer.store.launcher import Launcher, keeper_alive
from pyrometer.store.paths import RunPaths
from pyrometer.store.private import FILE_MODE

SCHEMA = "pyrometer/manifest/1"
SCHEMA_VERSION = 1

State = Literal["running", "finished", "interrupted", "failed"]


class _Part(Model):
    # Fields of a later minor version are kept, so that rewriting loses nothing.
    model_config = ConfigDict(extra="allow")


class Exit(_Part):
    """How the workload ended.

    Attributes
    ----------
    code : int or None
        The application's own exit code; ``None`` if a signal ended it or nobody saw the end.
    signal : str or None
        Name of the signal that ended it, for example ``"SIGKILL"``.
    reason : str or None
        One sentence, where the code alone does not say.
    """

    code: int | None = None
    signal: str | None = None
    reason: str | None = None


class Workload(_Part):
    """What ran: a built-in by name, or a command."""

    name: str | None = None
    command: list[str] = Field(default_factory=list)
    variant: dict[str, Any] = Field(default_factory=dict)
    scale: str | float | None = None
    spec: dict[str, Any] = Field(default_factory=dict)


class Host(_Part):
    """The machine, as far as it can be read; ``None`` where it cannot."""

    hostname: str | None = None
    kernel: str | None = None
    cpus_count: int | None = None
    cpu_model: str | None = None
    memory_bytes: int | None = None
    swap_bytes: int | None = None
    virtualised: str | None = None
    card: dict[str, Any] | None = None


class ClockPair(_Part):
    """CLOCK_MONOTONIC and Unix time of the same moment on this host."""

    mono_ns: Nanoseconds
    wall_ns: Nanoseconds


class Overlay(_Part):
    """One decision about a Spark setting, as the agent in the JVM recorded it."""

    key: str
    value: str | None = None
    how: str
    reason: str | None = None


class Pace(_Part):
    """How often a probe reads: more rarely than asked for where its budget would not hold.

    Attributes
    ----------
    asked_hz, mean_hz : float
        Passes per second, as asked for and over the whole run.
    budget_ratio : float or None
        Share of a CPU that its passes may cost.
    unheld_cpu_ratio : float or None
        The most they cost at the end, or over a long stretch, where no pace held the budget.
    changes_count : int
        How often the pace changed.
    """

    asked_hz: float
    mean_hz: float
    budget_ratio: float | None = None
    unheld_cpu_ratio: float | None = None
    changes_count: int = 0


class ProbeEntry(_Part):
    """A probe: what was asked of it and what it delivered.

    Attributes
    ----------
    host : str or None
        Of the OS probe: the host that it read.
    executor_id : str or None
        Of a probe beside an executor on another host, or outside of what was launched: whose.
    service : bool
        Whether an agent that runs as a service on the host started it, for whoever was there.
    asked : str
        Exact events and periods, as printed.
    got : str or None
        What it delivered, in words; ``None`` if nothing.
    dropped : int or None
        Records lost, as the probe counted them.
    own_cpu_ns : int or None
        CPU that the probe itself used.
    reason : str or None
        Why something is missing.
    pace : Pace or None
        Of the OS probe: how often it was asked to read, and did.
    own_cpu_marks : list of (int, int) or None
        Of the launcher: moments (monotonic ns) and its CPU time since the launch by then (ns).
    """

    name: str
    host: str | None = None
    executor_id: str | None = None
    service: bool = False
    tier: str | None = None
    asked: str
    got: str | None = None
    dropped: int | None = None
    own_cpu_ns: int | None = None
    reason: str | None = None
    pace: Pace | None = None
    own_cpu_marks: list[tuple[int, int]] | None = None


class ResultPart(_Part):
    """Result of one part of an iteration, a query of a suite; times are CLOCK_MONOTONIC."""

    name: str
    rows: int
    checksum: str
    started_mono_ns: Nanoseconds
    ended_mono_ns: Nanoseconds
    error: str | None = None


class Result(_Part):
    """Result of one iteration, as the workload runner reported it."""

    iteration: int
    warmup: bool = False
    rows: int | None = None
    checksum: str | None = None
    status: str
    error: str | None = None
    cache: dict[str, Any] | None = None
    canary: dict[str, float | str] | None = None
    levels: dict[str, str] | None = None
    counters: dict[str, int] = Field(default_factory=dict)
    parts: list[ResultPart] = Field(default_factory=list)


class Warmup(_Part):
    """What was taken for warm-up where that was to be found (``--warmup auto``).

    Attributes
    ----------
    taken, declared, of : int
        Iterations that do not count; those of them that were declared beforehand; all that ended.
    shape : str
        What their times look like (:mod:`pyrometer.statistics.warmup`).
    why : str
        The same in words.
    """

    taken: int
    declared: int
    of: int
    shape: str
    why: str


class Phase(_Part):
    """A phase of the trial on CLOCK_MONOTONIC; ``end_mono_ns`` is ``None`` while it lasts."""

    name: str
    start_mono_ns: Nanoseconds
    end_mono_ns: Nanoseconds | None = None


class ImportedFile(_Part):
    """A profile of another tool that a run directory was created from.

    Attributes
    ----------
    file : str
        The copy, relative to ``raw``.
    source : str
        Where it came from.
    format : str
        One of `pyrometer.store.imported.FORMATS`.
    size_bytes : int
        Of the source.
    sha256 : str
        Of the source.
    event, unit : str or None
        What folded stacks are of, as the user said: the file does not say.
    """

    file: str
    source: str
    format: str
    size_bytes: int
    sha256: str
    event: str | None = None
    unit: str | None = None


class Shipped(_Part):
    """An application whose executors ship what they write, and the folder or URL they ship to."""

    app_id: str
    to: str


class Sender(_Part):
    """A driver on the cluster: the folder or URL it ships to, and what it calls the run there."""

    to: str
    run_id: str


class Manifest(_Part):
    """``manifest.json`` of one trial. Fields: docs/reference/run-directory.md.

    ``treatment_origin`` says of each factor of ``treatment`` who chose its level: the user, or the
    workload, which brings limits of the host without which it would not be what it is. ``agents``
    are stores that agents ship to which run as services on the hosts of a cluster.
    """

    schema_name: str = Field(default=SCHEMA, alias="schema")
    schema_version: int = SCHEMA_VERSION
    run_id: str
    created_wall_ns: Nanoseconds
    pyrometer_version: str
    state: State = "running"
    exit: Exit = Field(default_factory=Exit)
    workload: Workload
    treatment: dict[str, Any] = Field(default_factory=dict)
    treatment_origin: dict[str, Literal["user", "workload"]] = Field(default_factory=dict)
    profile: str
    probes_requested: list[str] = Field(default_factory=list)
    iterations: int = 1
    warmup: int | Literal["auto"] = 0
    warmup_found: Warmup | None = None
    host: Host
    versions: dict[str, str | None] = Field(default_factory=dict)
    clock_pairs: list[ClockPair] = Field(default_factory=list)
    started_mono_ns: Nanoseconds | None = None
    started_wall_ns: Nanoseconds | None = None
    ended_mono_ns: Nanoseconds | None = None
    ended_wall_ns: Nanoseconds | None = None
    conf_overlay: list[Overlay] = Field(default_factory=list)
    probes: list[ProbeEntry] = Field(default_factory=list)
    results: list[Result] = Field(default_factory=list)
    phases: list[Phase] = Field(default_factory=list)
    cgroup: dict[str, int] | None = None
    memory: dict[str, Any] | None = None
    numa: dict[str, Any] | None = None
    neighbours: list[dict[str, Any]] = Field(default_factory=list)
    takers: list[dict[str, Any]] = Field(default_factory=list)
    machine: dict[str, Any] | None = None
    doubts: list[Doubt] = Field(default_factory=list)
    launcher: Launcher | None = None
    imported: list[ImportedFile] = Field(default_factory=list)
    shipped: list[Shipped] = Field(default_factory=list)
    driver: Sender | None = None
    agents: list[str] = Field(default_factory=list)

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    @property
    def why(self) -> str | None:
        """Why it ended as it did, as exactly as is known; ``None`` while it runs."""
        errors = [one.error for one in self.results if one.error]
        known = self.exit.reason or (errors[-1] if errors else None)
        if known is None and self.exit.signal:
            known = f"it ended by {self.exit.signal}"
        if known is None and self.exit.code is not None:
            known = f"exit code {self.exit.code}"
        return known

    @property
    def lasted_ns(self) -> int | None:
        """Time from start to end in ns: by the wall clock where all was recorded elsewhere."""
        for begun, ended in (
            (self.started_mono_ns, self.ended_mono_ns),
            (self.started_wall_ns, self.ended_wall_ns),
        ):
            if begun is not None and ended is not None:
                return ended - begun
        return None

    @property
    def ending(self) -> str:
        """What became of the run, and why."""
        return f"{self.state}: {self.why}" if self.why else self.state


def write_manifest(run_dir: str | Path, manifest: Manifest) -> None:
    """Write ``manifest.json`` through a temporary name, so that readers see old or new, never half.

    Raises
    ------
    OSError
        If the disk is full or read-only; the former manifest then still stands.
    """
    target = RunPaths(Path(run_dir)).manifest
    levels = (f"{name}={level}" for name, level in manifest.treatment.items())
    redactor = Redactor.of([*manifest.workload.command, *levels])
    data = redactor.data(manifest.model_dump(mode="json", by_alias=True))
    # The event log may know more of the user's patterns than the command.
    text = json_bytes(redacted_data(data), indent=1)
    with replacing(target, FILE_MODE) as out:
        out.write(text + b"\n")
        out.flush()
        os.fsync(out.fileno())


def read_manifest(run_dir: str | Path) -> Manifest:
    """Read ``manifest.json``; a run whose keeper died is reported as interrupted, with a doubt.

    Raises
    ------
    UsageError
        If the directory is no run directory, the file is unreadable, or a newer version wrote it.
    """
    path = RunPaths(Path(run_dir)).manifest
    cut = (
        "restore it from a copy, or read its event logs alone: pyrometer ingest"
        " RUN/raw/eventlog/* -o DIR"
    )
    try:
        text = limited_bytes(path)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise UsageError(f"{path}: {error.strerror}: not a manifest of a run", cut) from error
        raise UsageError(
            f"{Path(run_dir)} is not a run directory: {path.name}: {error.strerror}",
            "give the directory that `pyrometer run` printed (it holds manifest.json)",
        ) from error
    found = versioned.parse(text, path, Manifest, SCHEMA_VERSION, "a manifest of a run", cut)
    return settle(found, Path(run_dir))


def settle(manifest: Manifest, run_dir: Path) -> Manifest:
    """Turn "running" into "interrupted" where the process that kept the run is gone.

    The exit of the workload is then taken from ``raw/exit.json`` if there is one.
    """
    if manifest.state != "running" or keeper_alive(manifest.launcher):
        return manifest
    pid = manifest.launcher.pid if manifest.launcher else "unknown"
    doubt = Doubt(
        code="run_interrupted",
        severity="error",
        message=f"Pyrometer (pid {pid}) ended before it closed this run.",
        remedy="Numbers cover what was collected up to then; run again for a complete record.",
    )
    ending = read_exit(run_dir)
    return manifest.model_copy(
        update={
            "state": "interrupted",
            "exit": Exit(
                code=ending.code,
                signal=ending.signal,
                reason="Pyrometer ended before the run was closed",
            ),
            "ended_mono_ns": manifest.ended_mono_ns or ending.end_mono_ns,
            "ended_wall_ns": manifest.ended_wall_ns or ending.end_wall_ns,
            "doubts": [*manifest.doubts, doubt],
        }
    )


class Ending(Model):
    """``raw/exit.json``: how the workload ended, as whoever saw it wrote it down."""

    code: int | None = None
    signal: str | None = None
    end_mono_ns: Nanoseconds | None = None
    end_wall_ns: Nanoseconds | None = None


def read_exit(run_dir: Path) -> Ending:
    """Read ``raw/exit.json``; nothing is known if it is missing, cut, or something else."""
    try:
        return Ending.model_validate(parse_json(limited_bytes(RunPaths(run_dir).exit)))
    except (OSError, ValueError):
        return Ending()


def clock_pair() -> ClockPair:
    """Read both clocks, keeping the closest of five tries."""
    best: tuple[int, int, int] | None = None
    for _ in range(5):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) // 2, wall)
    assert best is not None
    return ClockPair(mono_ns=best[1], wall_ns=best[2])
