"""Measure what runs already: any process by the OS probe, a JVM by async-profiler as well."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyrometer.collect.attach.hotspot import Jvm, require_owner, require_process
from pyrometer.collect.attach.observe import (
    Reason,
    SparkJvm,
    closed_name,
    configured_log,
    local_folder,
    observe_running,
    open_log,
    open_record,
    part_of,
)
from pyrometer.collect.attach.polled_tasks import PolledTasks, write_spans
from pyrometer.collect.attach.profiler import AttachedStacks
from pyrometer.collect.launch.observe import Silent, Watch
from pyrometer.collect.launch.record import Record
from pyrometer.collect.probes.base import Probe
from pyrometer.collect.probes.os import OsProbe
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.collect.probes.stacks import StacksProbe
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.orchestrator.pipeline import derive, require

if TYPE_CHECKING:
    from pyrometer.summary.schema import Summary


Tick = Callable[[float], None]
EVENTS = ("cpu", "wall", "alloc", "lock")


@dataclass(frozen=True)
class Observed:
    """What observing came to.

    Parameters
    ----------
    record : Record
        The run directory and its manifest.
    reason : str
        Why it ended.
    summary : Summary or None
        What its tables tell; ``None`` if they could not be made.
    """

    record: Record
    reason: Reason
    summary: Summary | None


def probe(
    pids: Sequence[int],
    *,
    annotation: str | None = None,
    seconds: float | None = None,
    run_dir: Path | None = None,
    hz: float = 20.0,
    tier: str | None = None,
    tick: Tick = lambda gone: None,
    watch: Watch | None = None,
    report: bool = True,
) -> Observed:
    """Observe processes and their children until they end, a time is over, or Ctrl-C.

    Raises
    ------
    UsageError
        A process is not there, the annotation is no annotation, the run directory is not empty.
    CapabilityError
        A process is another user's, or the probe does not run.
    """
    watch = watch or Silent()
    for pid in pids:
        require_process(pid)
        require_owner(pid, "probe")
    os_probe = OsProbe(hz, also=pids[1:], annotation=annotation, tier=tier, until_we_end=True)
    notes = require([os_probe])
    if annotation is not None:
        reasons = [os_probe.read_annotation(pid)[1] for pid in pids]
        if all(reasons):
            # A child may have it: that is told at the end.
            watch.note(f"not in process {pids[0]} itself: {reasons[0]}")
    record = open_record(pids, "probe", run_dir, [os_probe], notes)
    reason = observe_running(record, [os_probe], pids, seconds, tick)
    for entry in record.manifest.probes:
        if "was never read" in (entry.reason or ""):
            record.doubt("annotation_unread", f"{entry.reason}.")
    record.save()
    return Observed(record, reason, derive(record, watch, report))


def attach(
    pid: int,
    *,
    events: str = ",".join(EVENTS),
    seconds: float | None = None,
    run_dir: Path | None = None,
    tick: Tick = lambda gone: None,
    watch: Watch | None = None,
    report: bool = True,
) -> Observed:
    """Observe a JVM that runs, with the stacks of its threads, until it ends or Ctrl-C.

    Raises
    ------
    UsageError
        The process is not there or no JVM, or the run directory is not empty.
    CapabilityError
        The JVM is another user's, cannot be attached to, or is profiled by somebody else.
    """
    watch = watch or Silent()
    stack_events = parse_profile(events).stack_events
    if not stack_events:
        raise UsageError(f"--event {events}: no events", f"--event {','.join(EVENTS)}")
    jvm = Jvm(pid)
    watch.phase("attach")
    properties = jvm.properties()
    log = open_log(pid)
    part = part_of(jvm.arguments, properties, log)
    stacks = AttachedStacks(jvm, part.role, StacksProbe(stack_events))
    probes: list[Probe] = [OsProbe(until_we_end=True), stacks]
    if part.role != "java":
        probes.append(PolledTasks(jvm))
    record = open_record([pid], "attach", run_dir, probes, require(probes[:1]))
    record.manifest.versions.update(
        java=properties.get("java.version"), jvm=properties.get("java.vm.version")
    )
    reason = observe_running(record, probes, [pid], seconds, tick)
    logs = _event_logs(record, part, properties, log)
    polled = next((probe for probe in probes if isinstance(probe, PolledTasks)), None)
    if polled is not None:
        _write_tasks(record, jvm, part, properties, polled, logs)
    record.doubt("attached", _attached(properties))
    record.save()
    return Observed(record, reason, derive(record, watch, report))


def _attached(properties: Mapping[str, str]) -> str:
    feature = properties.get("java.specification.version", "")
    told = "Attached to a JVM that ran already."
    if feature.isdigit() and int(feature) >= 21:
        told += f" Java {feature} said so on its standard error."
    return told


def _event_logs(
    record: Record, part: SparkJvm, properties: Mapping[str, str], log: Path | None
) -> list[Path]:
    """Copy the application's event log as far as it is written."""
    if part.role == "java":
        return []
    if part.role == "executor":
        record.doubt("eventlog_elsewhere", "The driver of this executor writes the event log.")
        return []
    if log is None:
        where = configured_log(properties)
        folder = local_folder(where) if where else None
        if where is None or folder is None or not part.app_id:
            told = f"The event log is in {where}." if where else "The application writes none."
            record.doubt("eventlog_elsewhere", told)
            return []
        found = sorted(folder.glob(f"*{part.app_id}*"))
    else:
        found = [name for name in (log, closed_name(log)) if name.exists()][:1]
    copies = []
    for source in found:
        target = record.paths.eventlog / closed_name(source).name
        try:
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*"))
            else:
                shutil.copyfile(source, target)
            copies.append(target)
        except (OSError, shutil.Error) as error:
            record.doubt("eventlog_elsewhere", f"{source}: {error}")
    if not copies:
        record.doubt("eventlog_elsewhere", f"No log of {part.app_id} was found.")
    return copies


def _write_tasks(
    record: Record,
    jvm: Jvm,
    part: SparkJvm,
    properties: Mapping[str, str],
    polled: PolledTasks,
    logs: Sequence[Path],
) -> None:
    manifest = record.manifest
    facts: dict[str, object] = {
        "role": part.role,
        "executor_id": part.executor_id,
        "pid": jvm.pid,
        "host": manifest.host.hostname,
        "app_id": part.app_id,
        "mono_ns": manifest.started_mono_ns,
        "wall_ns": manifest.started_wall_ns,
        "java_version": properties.get("java.version"),
        "jvm": properties.get("java.vm.name"),
        "spark_version": None,
    }
    name = f"plugin-{part.role}-{part.executor_id or 'none'}-{jvm.pid}.ndjson"
    offset = (manifest.started_wall_ns or 0) - (manifest.started_mono_ns or 0)

    def exact(tasks: Iterable[int]) -> dict[int, tuple[int, int | None]]:
        return _times_of(logs, list(tasks), offset)

    write_spans(record.paths.raw / name, facts, polled.spans, exact)


def _times_of(
    logs: Sequence[Path], tasks: list[int], offset_ns: int
) -> dict[int, tuple[int, int | None]]:
    """Launch and finish by task, on the monotonic clock, as event logs tell them."""
    from pyrometer.store import ingest_eventlogs
    from pyrometer.store.tables import Tables

    if not logs or not tasks:
        return {}
    with tempfile.TemporaryDirectory(prefix="pyrometer-attach-") as folder:
        try:
            ingest_eventlogs(logs, folder)
        except (UsageError, CapabilityError):
            return {}
        with Tables(Path(folder) / "tables") as tables:
            rows = tables.query(
                "SELECT task_attempt_id, launch_wall_ns, finish_wall_ns FROM tasks"
                f" WHERE launch_wall_ns IS NOT NULL AND task_attempt_id IN ({_list(tasks)})"
            )
    return {
        task: (launch - offset_ns, None if finish is None else finish - offset_ns)
        for task, launch, finish in rows
    }


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
