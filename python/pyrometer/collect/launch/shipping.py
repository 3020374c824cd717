"""What executors on other hosts recorded: waited for, within bounds, and taken into the run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from pyrometer.collect.launch.environment import asked_agents
from pyrometer.collect.launch.launch import Launch
from pyrometer.collect.launch.record import Record, processes
from pyrometer.core.errors import PyrometerError
from pyrometer.store.manifest import Shipped
from pyrometer.store.private import make_private
from pyrometer.store.services.chunk_files import folder_of, part
from pyrometer.store.services.stores import services_of
from pyrometer.store.shipped import join_shipped, open_streams

WAIT_S = 10.0
"""Longest time for the last chunks: agents that are alive need a round, and no agent needs two."""

_GLANCE_S = 0.25


def prepare(launch: Launch, record: Record) -> None:
    """Make the folder that agents ship to, where it is one of the run; keep where services do."""
    record.manifest.agents = record.manifest.agents or asked_agents(launch.env)
    if "ship.cluster.to" in launch.agent:
        make_private(record.paths.chunks)


def take(record: Record, clock: Callable[[], float] = time.monotonic) -> None:
    """Wait for the last chunks of this run's executors, and make raw files of all that came.

    What comes later is joined by the next ingest. What is missing is doubted there, too.
    """
    ended_ns = time.time_ns()
    record.manifest.shipped = _shipped(record)
    if not record.manifest.shipped and not record.manifest.agents:
        with contextlib.suppress(OSError):
            record.paths.chunks.rmdir()
        return
    record.save()
    deadline = clock() + WAIT_S
    try:
        while (_is_open(record) or _lag_behind(record, ended_ns)) and clock() < deadline:
            time.sleep(_GLANCE_S)
        join_shipped(record.paths, time.time_ns())
    except (PyrometerError, OSError) as error:
        record.doubt("chunks_unjoined", f"{record.paths.chunks}: {error}")


def _shipped(record: Record) -> list[Shipped]:
    found = [
        Shipped(app_id=str(jvm["app_id"]), to=str(jvm["ship_to"]))
        for jvm in processes(record.paths)
        if jvm.get("app_id") and jvm.get("ship_to") and jvm.get("role") == "driver"
    ]
    return list({one.app_id: one for one in found}.values())


def _is_open(record: Record) -> bool:
    folders = ((folder_of(one.to), one.app_id) for one in record.manifest.shipped)
    return any(store and open_streams(store / part(app))[1] for store, app in folders)


def _lag_behind(record: Record, ended_ns: int) -> bool:
    """Whether a service that saw the run's executors has not shipped yet what was at its end."""
    found = services_of(record.paths, record.manifest, [])
    return any(not life.has_reached(ended_ns) for _, life in found)
