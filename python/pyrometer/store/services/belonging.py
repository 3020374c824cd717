"""Whether a process that an agent found is the executor that its command line says it is.

A command line is what its process says of itself. What is known otherwise: what the plugin in an
executor recorded of its own process, which executors Spark's event log has, and whose user they
are. A process that contradicts these is none of the run's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyrometer.store.paths import RunPaths
from pyrometer.store.services.drivers import CLOCKS_APART_NS
from pyrometer.store.services.executors import Found
from pyrometer.store.services.plugin_records import first_process
from pyrometer.store.sql.host_views import HostRows
from pyrometer.store.tables import Tables

SAME_START_NS = 60 * 10**9
"""A JVM says that it began a moment after its process did; a clock may be set in between."""

Name = tuple[str, str]
"""An application and one of its executors. Of a further attempt of a driver, executors count from 1
again."""


@dataclass(frozen=True)
class Recorded:
    """An executor or driver, as the plugin in it recorded it.

    Attributes
    ----------
    host : str
        What its JVM calls its host.
    pid : int or None
        Its number as it knows it itself.
    start_wall_ns : int or None
        When its JVM began, Unix time of its host.
    """

    host: str
    pid: int | None
    start_wall_ns: int | None


@dataclass(frozen=True)
class Logged:
    """Executors that Spark's event logs have.

    Attributes
    ----------
    apps : dict of str to int or None
        When each application began, its first attempt; Unix time of its driver's host.
    executors : dict of (str, str) to list of int
        When each executor registered, in any attempt.
    """

    apps: Mapping[str, int | None] = field(default_factory=dict)
    executors: Mapping[Name, Sequence[int]] = field(default_factory=dict)

    @classmethod
    def in_tables(cls, building: Path) -> Logged:
        """Read them from tables that were made of the event logs."""
        with Tables(building, HostRows.AS_RECORDED) as tables:
            apps = tables.query(
                "SELECT app_id, min(start_wall_ns) FROM apps WHERE app_id IS NOT NULL GROUP BY 1"
            )
            executors = tables.query(
                "SELECT app_id, executor_id, list(add_wall_ns) FILTER (add_wall_ns IS NOT NULL)"
                " FROM executors JOIN apps USING (app_index)"
                " WHERE app_id IS NOT NULL AND executor_id <> 'driver' GROUP BY ALL"
            )
        return cls(dict(apps), {(app, one): added or () for app, one, added in executors})

    def contradicts(self, one: Found, start_wall_ns: int | None) -> bool:
        """Whether the log has no such executor, or one that registered at another time."""
        if one.role == "driver" or not any(app == one.app for app, _ in self.executors):
            return False
        added = self.executors.get((one.app, one.executor))
        if added is None:
            return True
        began = self.apps.get(one.app)
        if start_wall_ns is None or began is None or not added:
            return False
        return not began - CLOCKS_APART_NS <= start_wall_ns <= max(added) + CLOCKS_APART_NS


@dataclass(frozen=True)
class Belonging:
    """What is known of a run's executors.

    Attributes
    ----------
    recorded : dict of (str, str) to tuple of Recorded
        Processes that recorded as each executor: of several attempts, several.
    logged : Logged
        Executors in the event logs.
    nodes : set of str
        Hosts that agents observed, as these call them.
    """

    recorded: Mapping[Name, tuple[Recorded, ...]]
    logged: Logged
    nodes: frozenset[str]

    def hosts_of(self, one: Found, node: str, start_wall_ns: int | None) -> set[str]:
        """Give what the JVM that a process can be calls its host; several if it can be several."""
        records = self.recorded.get((one.app, one.executor), ())
        fitting = {each.host for each in records if self._fits(each, one, node, start_wall_ns)}
        return fitting & {node, one.pod} or fitting

    def contradicts(self, one: Found, node: str, start_wall_ns: int | None) -> bool:
        """Whether a process cannot be the executor that it says it is."""
        records = self.recorded.get((one.app, one.executor))
        if records:
            return not any(self._fits(each, one, node, start_wall_ns) for each in records)
        return self.logged.contradicts(one, start_wall_ns)

    def _fits(self, record: Recorded, one: Found, node: str, start_wall_ns: int | None) -> bool:
        if record.host != node and record.host in self.nodes:
            return False
        if record.pid is not None and record.pid != (one.pid_inside or one.pid):
            return False
        if record.start_wall_ns is None or start_wall_ns is None:
            return True
        return abs(record.start_wall_ns - start_wall_ns) <= SAME_START_NS


def recorded(paths: RunPaths) -> dict[Name, tuple[Recorded, ...]]:
    """Read what plugins recorded of their own processes, by application and executor."""
    found: dict[Name, tuple[Recorded, ...]] = {}
    for name, record in _records(paths):
        found[name] = (*found.get(name, ()), record)
    return found


def _records(paths: RunPaths) -> Iterator[tuple[Name, Recorded]]:
    for file in paths.plugin_files():
        said = first_process(file)
        app, executor, host = (said.get(name) for name in ("app_id", "executor_id", "host"))
        if all(isinstance(one, str) and one for one in (app, executor, host)):
            pid, began_ms = said.get("pid"), said.get("jvm_start_wall_ms")
            yield (
                (str(app), str(executor)),
                Recorded(
                    str(host),
                    pid if type(pid) is int else None,
                    began_ms * 10**6 if type(began_ms) is int and began_ms > 0 else None,
                ),
            )
