"""What tables and plugin files say of the clocks of a run's hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from pyrometer.hosts.drivers import on_hosts
from pyrometer.hosts.messages import Messages, Times
from pyrometer.hosts.seen import Seen
from pyrometer.hosts.wall import WallClock
from pyrometer.store.axis.ping_lines import Pings, pings_of_apps, read_pings
from pyrometer.store.lives import SOUND_TASKS
from pyrometer.store.tables import Tables

LOG_GRAIN_NS = 1_000_000
"""Times of the event log are cut to milliseconds."""

HOSTS = " UNION ALL ".join(
    f"SELECT DISTINCT host FROM {table}"
    for table in ("processes", "clock_pairs", "spans", "thread_counters", "os_series")
)
"""Every host with records on its own monotonic clock."""

# Of a task that ended otherwise, the driver may know before the executor does: it was lost, or the
# task was given up. Attempts of one application have the same ids.
_TASKS = f"""
SELECT s.host, s.start_mono_ns AS started, t.launch_wall_ns AS launched,
  CASE WHEN s.status = 'success' AND t.status = 'success' THEN s.end_mono_ns END AS ended,
  t.finish_wall_ns AS finished
FROM spans s
JOIN processes p ON p.host = s.host AND p.pid = s.pid AND p.executor_id = s.executor_id
  AND s.start_mono_ns >= p.start_mono_ns
  AND s.start_mono_ns <= coalesce(p.end_mono_ns, s.start_mono_ns)
JOIN (SELECT app_id, min(app_index) AS app_index FROM apps GROUP BY app_id HAVING count(*) = 1) a
  USING (app_id)
JOIN (SELECT t.* FROM {SOUND_TASKS}) t ON t.app_index = a.app_index
  AND t.task_attempt_id = s.task_attempt_id AND t.executor_id = s.executor_id
  AND t.stage_id = s.stage_id AND t.stage_attempt = s.stage_attempt
WHERE s.host <> ? AND p.app_id IN (SELECT app_id FROM processes WHERE role = 'driver' AND host = ?)
"""


def seen(tables: Tables, plugin_files: Iterable[Path]) -> Seen:
    """Gather what a run's tables and plugin files say of its hosts' clocks.

    Parameters
    ----------
    tables : Tables
        The run's tables, with times as they were recorded.
    plugin_files : iterable of Path
        Its plugin records: of these, the round trips.
    """
    hosts = tuple(
        name
        for (name,) in tables.query(f"SELECT DISTINCT host FROM ({HOSTS}) ORDER BY host")
        if name
    )
    walls = {
        host: _wall(tables, host)
        for (host,) in tables.query("SELECT DISTINCT host FROM clock_pairs ORDER BY host")
        if host
    }
    drivers = _drivers(tables)
    if len(set(drivers.values())) > 1:
        of_drivers, unreadable = _of_several(tables, walls, drivers, plugin_files)
        return Seen(None, hosts, {}, walls, unreadable, of_drivers)
    rows = tables.query("SELECT DISTINCT host FROM processes WHERE role = 'driver'")
    if len(rows) != 1 or not rows[0][0]:
        return Seen(None, hosts, {}, walls)
    driver = str(rows[0][0])
    messages: dict[str, Messages] = {}
    if driver in walls:
        messages = _of_tasks(tables, driver, walls[driver])
    unreadable = 0
    # All of one host have one clock: the driver's own needs no message.
    for host, pings in read_pings(plugin_files).items():
        unreadable += pings.unreadable_count
        _add(messages, driver, host, pings)
    return Seen(driver, hosts, messages, walls, unreadable)


def _drivers(tables: Tables) -> dict[str, str]:
    """Give the host of the driver of each application; of several attempts on several, none."""
    rows = tables.query(
        "SELECT app_id, min(host) FROM processes WHERE role = 'driver' AND app_id IS NOT NULL"
        " AND host <> '' GROUP BY app_id HAVING count(DISTINCT host) = 1 ORDER BY app_id"
    )
    return {str(app): str(host) for app, host in rows}


def _of_several(
    tables: Tables,
    walls: Mapping[str, WallClock],
    drivers: Mapping[str, str],
    plugin_files: Iterable[Path],
) -> tuple[dict[str, dict[str, Messages]], int]:
    """Gather the messages of each of several drivers with hosts, and count what is unreadable."""
    found = {
        driver: _of_tasks(tables, driver, walls[driver]) if driver in walls else {}
        for driver in sorted(set(drivers.values()))
    }
    unreadable = 0
    for host, of_apps in pings_of_apps(plugin_files).items():
        for app, pings in of_apps.items():
            unreadable += pings.unreadable_count
            driver = drivers.get(app or "")
            if driver is not None:
                _add(found[driver], driver, host, pings)
    return found, unreadable


def _add(messages: dict[str, Messages], driver: str, host: str, pings: Pings) -> None:
    if host != driver and pings.times:
        trips = Messages.of_round_trips(*np.array(pings.times, np.int64).T)
        messages[host] = messages.get(host, Messages.none()) + trips


def on_their_hosts(found: Seen, host_of: Mapping[str, str]) -> Seen:
    """Put what pods have seen down to the hosts that they are on: these have one clock."""
    if not host_of:
        return found
    messages: dict[str, Messages] = {}
    walls: dict[str, WallClock] = {}
    driver = host_of.get(found.driver_host or "", found.driver_host)
    for name, own in found.messages.items():
        host = host_of.get(name, name)
        if host != driver:
            messages[host] = messages.get(host, Messages.none()) + own
    for name, clock in found.walls.items():
        host = host_of.get(name, name)
        walls[host] = clock + walls[host] if host in walls else clock
    hosts = tuple(sorted({host_of.get(name, name) for name in found.hosts}))
    of_drivers = on_hosts(found.of_drivers, lambda name: host_of.get(name, name))
    if len(of_drivers) == 1:
        [(driver, messages)] = ((name, dict(own)) for name, own in of_drivers.items())
    return replace(
        found, driver_host=driver, hosts=hosts, messages=messages, walls=walls,
        of_drivers=of_drivers,
    )  # fmt: skip


def _wall(tables: Tables, host: str) -> WallClock:
    mono, wall = _integers(tables, "mono_ns, wall_ns FROM clock_pairs WHERE host = ?", [host])
    return WallClock(mono, wall)


def _of_tasks(tables: Tables, driver: str, wall: WallClock) -> dict[str, Messages]:
    """Messages that tasks are: launched before they start, and finished after they end."""
    tables.define("task_messages", _TASKS, [driver, driver])
    found = {}
    for (host,) in tables.query("SELECT DISTINCT host FROM task_messages ORDER BY host"):
        launched, started = _integers(
            tables,
            "launched, started FROM task_messages"
            " WHERE host = ? AND launched IS NOT NULL AND started IS NOT NULL",
            [host],
        )
        ended, finished = _integers(
            tables,
            "ended, finished FROM task_messages"
            " WHERE host = ? AND ended IS NOT NULL AND finished IS NOT NULL",
            [host],
        )
        found[host] = Messages(
            wall.earliest_mono(launched),
            started,
            ended,
            wall.latest_mono(finished + LOG_GRAIN_NS),
        )
    return {host: messages for host, messages in found.items() if len(messages)}


def _integers(tables: Tables, query: str, parameters: list[object]) -> list[Times]:
    columns = tables.columns(f"SELECT {query}", parameters)
    return [np.asarray(np.ma.getdata(values), np.int64) for values in columns.values()]
