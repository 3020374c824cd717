"""What executors on other hosts recorded: waited for, within bounds, and taken into the run.

So is what a driver on the cluster recorded, whose application is looked for in the store.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable

from pyrometer.collect.launch.driver_elsewhere import DriverElsewhere, nothing_came
from pyrometer.collect.launch.driver_place import CODE as DRIVER_AWAY
from pyrometer.collect.launch.environment import UNWRITABLE, asked_agents
from pyrometer.collect.launch.launch import Launch
from pyrometer.collect.launch.record import Record, processes
from pyrometer.core.errors import PyrometerError
from pyrometer.core.patience import patient
from pyrometer.store.manifest import Sender, Shipped
from pyrometer.store.private import make_private
from pyrometer.store.services.chunk_files import folder_of, part
from pyrometer.store.services.chunk_store import Refusals, why
from pyrometer.store.services.drivers import CLOCKS_APART_NS, applications_sent, live_elsewhere
from pyrometer.store.services.stores import give_up, open_store, services_of
from pyrometer.store.services.take import Life
from pyrometer.store.shipped import has_open, join_shipped, open_streams

WAIT_S = 10.0
"""Longest time for the last chunks: agents that are alive need a round, and no agent needs two."""

BEGUN_S = 2.0
"""In which whatever a driver recorded begins to arrive: its agent ships every second."""

_GLANCE_S = 0.25
_GLANCE_ELSEWHERE_S = 2.0
"""Between looks into a store that is no folder: each is many requests."""


def prepare(launch: Launch, record: Record) -> None:
    """Make the folder that agents ship to, where it is one of the run; keep where others do."""
    if launch.driver is not None:
        record.manifest.driver = Sender(to=launch.driver.store, run_id=launch.driver.run_id)
    record.manifest.agents = record.manifest.agents or asked_agents(launch.env)
    if "ship.cluster.to" in launch.agent:
        make_private(record.paths.chunks)


def take(
    record: Record,
    driver: DriverElsewhere | None = None,
    failed: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Wait for the last chunks of this run's executors, and make raw files of all that came.

    What comes later is joined by the next ingest. What is missing is doubted there, too.

    Parameters
    ----------
    driver : DriverElsewhere, optional
        That sends what it records, as well: then nothing was recorded here.
    failed : bool
        Whether the command failed: perhaps no such driver was ever started.
    """
    ended_ns = time.time_ns()
    if driver is None:
        record.manifest.shipped = _shipped(record)
        _forget_unwritable(record)
    else:
        record.manifest.shipped = _sent_by(driver, record, clock, BEGUN_S if failed else WAIT_S)
    if not record.manifest.shipped and not record.manifest.agents:
        if driver is None:
            with contextlib.suppress(OSError):
                record.paths.chunks.rmdir()
        return
    record.save()
    deadline = clock() + patient(WAIT_S)
    waiting = _Waiting(record, ended_ns)
    try:
        while waiting.is_worth_it() and clock() < deadline:
            time.sleep(_GLANCE_ELSEWHERE_S if waiting.elsewhere else _GLANCE_S)
        join_shipped(record.paths, time.time_ns())
        if driver is not None and _has_more(driver, record):
            join_shipped(record.paths, time.time_ns())
    except (PyrometerError, OSError) as error:
        record.doubt("chunks_unjoined", f"{record.paths.chunks}: {error}.")
    if driver is not None and record.manifest.shipped:
        live_elsewhere(record.manifest, record.paths.eventlogs())


def _forget_unwritable(record: Record) -> None:
    """Drop the doubt about a store that was never needed: all drivers were their only executor."""
    drivers = [one for one in processes(record.paths) if one.get("role") == "driver"]
    if drivers and not any(one.get("ship_to") for one in drivers):
        kept = [one for one in record.manifest.doubts if one.code != UNWRITABLE]
        record.manifest.doubts = kept


def _has_more(driver: DriverElsewhere, record: Record) -> bool:
    """Add applications that a driver had after its first: its own records name them."""
    known = {one.app_id for one in record.manifest.shipped}
    named = {str(jvm["app_id"]) for jvm in processes(record.paths) if jvm.get("app_id")}
    more = sorted(named - known)
    record.manifest.shipped += [Shipped(app_id=app, to=driver.store) for app in more]
    record.save()
    return bool(more)


def _sent_by(
    driver: DriverElsewhere, record: Record, clock: Callable[[], float], longest_s: float
) -> list[Shipped]:
    """Look for the application of a driver elsewhere, for as long as it may take to arrive."""
    since_ns = record.manifest.created_wall_ns - CLOCKS_APART_NS
    deadline = clock() + patient(longest_s)
    glance_s = _GLANCE_S if folder_of(driver.store) else _GLANCE_ELSEWHERE_S
    refused: Refusals = []
    while True:
        refused.clear()
        try:
            store = open_store(driver.store)
            found = applications_sent(store, driver.run_id, since_ns, refused)
        except PyrometerError as error:
            found, refused = [], [give_up(driver.store, error)]
        except OSError as error:
            found, refused = [], [error]
        if found or clock() >= deadline:
            break
        time.sleep(glance_s)
    if not found:
        said = [nothing_came(driver), *(f"{why(one)}." for one in refused[:1])]
        record.doubt(DRIVER_AWAY, " ".join(said))
    return [Shipped(app_id=app, to=driver.store) for app in found]


def _shipped(record: Record) -> list[Shipped]:
    found = [
        Shipped(app_id=str(jvm["app_id"]), to=str(jvm["ship_to"]))
        for jvm in processes(record.paths)
        if jvm.get("app_id") and jvm.get("ship_to") and jvm.get("role") == "driver"
    ]
    return list({one.app_id: one for one in found}.values())


class _Waiting:
    """What of a run has not arrived yet.

    Parameters
    ----------
    record : Record
        The run, which has ended.
    ended_ns : int
        When it did, Unix time.
    """

    def __init__(self, record: Record, ended_ns: int) -> None:
        manifest = record.manifest
        places = [*manifest.agents, *(one.to for one in manifest.shipped)]
        self.elsewhere = any(folder_of(place) is None for place in places)
        self._record = record
        self._ended_ns = ended_ns
        self._ended: dict[str, set[str]] = defaultdict(set)
        self._behind: list[Life] | None = None

    def is_worth_it(self) -> bool:
        """Whether more is to come; a store that cannot be read is not waited for."""
        try:
            return any(map(self._is_open, self._record.manifest.shipped)) or self._lags_behind()
        except (PyrometerError, OSError):
            # Whatever did arrive is joined, which says what cannot be read.
            return False

    def _is_open(self, one: Shipped) -> bool:
        folder = folder_of(one.to)
        if folder is not None:
            return open_streams(folder / part(one.app_id))[1] > 0
        try:
            return has_open(open_store(one.to), part(one.app_id), self._ended[one.to])
        except PyrometerError as error:
            give_up(one.to, error)
            return False

    def _lags_behind(self) -> bool:
        """Whether a service that saw the run's executors has not shipped what was at its end."""
        found = services_of(self._record.paths, self._record.manifest, [])
        if not self.elsewhere:
            return any(not life.has_reached(self._ended_ns) for life in found)
        try:
            # Found once: to look for them again takes long.
            lives = found if self._behind is None else (life.again() for life in self._behind)
            self._behind = [life for life in lives if not life.has_reached(self._ended_ns)]
        except PyrometerError:
            return False
        return bool(self._behind)
