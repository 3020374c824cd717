"""Observe processes that run already, until they end, a time is over, or somebody says so.

What a running JVM is to Spark: driver, executor or nothing; and where its event log lies.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlparse

from pyrometer.collect.attach.hotspot import command_line
from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch import process
from pyrometer.collect.launch.finish import cost_of_instruments
from pyrometer.collect.launch.record import Record, make_run_dir, new_manifest
from pyrometer.collect.probes.base import Probe
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError
from pyrometer.core.liveness import start_ticks
from pyrometer.store.manifest import Exit, clock_pair
from pyrometer.trial.trial import Trial

TICK_S = 0.2

Reason = Literal["it ended", "the time was over", "asked to end"]


def open_record(
    pids: Sequence[int],
    profile: Literal["probe", "attach"],
    run_dir: Path | None,
    probes: Sequence[Probe],
    notes: list[Doubt],
) -> Record:
    """Make the run directory of processes that run already.

    Raises
    ------
    UsageError
        If it cannot be made, or a process is gone.
    """
    command = command_line(pids[0])
    trial = Trial(command=tuple(command), profile=profile, iterations=1, warmup=0, run_dir=run_dir)
    paths = make_run_dir(trial)
    names = [probe.name for probe in probes]
    record = Record(paths, new_manifest(trial, this_host(), names, notes))
    record.manifest.workload.spec = {"pids": list(pids)}
    return record


def observe_running(
    record: Record,
    probes: Sequence[Probe],
    pids: Sequence[int],
    seconds: float | None,
    tick: Callable[[float], None],
) -> Reason:
    """Start the probes, wait, stop them and close the manifest.

    Parameters
    ----------
    record : Record
        Of `open_record`; its directory goes away again if a probe does not start.
    seconds : float or None
        How long at most.
    tick : callable
        Called a few times a second with the seconds gone by.

    Raises
    ------
    PyrometerError
        If a probe does not start: nothing is left behind then.
    """
    born = {pid: start_ticks(pid) for pid in pids}
    manifest = record.manifest
    with process.held_signals():
        started: list[Probe] = []
        try:
            record.mark_own_cpu()
            for probe in probes:
                started.append(probe)
                probe.start(record.paths, pids[0])
            pair = clock_pair()
            manifest.clock_pairs.append(pair)
            manifest.started_mono_ns, manifest.started_wall_ns = pair.mono_ns, pair.wall_ns
            record.save()
            record.launched = True
            with record.phase("workload"):
                reason = _wait(born, seconds, tick)
            pair = clock_pair()
        except BaseException as error:
            _stop(started)
            if not record.launched and isinstance(error, (PyrometerError, KeyboardInterrupt)):
                shutil.rmtree(record.paths.root, ignore_errors=True)
            raise
        with record.phase("close"):
            _stop(started)
    manifest.clock_pairs.append(pair)
    manifest.ended_mono_ns, manifest.ended_wall_ns = pair.mono_ns, pair.wall_ns
    manifest.probes = [probe.report(record.paths) for probe in probes]
    manifest.probes.append(cost_of_instruments(record))
    for entry in manifest.probes:
        if entry.got is None:
            record.doubt("probe_missing", f"Probe {entry.name} delivered nothing: {entry.reason}.")
        elif entry.dropped:
            record.doubt("probe_degraded", f"Probe {entry.name} dropped {entry.dropped} records.")
    manifest.state, manifest.exit = "finished", Exit(reason=f"observing ended: {reason}")
    record.save()
    return reason


def _wait(
    born: Mapping[int, int | None], seconds: float | None, tick: Callable[[float], None]
) -> Reason:
    begun = time.monotonic()
    main = threading.current_thread() is threading.main_thread()
    while True:
        gone = time.monotonic() - begun
        tick(gone)
        if not any(
            started is not None and start_ticks(pid) == started for pid, started in born.items()
        ):
            return "it ended"
        rest = TICK_S if seconds is None else min(TICK_S, seconds - gone)
        if rest <= 0:
            return "the time was over"
        if not main:
            time.sleep(rest)
            continue
        caught = signal.sigtimedwait({*process.STOPPING}, rest)
        if caught is not None:
            return "asked to end"


def _stop(probes: Sequence[Probe]) -> None:
    # The OS probe last: what the others do to end is seen.
    for probe in reversed(probes):
        with suppress(Exception):
            probe.stop()


_EXECUTOR = "CoarseGrainedExecutorBackend"
_LOG_NAME = re.compile(r"(local-\d+|app-\d{14}-\d{4}|application_\d+_\d+|spark-[0-9a-f]{32})")
_PROGRESS = ".inprogress"


@dataclass(frozen=True)
class SparkJvm:
    """A JVM's part in an application.

    Attributes
    ----------
    role : str
        ``driver``, ``executor``, or ``java`` where no Spark runs in it.
    executor_id : str or None
        As Spark names it; ``driver`` of a driver.
    app_id : str or None
        As far as the command line or the event log tells.
    """

    role: str
    executor_id: str | None
    app_id: str | None


def part_of(arguments: Sequence[str], properties: Mapping[str, str], log: Path | None) -> SparkJvm:
    """Tell by command line and system properties.

    Examples
    --------
    >>> line = ["java", "org.apache.spark.executor.CoarseGrainedExecutorBackend",
    ...         "--executor-id", "3", "--app-id", "app-1"]
    >>> part_of(line, {}, None)
    SparkJvm(role='executor', executor_id='3', app_id='app-1')
    >>> part_of(["java", "Main"], {}, None).role
    'java'
    """
    if any(_EXECUTOR in word for word in arguments):
        return SparkJvm(
            "executor", _after(arguments, "--executor-id"), _after(arguments, "--app-id")
        )
    words = [properties.get("sun.java.command", ""), properties.get("java.class.path", "")]
    spark = any(name.startswith("spark.") for name in properties)
    if (
        spark
        or log is not None
        or any("spark-core_" in word or ".spark." in word for word in words)
    ):
        named = _LOG_NAME.search(str(log)) if log else None
        app = properties.get("spark.app.id") or (named.group(0) if named else None)
        return SparkJvm("driver", "driver", app)
    return SparkJvm("java", None, None)


def open_log(pid: int) -> Path | None:
    """Event log that a driver writes at this moment: one of the files it has open.

    A rolling one is given by its folder, as seen from here.
    """
    links = []
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            # Files are opened and closed meanwhile.
            with contextlib.suppress(OSError):
                links.append(os.readlink(descriptor))
    for link in sorted(links):
        file = Path(link)
        if file.name.startswith(".") or not file.is_absolute():
            continue
        if file.parent.name.startswith("eventlog_v2_"):
            return _outside(pid, file.parent)
        if file.name.endswith(_PROGRESS) and _LOG_NAME.search(file.name):
            return _outside(pid, file)
    return None


def configured_log(properties: Mapping[str, str]) -> str | None:
    """Folder of event logs by the settings that the JVM was started with; ``None`` if off."""
    if properties.get("spark.eventLog.enabled", "false").lower() != "true":
        return None
    return properties.get("spark.eventLog.dir", "file:/tmp/spark-events")


def local_folder(where: str) -> Path | None:
    """Path of a folder on this machine; ``None`` if it is elsewhere."""
    parsed = urlparse(where)
    return Path(unquote(parsed.path)) if parsed.scheme in ("", "file") else None


def closed_name(log: Path) -> Path:
    """Name that a log gets when its application ends.

    Examples
    --------
    >>> closed_name(Path("/e/local-1.zstd.inprogress")).name
    'local-1.zstd'
    """
    return log.with_name(log.name.removesuffix(_PROGRESS))


def _outside(pid: int, path: Path) -> Path:
    """Path as seen from here, where the process runs in a container."""
    seen = Path(f"/proc/{pid}/root") / path.relative_to("/")
    return path if path.exists() else seen


def _after(words: Sequence[str], name: str) -> str | None:
    places = [place for place, word in enumerate(words[:-1]) if word == name]
    return words[places[0] + 1] if places else None
