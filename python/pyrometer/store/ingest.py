"""Raw streams to tables. A source that fails becomes a doubt and never stops the others."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pyrometer.core import schema
from pyrometer.core.beside import Beside
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.core.native import native as native
from pyrometer.core.redaction import Redactor, redacted
from pyrometer.store import manifest as manifests
from pyrometer.store.axis.files import FileHosts
from pyrometer.store.axis.probe_files import is_of_states
from pyrometer.store.axis.probe_reports import doubts_of, shipped_entries
from pyrometer.store.axis.probes import read_probes
from pyrometer.store.axis.times import write_times
from pyrometer.store.axis.write import write_axis
from pyrometer.store.elsewhere import told_once
from pyrometer.store.import_tables import read_imported
from pyrometer.store.iteration_lines import read_iterations
from pyrometer.store.paths import RunPaths, raw_states
from pyrometer.store.python_samples import ingest_python
from pyrometer.store.remote.opened import in_addresses
from pyrometer.store.services.belonging import Logged
from pyrometer.store.services.drivers import date_driver, find_driver
from pyrometer.store.services.executors import RECORDS
from pyrometer.store.services.machines import Machines
from pyrometer.store.services.stores import check_store
from pyrometer.store.services.write import write_found
from pyrometer.store.shipped import join_shipped, redact_shipped
from pyrometer.store.states.extended_stacks import join_states
from pyrometer.store.tables_folder import SCHEMA, STAMP, replaced_tables
from pyrometer.store.write_tables import write_rows


class Source(NamedTuple):
    """What is read of a run.

    Attributes
    ----------
    name : str
        What it is called in reports.
    files : list of str
        Its files.
    read : callable
        Writes their tables; gives a JSON object of ``tables``, ``doubts`` and ``stats``.
    """

    name: str
    files: list[str]
    read: Callable[[], str]


# Their tables are read by no other source, where no hosts are to be compared.
_BESIDE = ("jit log", "generated code")


@dataclass
class IngestReport:
    """What an ingest wrote.

    Attributes
    ----------
    folder : Path
        Where the tables are.
    tables : dict of str to int
        Rows of each table.
    doubts : list of Doubt
        What could not be read, and where.
    stats : dict
        What each source says about its own work (bytes, time).
    """

    folder: Path
    tables: dict[str, int] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    raised: list[dict[str, Any]] = field(default_factory=list)

    def note(self, code: str, message: str, **where: Any) -> None:
        """Keep a doubt that the store itself raises."""
        doubt = schema.doubt(code, message)
        self.take({"code": code, "severity": doubt.severity, "message": message, **where})

    def take(self, raised: dict[str, Any]) -> None:
        """Keep a doubt as a native function reports it."""
        row = {"count": 1, **{k: v for k, v in raised.items() if v is not None}}
        row |= {key: in_addresses(redacted(row[key])) for key in ("message", "file") if key in row}
        name = Path(row.get("file", "")).name
        if name not in row["message"]:
            row["message"] = f"{name}: {row['message']}"
        self.raised.append(row)
        self.doubts.append(schema.known_doubt(row["code"], row["severity"], row["message"]))


def ingest_run(run_dir: str | Path, agents: str | None = None) -> IngestReport:
    """Make all tables of a run directory again from its raw streams.

    Parameters
    ----------
    run_dir : path
        A run directory; it may still be growing.
    agents : str, optional
        Store of agents that run as services on the run's hosts: a folder, or an address such as
        ``s3://bucket/agents``. It is kept in the manifest, for the next time.

    Returns
    -------
    IngestReport
        Rows per table and the doubts, which also stand in table ``ingest_doubts``.

    Raises
    ------
    PyrometerError
        If that store is given and cannot be read: nothing is changed.
    """
    paths = RunPaths(Path(run_dir))
    report = IngestReport(paths.tables)
    if agents is not None:
        _keep_agents(paths, agents)
    with replaced_tables(paths.tables, known=_is_run(paths)) as building:
        started_wall_ns = time.time_ns()
        if not Redactor.of(_command(paths)).teach():
            report.note(
                "secrets_kept",
                "spark.redaction.regex or spark.redaction.string.regex of the command is a pattern"
                " that only Java understands: what it alone calls secret is kept",
            )
        shipped = _join_shipped(report, paths, started_wall_ns)
        for entry in shipped_entries(paths):
            for code, said in doubts_of(entry):
                report.note(code, said)
        # As found: what grows while it is read is new. Shipped files change by our hand alone.
        raw_bytes = _bytes(paths.raw) - _bytes(paths.shipped)
        hosts = FileHosts.of_run(paths, _host(paths))
        logs = paths.eventlogs()
        _read(report, [_of_eventlogs(logs, building)], beside=False)
        machines = Machines.of_run(paths, Logged.in_tables(building) if logs else None)
        sources = _sources(paths, building, hosts, machines)
        _read(report, sources, beside=not hosts.several)
        if paths.iterations.is_file():
            try:
                rows = read_iterations(paths.iterations, report.note)
            except OSError as error:
                rows, text = [], f"{paths.iterations.name}: {error.strerror}"
                report.note("ingest_source_failed", text, file=str(paths.iterations))
            write_rows(building, "iterations", rows)
            report.tables["iterations"] = len(rows)
        if hosts.several:
            logs = [*paths.gc_logs(), *paths.jit_logs(), *paths.profiles(), *paths.codegen_files()]
            for file, names in hosts.shared(logs):
                text = f"{file.name}: JVMs on {', '.join(names)} have the same number"
                report.note("file_of_several_hosts", text, file=str(file))
            _put_on_one_axis(report, building, paths, hosts, machines)
        if shipped:
            for said in redact_shipped(paths):
                report.note("secrets_kept", said)
        raw_bytes += _bytes(paths.shipped)
        _seal(report, building, started_wall_ns, raw_bytes, len(raw_states(paths.raw)))
    return report


def _keep_agents(paths: RunPaths, store: str) -> None:
    """Note a store of agents in the manifest: without one nothing says when the run was."""
    manifest = manifests.read_manifest(paths.root)
    if manifest.state == "running":
        raise UsageError(
            f"{paths.root}: its run is under way, and keeps its manifest itself",
            "ingest it with --agents once it has ended",
        )
    check_store(store)
    if store not in manifest.agents:
        manifest.agents.append(store)
        manifests.write_manifest(paths.root, manifest)


def _bytes(folder: Path) -> int:
    return sum(state.st_size for state in raw_states(folder))


def _join_shipped(report: IngestReport, paths: RunPaths, as_of_ns: int) -> bool:
    """Make raw files of the chunks that have arrived; whether there are any."""
    try:
        for doubt in [*find_driver(paths), *join_shipped(paths, as_of_ns)]:
            report.note(doubt.code, doubt.message)
        date_driver(paths)
    except (PyrometerError, OSError) as error:
        report.note("chunks_unjoined", f"{paths.chunks}: {error}")
    return paths.shipped.is_dir()


def _put_on_one_axis(
    report: IngestReport, building: Path, paths: RunPaths, hosts: FileHosts, machines: Machines
) -> None:
    """Compare the clocks of the hosts, now that all of their records are tables."""
    try:
        for doubt in write_axis(building, paths.plugin_files(), hosts.launch, machines):
            report.note(doubt.code, doubt.message)
    except PyrometerError:
        raise
    except Exception as error:
        report.note("ingest_source_failed", f"clocks: {type(error).__name__}: {error}")
        return
    try:
        write_times(building)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        report.note("ingest_source_failed", f"times on the axis, looked up by each reader: {why}")


def _read(report: IngestReport, sources: Sequence[Source], beside: bool) -> None:
    """Read sources one after another, a few of them beside those that follow, if so asked.

    What they report is taken in their order all the same.
    """
    found: list[tuple[Source, str | Exception | Beside[str | Exception]]] = []
    with contextlib.ExitStack() as stack:
        for source in sources:
            if source.files and beside and source.name in _BESIDE:
                found.append((source, stack.enter_context(Beside(partial(_answer, source)))))
            elif source.files:
                found.append((source, _answer(source)))
        for source, answer in found:
            said = answer.outcome() if isinstance(answer, Beside) else answer
            if isinstance(said, str):
                _absorb(report, source.name, said)
            else:
                why = f"{source.name}: {type(said).__name__}: {said}"
                files = ", ".join(source.files[:3])
                report.note("ingest_source_failed", f"{why} ({files})", file=source.files[0])


def _of_eventlogs(logs: Sequence[Path], building: Path) -> Source:
    names = _strings(logs)
    return Source("event log", names, lambda: native().ingest_eventlogs(names, str(building)))


def _sources(paths: RunPaths, building: Path, hosts: FileHosts, machines: Machines) -> list[Source]:
    """List what is read of a run after its event logs, in order."""
    core = native()
    out = str(building)
    plugin = _strings(paths.plugin_files())
    sources: list[Source] = []

    def source(name: str, files: Sequence[Path], read: Callable[[], str]) -> None:
        sources.append(Source(name, _strings(files), read))

    source("plugin", paths.plugin_files(), lambda: core.ingest_plugin(plugin, out))
    gc = paths.gc_logs()
    source("gc log", gc, lambda: core.ingest_gc(_strings(gc), out, hosts.of(gc)))
    profiles = paths.profiles()
    recorded = hosts.of(profiles) if hosts.several else None
    source(
        "profile",
        profiles,
        lambda: core.ingest_jfr(_strings(profiles), plugin, out, hosts.launch, None, recorded),
    )
    # After the recordings: where both know compilations, the log's replace theirs.
    jit = paths.jit_logs()
    source("jit log", jit, lambda: core.ingest_jit(_strings(jit), out, hosts.of(jit)))
    generated = paths.codegen_files()
    source(
        "generated code",
        generated,
        lambda: core.ingest_codegen(_strings(generated), out, hosts.of(generated)),
    )
    streams = paths.probe_streams()
    run = _run_wall_ns(paths)
    source(
        "probe",
        streams,
        lambda: read_probes(streams, paths.raw, building, core, machines, run),
    )
    folders = sorted({*machines.services, *machines.strangers})
    records = [file for folder in folders for file in folder.glob(RECORDS)]
    source("agents of hosts", records, lambda: write_found(machines, building))
    # Last: which node drove a worker is read from the tables of the others.
    python = paths.python_files()
    source("python", python, lambda: ingest_python(python, building, hosts.of(python)))
    # After both: a sleeping thread's state and its Java stack come from different sources.
    states = [stream for stream in streams if is_of_states(stream)]
    source("extended stacks", states, lambda: join_states(building, core))
    imported = _imported(paths)
    copies = [paths.raw / file.file for file in imported]
    source("import", copies, lambda: read_imported(imported, paths.raw, building, core))
    return sources


def ingest_eventlogs(paths: Sequence[str | Path], out_dir: str | Path) -> IngestReport:
    """Make the tables of event logs alone, in ``<out_dir>/tables``.

    Parameters
    ----------
    paths : sequence of path
        Files and rolling directories, in any codec that Spark writes.
    out_dir : path
        Folder that can then be shown like a run directory.

    Raises
    ------
    UsageError
        If a path does not exist, nothing in them is a Spark event log, or no log holds an event.
    """
    logs = [Path(p) for p in paths]
    for log in logs:
        if not log.exists():
            raise UsageError(
                f"{log}: no such file or directory", "give event log files or rolling directories"
            )
    folder = Path(out_dir) / "tables"
    report = IngestReport(folder)
    where_they_are = (
        'give files of spark.eventLog.dir: each line of a log is a JSON object with "Event"'
    )
    with replaced_tables(folder) as building:
        started_wall_ns = time.time_ns()
        core = native()
        try:
            answer = core.ingest_eventlogs(_strings(logs), str(building))
        except (ValueError, OSError) as error:
            raise UsageError(str(error), where_they_are) from error
        _absorb(report, "event log", answer)
        if not report.tables.get("apps"):
            why = "; ".join(d.message for d in report.doubts[:3]) or "no event of Spark in it"
            raise UsageError(
                f"{', '.join(map(str, logs[:3]))}: not a Spark event log ({why})", where_they_are
            )
        if report.stats["event log"].get("events_count") == 0:
            # Of all of them: one empty log among others is a doubt.
            doubt = schema.doubt(
                "eventlog_empty", "no event of Spark in it: there is nothing to show"
            )
            named = ", ".join(map(str, logs[:3]))
            raise UsageError(f"{named}: {doubt.message}", doubt.remedy)
        _seal(report, building, started_wall_ns)
    return report


def _answer(source: Source) -> str | Exception:
    """Read a source; gives what its reader says, or why it failed."""
    try:
        return source.read()
    except PyrometerError:
        raise
    except Exception as error:
        return error


def _absorb(report: IngestReport, name: str, text: str) -> None:
    answer = parse_json(text)
    report.tables.update(answer.get("tables", {}))
    report.stats[name] = answer.get("stats", {})
    for raised in told_once(answer.get("doubts", [])):
        report.take(raised)


def _host(paths: RunPaths) -> str:
    try:
        return manifests.read_manifest(paths.root).host.hostname or "localhost"
    except PyrometerError:
        return "localhost"


def _command(paths: RunPaths) -> list[str]:
    try:
        return manifests.read_manifest(paths.root).workload.command
    except PyrometerError:
        return []


def _imported(paths: RunPaths) -> list[manifests.ImportedFile]:
    try:
        return manifests.read_manifest(paths.root).imported
    except PyrometerError:
        return []


def _run_wall_ns(paths: RunPaths) -> tuple[int, int] | None:
    """Give begin and end of the run, Unix time; ``None`` while it has no end."""
    try:
        manifest = manifests.read_manifest(paths.root)
    except PyrometerError:
        return None
    begun, ended = manifest.started_wall_ns or manifest.created_wall_ns, manifest.ended_wall_ns
    return (begun, ended) if begun and ended else None


def _is_run(paths: RunPaths) -> bool:
    try:
        manifests.read_manifest(paths.root)
    except PyrometerError:
        return False
    return True


def _seal(
    report: IngestReport,
    folder: Path,
    started_wall_ns: int,
    raw_bytes: int | None = None,
    raw_files: int | None = None,
) -> None:
    """Write the doubts and, last of all, the stamp that makes the tables whole."""
    write_rows(folder, "ingest_doubts", report.raised)
    report.tables["ingest_doubts"] = len(report.raised)
    stamp = {
        "schema": SCHEMA,
        "schema_version": schema.schema_version(),
        "rules": schema.rules_digest(),
        "started_wall_ns": started_wall_ns,
        "raw_bytes": raw_bytes,
        "raw_bytes_follow_redaction": True,
        "raw_files": raw_files,
        "files": sorted(file.name for file in folder.glob("*.parquet")),
        "tables": report.tables,
        "stats": report.stats,
    }
    (folder / STAMP).write_text(json.dumps(stamp))


def _strings(paths: Sequence[Path]) -> list[str]:
    return [str(p) for p in paths]
