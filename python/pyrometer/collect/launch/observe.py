"""Launch one trial and keep its record, from the first moment to the application's end.

What accompanies an application: started before it, recorded after it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pyrometer.collect.host import cgroup, facts, neighbours, settings
from pyrometer.collect.host.ballast import READY
from pyrometer.collect.host.cgroup_plan import CONTROLLER
from pyrometer.collect.host.disks import disks_below
from pyrometer.collect.host.facts import descendants
from pyrometer.collect.host.memory import MemoryWatch, ballast_command, missed
from pyrometer.collect.host.neighbours import Companions, ended_after
from pyrometer.collect.host.numa_watch import NumaWatch, about_nodes
from pyrometer.collect.host.takers import Used, process_table, takers
from pyrometer.collect.launch import cluster, process, shipping
from pyrometer.collect.launch.environment import properties_text
from pyrometer.collect.launch.finish import judge
from pyrometer.collect.launch.launch import Launch
from pyrometer.collect.launch.process import Ending
from pyrometer.collect.launch.record import Record, iteration_lines
from pyrometer.collect.launch.workload_command import describe_command
from pyrometer.collect.probes.base import Probe
from pyrometer.core.errors import CapabilityError
from pyrometer.core.patience import patient
from pyrometer.guests.job import in_machine
from pyrometer.store.manifest import Workload, clock_pair


def accompany(launch: Launch, record: Record, companions: Companions) -> None:
    """Start ballast, cluster and neighbours.

    Raises
    ------
    CapabilityError
        If one of them does not start.
    """
    raw, wanted = record.paths.raw, launch.host.memory
    if wanted is not None and wanted.by == "ballast":
        companions.hold("ballast", ballast_command(wanted.knob), raw / "ballast.log", READY)
    if launch.cluster is not None:
        place = launch.host.placement.application
        with record.phase("cluster"), cgroup.joined(launch.host.group.folders):
            cluster.start(launch.cluster, companions, launch.env, raw / "cluster", place)
    neighbours.start(launch.host.neighbours, companions, raw)


def report_companions(
    launch: Launch,
    record: Record,
    companions: Companions,
    memory: MemoryWatch,
    nodes: NumaWatch,
) -> None:
    """Record in the manifest what neighbours got done, how short memory was, and where it lay."""
    for text in companions.gone:
        record.doubt("companion_ended", f"{text} before the application did.")
    record.manifest.neighbours = neighbours.done(launch.host.neighbours, record.paths.raw)
    if record.manifest.neighbours:
        done = neighbours.described(record.manifest.neighbours)
        record.doubt("accompanied", f"Beside it ran {done}.")
    record.manifest.memory = memory.reached()
    record.manifest.numa = nodes.reached()
    short = missed(record.manifest.memory) if record.manifest.memory else None
    if short is not None:
        record.doubt("memory_condition_missed", f"{short}.")


DRAIN_S = 15.0


class Watch(Protocol):
    """Shows the progress of a run, and does nothing else."""

    def phase(self, name: str) -> None:
        """Show that a phase begins."""

    def progress(self, what: str, done: int, total: int) -> None:
        """Show how much of the data has been generated."""

    def running(self, iteration: int | None, iterations: int, warmup: bool) -> None:
        """Show which iteration runs; called about twice a second."""

    def exited(self, record: Record, ending: Ending) -> None:
        """Take note that the application has ended, and how; what follows is our work."""

    def summarised(self, record: Record, summary: object, scope: object) -> Any:
        """Show the summary of a window that is open; only the report follows.

        Returns
        -------
        Findings or None
            What was found out for it.
        """

    def note(self, text: str) -> None:
        """Show something that matters now."""


class Silent:
    """A `Watch` that shows nothing."""

    def phase(self, name: str) -> None:
        """Show nothing."""

    def progress(self, what: str, done: int, total: int) -> None:
        """Show nothing."""

    def running(self, iteration: int | None, iterations: int, warmup: bool) -> None:
        """Show nothing."""

    def exited(self, record: Record, ending: Ending) -> None:
        """Show nothing."""

    def summarised(self, record: Record, summary: object, scope: object) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""


def observe(launch: Launch, probes: Sequence[Probe], record: Record, watch: Watch) -> Ending:
    """Run the application to its end with all probes; the record is then closed.

    Raises
    ------
    UsageError, CapabilityError
        If the application could not be started at all.
    """
    record.manifest.doubts.extend(launch.doubts)
    _describe(record, launch)
    _note_limited_disk(launch, record)
    shipping.prepare(launch, record)
    record.paths.agent_properties.write_text(properties_text(launch.agent), encoding="utf-8")
    if launch.drop_caches:
        with record.phase("drop cache"):
            drop_caches()
    with (
        process.adopted_orphans(),
        process.held_signals() as late,
        settings.applied(launch.host.switches) as changed,
        cgroup.applied(launch.host.group) as stay,
        ended_after() as companions,
    ):
        # Of a notebook or a test, say; they are none of the application's.
        before = descendants(os.getpid())
        watch.phase("run")
        memory = MemoryWatch(launch.host.group.folders, launch.host.memory)
        memory.look()
        count = len(facts.read().nodes)
        about = about_nodes(record.manifest.treatment, count, in_machine=in_machine())
        nodes = NumaWatch(about)
        nodes.begin()
        accompany(launch, record, companions)
        others = process_table()
        pid = _begin(launch, record)
        with _started(probes, record, pid):
            with record.phase("workload"):
                tick = _ticker(record, watch, memory, nodes)
                ending = process.wait(pid, tick, launch.timeout_s, note=watch.note)
            _keep_ending(record, ending)
            watch.exited(record, ending)
            watch.phase("close")
            with record.phase("close"):
                _note_takers(record, others)
                report_companions(launch, record, companions, memory, nodes)
                _drain(probes, record, [*before, *companions.pids])
                shipping.take(record, launch.driver, failed=ending.code != launch.success_code)
        judge(record, launch, probes, ending)
    record.manifest.doubts.extend(changed)
    if stay:
        record.doubt("groups_left", f"{cgroup.described(stay)}.")
    record.save()
    if late and not ending.interrupted_by:
        # Asked to end as the application had ended already: the run is kept, and we end.
        signal.raise_signal(late[0])
    return ending


def _note_takers(record: Record, before: Mapping[int, Used]) -> None:
    """Record who else used the host's CPUs; companions and what the run left are our own."""
    ours = {os.getpid(), *descendants(os.getpid())}
    record.manifest.takers = takers(before, process_table(), ours, os.sysconf("SC_CLK_TCK"))


def _note_limited_disk(launch: Launch, record: Record) -> None:
    # A workload's data says which disk is meant; of a command nobody knows what it reads.
    asked = record.manifest.treatment
    limits = [name for name in asked if CONTROLLER.get(name) == "io"]
    if not in_machine():
        limits += filter(settings.is_of_disks, asked)
    if limits and not (launch.spec and launch.spec.prepared.root):
        device = cgroup.device_of(record.paths.root) or ", ".join(disks_below(record.paths.root))
        record.doubt(
            "limit_of_one_disk",
            f"{', '.join(limits)}: of the disk {device}, which holds {record.paths.root}.",
        )


def drop_caches() -> None:
    """Drop the whole page cache.

    Raises
    ------
    CapabilityError
        If we are not root.
    """
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("1")
    except OSError as error:
        raise CapabilityError(
            f"cache.state=cold: /proc/sys/vm/drop_caches: {error.strerror}",
            "run as root, or name a built-in workload, whose files are dropped one by one",
        ) from error


def _describe(record: Record, launch: Launch) -> None:
    manifest = record.manifest
    manifest.treatment |= launch.limits
    manifest.treatment_origin |= dict.fromkeys(launch.limits, "workload")
    if launch.spec is not None:
        spec = launch.spec.workload
        manifest.warmup = launch.spec.warmup
        manifest.workload = Workload(
            name=spec.name,
            command=list(launch.argv),
            variant=dict(spec.levels),
            scale=spec.scale,
            spec={"size": spec.size, "conf": dict(launch.spec.spark_conf)},
        )
    if launch.workload_command is not None:
        manifest.workload = describe_command(launch.workload_command)


def _begin(launch: Launch, record: Record) -> int:
    pair = clock_pair()
    manifest = record.manifest
    manifest.clock_pairs.append(pair)
    manifest.started_mono_ns, manifest.started_wall_ns = pair.mono_ns, pair.wall_ns
    record.save()
    with cgroup.joined(launch.host.group.folders):
        pid = process.start(launch)
    record.launched = True
    record.mark_own_cpu()
    return pid


@contextlib.contextmanager
def _started(probes: Sequence[Probe], record: Record, pid: int) -> Iterator[None]:
    try:
        for probe in probes:
            try:
                probe.start(record.paths, pid)
            except Exception as error:
                # The application runs already: it goes on, with one probe less.
                record.doubt("probe_missing", f"Probe {probe.name} did not start: {error}.")
        yield
    finally:
        for probe in probes:
            try:
                probe.stop()
            except Exception as error:
                # The others are to be stopped as well.
                record.doubt("probe_degraded", f"Probe {probe.name} did not stop: {error}.")


def _ticker(record: Record, watch: Watch, memory: MemoryWatch, nodes: NumaWatch) -> process.Tick:
    seen = [-1, 0]
    current: list[tuple[int | None, bool]] = [(None, False)]

    def tick() -> None:
        memory.look()
        nodes.look()
        with contextlib.suppress(OSError):
            size = record.paths.iterations.stat().st_size
            if size != seen[0]:
                seen[0] = size
                record.mark_own_cpu()
                starts = [
                    i for i in iteration_lines(record.paths.iterations) if i.get("k") == "start"
                ]
                if starts:
                    current[0] = (starts[-1].get("iteration"), bool(starts[-1].get("warmup")))
        watch.running(current[0][0], record.manifest.iterations, current[0][1])

    return tick


def _keep_ending(record: Record, ending: Ending) -> None:
    manifest = record.manifest
    manifest.ended_mono_ns, manifest.ended_wall_ns = ending.mono_ns, ending.wall_ns
    manifest.clock_pairs.append(clock_pair())
    text = json.dumps(
        {
            "code": ending.code,
            "signal": ending.signal,
            "end_mono_ns": ending.mono_ns,
            "end_wall_ns": ending.wall_ns,
        }
    )
    try:
        record.paths.exit.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        record.doubt("run_not_saved", f"{record.paths.exit}: {error.strerror}.")


def _drain(probes: Sequence[Probe], record: Record, others: Sequence[int]) -> None:
    ours = {*others, *(pid for probe in probes for pid in probe.processes())}
    longest = patient(DRAIN_S)
    remaining = process.drain(ours, longest)
    if remaining:
        record.doubt(
            "processes_left",
            f"{len(remaining)} process(es) still ran {longest:.0f} s after the end: {remaining}.",
        )
