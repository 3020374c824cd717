"""What a run has seen of the clocks of its hosts: messages with the driver, and wall clocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrometer.hosts.messages import Messages, Times
from pyrometer.hosts.wall import WallClock
from pyrometer.store.lives import SOUND_TASKS
from pyrometer.store.ping_lines import read_pings
from pyrometer.store.run import Run

LOG_GRAIN_NS = 1_000_000
"""Times of the event log are cut to milliseconds."""

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


@dataclass(frozen=True)
class Seen:
    """Clocks of a run's hosts.

    Attributes
    ----------
    driver_host : str or None
        The host whose clock is the common one; ``None`` where no driver was recorded, or drivers
        on several hosts.
    hosts : tuple of str
        Every host with records on its monotonic clock, in order.
    messages : dict of str to Messages
        Of every host but the driver's that exchanged any with it.
    walls : dict of str to WallClock
        Of every host with pairs of readings.
    unreadable_count : int
        Records of round trips that could not be read.
    """

    driver_host: str | None
    hosts: tuple[str, ...]
    messages: dict[str, Messages]
    walls: dict[str, WallClock]
    unreadable_count: int = 0


def seen(run: Run) -> Seen:
    """Gather what a run's tables and plugin files say of its hosts' clocks."""
    hosts = tuple(
        name
        for (name,) in run.tables.query("SELECT DISTINCT host FROM processes ORDER BY host")
        if name
    )
    walls = {
        host: _wall(run, host)
        for (host,) in run.tables.query("SELECT DISTINCT host FROM clock_pairs ORDER BY host")
        if host
    }
    drivers = run.tables.query("SELECT DISTINCT host FROM processes WHERE role = 'driver'")
    if len(drivers) != 1 or not drivers[0][0]:
        return Seen(None, hosts, {}, walls)
    driver = str(drivers[0][0])
    messages: dict[str, Messages] = {}
    if driver in walls:
        messages = _of_tasks(run, driver, walls[driver])
    unreadable = 0
    # All of one host have one clock: the driver's own needs no message.
    for host, pings in read_pings(run.paths.plugin_files()).items():
        unreadable += pings.unreadable_count
        if host != driver and pings.times:
            trips = Messages.of_round_trips(*np.array(pings.times, np.int64).T)
            messages[host] = messages.get(host, Messages.none()) + trips
    return Seen(driver, hosts, messages, walls, unreadable)


def _wall(run: Run, host: str) -> WallClock:
    mono, wall = _integers(run, "mono_ns, wall_ns FROM clock_pairs WHERE host = ?", [host])
    return WallClock(mono, wall)


def _of_tasks(run: Run, driver: str, wall: WallClock) -> dict[str, Messages]:
    """Messages that tasks are: launched before they start, and finished after they end."""
    run.tables.define("task_messages", _TASKS, [driver, driver])
    found = {}
    for (host,) in run.tables.query("SELECT DISTINCT host FROM task_messages ORDER BY host"):
        launched, started = _integers(
            run,
            "launched, started FROM task_messages"
            " WHERE host = ? AND launched IS NOT NULL AND started IS NOT NULL",
            [host],
        )
        ended, finished = _integers(
            run,
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


def _integers(run: Run, query: str, parameters: list[object]) -> list[Times]:
    columns = run.tables.columns(f"SELECT {query}", parameters)
    return [np.asarray(np.ma.getdata(values), np.int64) for values in columns.values()]
