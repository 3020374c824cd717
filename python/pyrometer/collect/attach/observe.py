"""Observe processes that run already, until they end, a time is over, or somebody says so."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pyrometer.collect.attach.hotspot import command_line
from pyrometer.collect.launch import process
from pyrometer.collect.launch.finish import cost_of_instruments
from pyrometer.collect.launch.record import Record
from pyrometer.collect.probes.base import Probe, reported
from pyrometer.core.liveness import start_ticks
from pyrometer.store.manifest import Exit, clock_pair
from pyrometer.trial.trial import Trial

TICK_S = 0.2

Reason = Literal["it ended", "the time was over", "asked to end"]


def running_trial(
    pids: Sequence[int], profile: Literal["probe", "attach"], run_dir: Path | None
) -> Trial:
    """Describe processes that run already as a trial.

    Raises
    ------
    UsageError
        If one is gone.
    """
    command = tuple(command_line(pids[0]))
    return Trial(command=command, profile=profile, iterations=1, warmup=0, run_dir=run_dir)


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
        The run.
    seconds : float or None
        How long at most.
    tick : callable
        Called a few times a second with the seconds gone by.

    Raises
    ------
    PyrometerError
        If a probe does not start; the others are stopped then.
    """
    born = {pid: start_ticks(pid) for pid in pids}
    manifest = record.manifest
    manifest.workload.spec = {"pids": list(pids)}
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
        except BaseException:
            _stop(started)
            raise
        with record.phase("close"):
            _stop(started)
    manifest.clock_pairs.append(pair)
    manifest.ended_mono_ns, manifest.ended_wall_ns = pair.mono_ns, pair.wall_ns
    manifest.probes = [reported(probe, record.paths) for probe in probes]
    manifest.probes.append(cost_of_instruments(record))
    record.doubt_probes()
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
