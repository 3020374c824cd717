"""The record of one trial while it lasts: manifest, phases, and what the JVMs said.

Also creates the run directory, and checks before any launch that it can be written.
"""

from __future__ import annotations

import contextlib
import glob
import re
import stat
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from pyrometer import __version__
from pyrometer.collect.host.card import this_host
from pyrometer.collect.probes.base import Probe
from pyrometer.collect.probes.plugin import records
from pyrometer.core import schema
from pyrometer.core.doubt import Doubt, Severity
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.foreign_files import copy_files
from pyrometer.core.json_text import parse_json
from pyrometer.core.replacing import new_file
from pyrometer.store.axis.probe_reports import doubts_of
from pyrometer.store.launcher import this_launcher
from pyrometer.store.manifest import (
    Host,
    Manifest,
    Overlay,
    Phase,
    Result,
    Workload,
    clock_pair,
    write_manifest,
)
from pyrometer.store.paths import RunPaths
from pyrometer.store.private import FOLDER_MODE, make_out_of_reach, make_own
from pyrometer.store.run_folder import take_back
from pyrometer.trial.trial import Trial


class Record:
    """A run directory that is being written.

    A disk that fills up must not end the run: what cannot be saved becomes a doubt, and is
    tried again at the next change.

    Parameters
    ----------
    paths : RunPaths
        Where it is.
    manifest : Manifest
        Its present state.

    Attributes
    ----------
    launched : bool
        Whether the application was started: from then on the record is kept whatever happens.
    own_cpu : list of (int, int)
        Moments (monotonic ns) and the CPU time that this process had used by then (ns).
    clock_offset_ns : int
        What is to be added to this process's clock to have that of the record: another where the
        trial ran on another host.
    """

    def __init__(self, paths: RunPaths, manifest: Manifest) -> None:
        self.paths = paths
        self.manifest = manifest
        self.launched = False
        self.own_cpu: list[tuple[int, int]] = []
        self.clock_offset_ns = 0
        self._unsaved = False

    def save(self) -> None:
        """Replace ``manifest.json`` by the present state."""
        try:
            write_manifest(self.paths.root, self.manifest)
        except OSError as error:
            if not self._unsaved:
                self.doubt("run_not_saved", f"{self.paths.manifest}: {error.strerror}.")
            self._unsaved = True

    def doubt(self, code: str, message: str, severity: Severity | None = None) -> None:
        """Add a doubt, once."""
        doubt = schema.doubt(code, message, severity)
        if doubt not in self.manifest.doubts:
            self.manifest.doubts.append(doubt)

    def doubt_probes(self) -> None:
        """Raise doubts about what probes did not deliver, or not as often as asked for.

        Of probes beside executors the ingest raises them: their reports may come later.
        """
        for entry in self.manifest.probes:
            beside = entry.executor_id is not None or entry.service
            for code, said in () if beside else doubts_of(entry):
                self.doubt(code, said)

    def mark_own_cpu(self) -> None:
        """Note how much CPU time this process has used by now."""
        self.own_cpu.append((time.monotonic_ns(), time.process_time_ns()))

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a phase of the trial."""
        phase = Phase(name=name, start_mono_ns=time.monotonic_ns() + self.clock_offset_ns)
        self.manifest.phases.append(phase)
        try:
            yield
        finally:
            phase.end_mono_ns = time.monotonic_ns() + self.clock_offset_ns


def iteration_lines(path: Path) -> list[dict[str, Any]]:
    """Lines of ``iterations.ndjson`` that are whole."""
    lines = []
    with contextlib.suppress(OSError):
        for text in path.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                line = parse_json(text)
                if isinstance(line, dict):
                    lines.append(line)
    return lines


def results(path: Path) -> list[Result]:
    """Give the result of each iteration that began; one without an end is "interrupted"."""
    found: dict[int, Result] = {}
    for line in iteration_lines(path):
        number = line.get("iteration")
        if not isinstance(number, int):
            continue
        ended = line.get("k") == "end"
        begun = found.get(number)
        if line.get("k") == "warmup":
            if begun:
                begun.warmup = True
            continue
        found[number] = Result(
            iteration=number,
            warmup=bool(line.get("warmup")),
            rows=line.get("rows"),
            checksum=line.get("checksum"),
            status=str(line.get("status", "ok")) if ended else "interrupted",
            error=line.get("error"),
            cache=line.get("cache") or (begun and begun.cache),
            canary=line.get("canary") or (begun and begun.canary),
            levels=line.get("levels") or (begun and begun.levels),
            counters=line.get("counters") or {},
            parts=line.get("parts") or [],
        )
    return [found[number] for number in sorted(found)]


def overlay(paths: RunPaths) -> list[Overlay]:
    """Decisions about Spark settings, of every driver that started here."""
    seen: dict[tuple[str, str], Overlay] = {}
    for file in paths.plugin_files():
        for record in records(file, "overlay"):
            key, how = str(record.get("key")), str(record.get("how"))
            value = record.get("value")
            seen[key, how] = Overlay(
                key=key,
                value=None if value is None else str(value),
                how=how,
                reason=None if (why := record.get("reason")) is None else str(why),
            )
    return list(seen.values())


def processes(paths: RunPaths) -> list[dict[str, Any]]:
    """Give what each JVM with the agent said of itself, in the order of their start."""
    found = [
        r for file in paths.plugin_files() for r in records(file, "process") if _is_of_a_jvm(r)
    ]
    # A driver speaks when its context begins, and again once the application has its id.
    named = {record.get("pid") for record in found if record.get("app_id")}
    last = {
        (record.get("pid"), record.get("app_id")): record
        for record in found
        if record.get("app_id") or record.get("pid") not in named
    }
    return sorted(last.values(), key=lambda record: record.get("mono_ns") or 0)


def _is_of_a_jvm(record: dict[str, Any]) -> bool:
    """Whether a record has the types that the agent gives it: anybody may write there."""
    pid, app, started = (record.get(name) for name in ("pid", "app_id", "mono_ns"))
    return type(pid) is int and isinstance(app, str | None) and isinstance(started, int | None)


def copy_eventlogs(record: Record, decisions: list[Overlay], app_ids: list[str]) -> None:
    """Copy the logs of these applications from the folder that the user chose.

    Spark names a log after its application id (``<id>``, ``<id>.zstd``, ``<id>_<attempt>``,
    ``eventlog_v2_<id>`` for a rolling one).
    """
    kept = [o for o in decisions if o.key == "spark.eventLog.dir" and o.how == "kept_user"]
    for decision in kept:
        where = urlparse(decision.value or "")
        if where.scheme not in ("", "file"):
            record.doubt("eventlog_elsewhere", f"The event log is in {decision.value}.")
            continue
        folder = Path(unquote(where.path) or "/tmp/spark-events")  # noqa: S108
        found = [log for app in app_ids for log in sorted(folder.glob(f"*{glob.escape(app)}*"))]
        for log in found:
            target = record.paths.eventlog / log.name
            try:
                if not target.exists():
                    # Where others may write, a link may lead to any file of root's.
                    copy_files(log, target)
            except OSError as error:
                record.doubt("eventlog_elsewhere", f"{log}: {error.strerror or error}.")
        if app_ids and not found:
            record.doubt("eventlog_elsewhere", f"No log of {', '.join(app_ids)} in {folder}.")


HOME = Path("pyrometer-runs")


def new_record(
    trial: Trial, probes: Sequence[Probe], notes: list[Doubt], of_others: bool = False
) -> Record:
    """Make the run directory of a trial, and the manifest that it begins with.

    Raises
    ------
    UsageError
        As of :func:`make_run_dir`.
    """
    names = [probe.name for probe in probes]
    return Record(make_run_dir(trial, of_others), new_manifest(trial, this_host(), names, notes))


@contextlib.contextmanager
def opened(
    trial: Trial, probes: Sequence[Probe], notes: list[Doubt], of_others: bool = False
) -> Iterator[Record]:
    """Make a record; what was made of its directory goes away if nothing could be measured in it.

    Raises
    ------
    UsageError
        As of :func:`make_run_dir`.
    """
    mode = trial.run_dir.stat().st_mode if trial.run_dir and trial.run_dir.is_dir() else None
    record = new_record(trial, probes, notes, of_others)
    try:
        yield record
    except (PyrometerError, KeyboardInterrupt):
        if not record.launched:
            take_back(record.paths, mode is not None)
            if mode is not None:
                with contextlib.suppress(OSError):
                    record.paths.root.chmod(stat.S_IMODE(mode))
        raise


def make_run_dir(trial: Trial, of_others: bool = False) -> RunPaths:
    """Make the run directory, with ``raw/`` in it.

    Parameters
    ----------
    trial : Trial
        The trial.
    of_others : bool
        Whether processes of other users are observed: what they could not do themselves must not
        be done for them, so they may not be able to put a link in the place of what is made.

    Raises
    ------
    UsageError
        If it exists and is not empty, cannot be written, or lies where others can change it.
    """
    root = trial.run_dir or _fresh_name(trial.label)
    paths = RunPaths(root.absolute())
    try:
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise UsageError(
                f"{root} exists and is not an empty folder", "give another folder with -o"
            )
        if of_others:
            elsewhere = Path("/var/tmp") / _fresh_name(trial.label).name  # noqa: S108
            paths = RunPaths(make_out_of_reach(paths.root, f"-o {elsewhere}"))
        make_own(paths.root)
        for folder in (paths.raw, paths.eventlog):
            folder.mkdir(FOLDER_MODE)
        _try_writing(paths)
    except OSError as error:
        raise UsageError(
            f"{root} cannot be written: {error.strerror}", "give a writable folder with -o"
        ) from error
    return paths


def new_manifest(trial: Trial, host: Host, probes: list[str], doubts: list[Doubt]) -> Manifest:
    """Describe the trial as it begins (state "running")."""
    pair = clock_pair()
    treatment = {
        **trial.treatment,
        **({"co.run": "+".join(trial.co_running)} if trial.co_running else {}),
    }
    return Manifest(
        run_id=str(uuid.uuid4()),
        created_wall_ns=pair.wall_ns,
        pyrometer_version=__version__,
        workload=Workload(name=trial.name, command=list(trial.command)),
        treatment=treatment,
        treatment_origin=dict.fromkeys(treatment, "user"),
        profile=trial.profile,
        probes_requested=probes,
        iterations=trial.iterations if trial.name else 1,
        warmup=trial.warmup if trial.name else 0,
        host=host,
        clock_pairs=[pair],
        doubts=doubts,
        launcher=this_launcher(),
        agents=[trial.agents] if trial.agents else [],
    )


def _fresh_name(label: str) -> Path:
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.") or "run"
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{word}"
    name, number = HOME / stem, 2
    while name.exists():
        name, number = HOME / f"{stem}-{number}", number + 1
    return name


def _try_writing(paths: RunPaths) -> None:
    # Mode bits are not enough (root, read-only mounts, full disks): only a write shows it.
    probe = paths.raw / ".write"
    with new_file(probe) as out:
        out.write(b"\0" * 65536)
    probe.unlink()
