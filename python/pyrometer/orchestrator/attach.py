"""Measure what runs already: any process by the OS probe, a JVM by async-profiler as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyrometer.collect.attach.hotspot import (
    Jvm,
    has_other_users,
    require_owner,
    require_process,
)
from pyrometer.collect.attach.observe import Reason, observe_running, running_trial
from pyrometer.collect.attach.polled_tasks import PolledTasks
from pyrometer.collect.attach.profiler import AttachedStacks
from pyrometer.collect.attach.spark_jvm import copy_event_logs, open_log, part_of, write_tasks
from pyrometer.collect.launch.observe import Silent, Watch
from pyrometer.collect.launch.record import Record, opened
from pyrometer.collect.probes.base import Probe
from pyrometer.collect.probes.os import OsProbe
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.collect.probes.selection import require
from pyrometer.collect.probes.stacks import StacksProbe
from pyrometer.core.errors import UsageError
from pyrometer.orchestrator.derive import derive
from pyrometer.trial.trial import PROBE_BUDGET

if TYPE_CHECKING:
    from pyrometer.summary.schema import Summary


Tick = Callable[[float], None]
EVENTS = ("cpu", "wall", "alloc", "lock")


@dataclass(frozen=True)
class Observed:
    """Result of observing.

    Parameters
    ----------
    record : Record
        The run directory and its manifest.
    reason : str
        Why it ended.
    summary : Summary or None
        Everything about its window; ``None`` if its tables could not be written.
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
    budget: float | None = None,
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
    os_probe = OsProbe(
        hz, also=pids[1:], annotation=annotation, tier=tier, budget=budget, until_we_end=True
    )
    notes = require([os_probe])
    if annotation is not None:
        reasons = [os_probe.read_annotation(pid)[1] for pid in pids]
        if all(reasons):
            # A child may have it: that is known at the end.
            watch.note(f"not in process {pids[0]} itself: {reasons[0]}")
    trial = running_trial(pids, "probe", run_dir)
    with opened(trial, [os_probe], notes, has_other_users(pids)) as record:
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
    budget: float | None = PROBE_BUDGET,
    agents: str | None = None,
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
        raise UsageError(
            f"--event {events}: not events to sample stacks for", f"--event {','.join(EVENTS)}"
        )
    jvm = Jvm(pid)
    watch.phase("attach")
    properties = jvm.properties()
    log = open_log(pid)
    part = part_of(jvm.arguments, properties, log)
    stacks = AttachedStacks(jvm, part.role, StacksProbe(stack_events))
    os_probe = OsProbe(budget=budget, until_we_end=True, counters="hardware")
    probes: list[Probe] = [os_probe, stacks]
    if part.role != "java":
        probes.append(PolledTasks(jvm))
    trial, notes = running_trial([pid], "attach", run_dir), require(probes[:1])
    with opened(trial, probes, notes, has_other_users([pid])) as record:
        record.manifest.agents = [agents] if agents else []
        record.manifest.versions.update(
            java=properties.get("java.version"), jvm=properties.get("java.vm.version")
        )
        reason = observe_running(record, probes, [pid], seconds, tick)
    logs = copy_event_logs(record, part, properties, log, jvm.user)
    for polled in (probe for probe in probes if isinstance(probe, PolledTasks)):
        write_tasks(record, pid, part, properties, polled, logs)
    record.doubt("attached", _attached(properties))
    record.save()
    return Observed(record, reason, derive(record, watch, report))


def _attached(properties: Mapping[str, str]) -> str:
    feature = properties.get("java.specification.version", "")
    text = "Attached to a JVM that ran already."
    if feature.isdigit() and int(feature) >= 21:
        text += f" Java {feature} said so on its standard error."
    return text
