"""Slots over time, from the event log: how many there were, and why some were idle.

One sweep over all starts and ends, in arrays: seven sums over a window in the database took four
times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.accounts.ledger.events import RETURNED, define_events
from pyrometer.core.errors import UsageError
from pyrometer.window.scope import Scope

CAUSES = ("driver", "executor_startup", "waiting_to_launch", "too_few_tasks", "stage_tail")
MOST = 2**62
"""Nanoseconds of slots that can be added up."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Slots:
    """Slot time of a window.

    Attributes
    ----------
    total_ns : int
        ∫ registered slots dt.
    busy_ns : int
        ∫ task attempts under way dt; more than the slots where attempts overlap.
    idle_ns : dict of str to int
        ∫ idle slots dt by cause (``CAUSES``).
    overlap_ns : int
        ∫ attempts beyond the slots dt: clocks or logs that disagree.
    held_ns : int
        Of slots idle while tasks waited to be launched: while a stage held tasks back for a place
        near their data, at most.
    """

    total_ns: int
    busy_ns: int
    idle_ns: dict[str, int]
    overlap_ns: int
    held_ns: int = 0


_SLOTS = """
SELECT since, until, greatest(since, least(coalesce(used, until), until)) AS used, n::BIGINT AS n
FROM l_executors WHERE app_index = $1
"""
_STAGES = """
SELECT since, until, planned::BIGINT AS planned, (planned - launches + returned)::BIGINT AS rest
FROM l_stages WHERE app_index = $1
"""
_ATTEMPTS = """
SELECT since, until, again, speculative FROM l_work WHERE app_index = $1
"""


# From the last launch of a stage at a better level to each at a worse one; a task that ran anywhere
# had a place that it preferred, so that it was held back from the submission at most.
_HELD = """
WITH launches AS (
  SELECT t.stage_id, t.stage_attempt, t.launch_wall_ns AS launched, s.submit_wall_ns AS submitted,
    list_position(['PROCESS_LOCAL', 'NODE_LOCAL', 'RACK_LOCAL', 'ANY'], t.locality) AS level
  FROM tasks t JOIN stages s USING (app_index, stage_id, stage_attempt)
  WHERE t.app_index = $1 AND NOT t.speculative AND t.launch_wall_ns >= s.submit_wall_ns),
nearer AS (
  SELECT launched, level, submitted, max(launched) FILTER (level < 2) OVER earlier AS process,
    max(launched) FILTER (level < 3) OVER earlier AS node,
    max(launched) FILTER (level < 4) OVER earlier AS rack
  FROM launches WHERE level > 0
  WINDOW earlier AS (PARTITION BY stage_id, stage_attempt ORDER BY launched, level
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
SELECT since, until FROM (
  SELECT CASE level WHEN 2 THEN process WHEN 3 THEN node
      ELSE coalesce(rack, submitted) END AS since,
    launched AS until
  FROM nearer WHERE level > 1) WHERE since IS NOT NULL
"""


class _Changes:
    """Changes of levels at instants."""

    def __init__(self) -> None:
        self._found: list[tuple[str, Ints, Ints]] = []

    def add(self, at: NDArray[Any], **changes: Ints | int) -> None:
        """Change levels at instants; those that are not known change nothing."""
        known = ~np.ma.getmaskarray(at)
        when = np.ma.getdata(at)[known].astype(np.int64)
        for name, change in changes.items():
            each = np.broadcast_to(np.asarray(change, dtype=np.int64), known.shape)[known]
            self._found.append((name, when, each))

    def levels(self) -> tuple[Ints, dict[str, Ints]]:
        """Give how long each stretch between two instants is, and the levels in it."""
        by_instants: dict[int, Ints] = {id(at): at for _, at, _ in self._found}
        every = np.concatenate([np.zeros(0, dtype=np.int64), *by_instants.values()])
        times, places = np.unique(every, return_inverse=True)
        ends = np.cumsum([at.size for at in by_instants.values()])
        place = dict(
            zip(by_instants, np.split(places, ends[:-1]) if ends.size else [], strict=True)
        )
        found = {name: np.zeros(times.size, dtype=np.int64) for name, _, _ in self._found}
        for name, at, change in self._found:
            np.add.at(found[name], place[id(at)], change)
        for total in found.values():
            np.cumsum(total, out=total)
        if times.size and _whole(times, found) > MOST:
            raise UsageError(
                "values are too large to compute with (time of slots)",
                "restore the damaged streams from their source, and ingest them again",
            )
        return np.diff(times), {name: total[:-1] for name, total in found.items()}


def _whole(times: Ints, levels: dict[str, Ints]) -> int:
    most = max(int(np.abs(total).max()) for total in levels.values())
    return (int(times[-1]) - int(times[0])) * max(1, most)


def slots_over_time(scope: Scope) -> Slots:
    """Sweep over the starts and ends of each application."""
    define_events(scope.tables)
    total = busy = overlap = held = 0
    idle = dict.fromkeys(CAUSES, 0)
    for (app,) in scope.tables.query("SELECT app_index FROM lives ORDER BY app_index"):
        dt, levels = _levels(scope, int(app))
        inside = levels["inside"] > 0
        dt = dt[inside]
        slots, fresh, run, active, planned, pending = (
            levels[name][inside]
            for name in ("slots", "fresh", "run", "active", "planned", "pending")
        )
        total += int((slots * dt).sum())
        busy += int((run * dt).sum())
        overlap += int((np.maximum(run - slots, 0) * dt).sum())
        free = np.maximum(slots - run, 0)
        starting = np.minimum(free, np.maximum(fresh, 0)) * dt
        free *= dt
        driver = active <= 0
        waits = ~driver & (pending > 0)
        few = ~driver & ~waits & (planned < slots)
        idle["driver"] += int(free[driver].sum())
        idle["executor_startup"] += int(starting[waits].sum())
        idle["waiting_to_launch"] += int((free - starting)[waits].sum())
        held += int((free - starting)[waits & (levels["held"][inside] > 0)].sum())
        idle["too_few_tasks"] += int(free[few].sum())
        idle["stage_tail"] += int(free[~(driver | waits | few)].sum())
    return Slots(total_ns=total, busy_ns=busy, idle_ns=idle, overlap_ns=overlap, held_ns=held)


def _levels(scope: Scope, app: int) -> tuple[Ints, dict[str, Ints]]:
    """Give how long each stretch is, and the levels of an application in it.

    Levels are slots, fresh (slots of executors that have not yet launched a task), run (attempts
    under way), active (stages), planned and pending (their tasks in all, and not yet launched),
    held (launches that a stage put off for a better place), and inside (the window). The second end
    of an attempt whose output was lost (again) puts its task back, and ran no time.
    """
    executors, stages, attempts, returned = (
        scope.tables.columns(sql, [app]) for sql in (_SLOTS, _STAGES, _ATTEMPTS, RETURNED)
    )
    found = _Changes()
    n = np.ma.getdata(executors["n"])
    found.add(executors["since"], slots=n, fresh=n)
    found.add(executors["until"], slots=-n)
    found.add(executors["used"], fresh=-n)
    ran = ~np.ma.getdata(attempts["again"])
    first = np.where(np.ma.getdata(attempts["speculative"])[ran], 0, -1)
    found.add(attempts["since"][ran], run=1, pending=first)
    found.add(attempts["until"][ran], run=-1)
    found.add(returned["at"], pending=1)
    planned, rest = (np.ma.getdata(stages[name]) for name in ("planned", "rest"))
    found.add(stages["since"], active=1, planned=planned, pending=planned)
    found.add(stages["until"], active=-1, planned=-planned, pending=-rest)
    held = scope.tables.columns(_HELD if _on_cluster(scope, app) else f"{_HELD} AND false", [app])
    found.add(held["since"], held=1)
    found.add(held["until"], held=-1)
    for interval in scope.window.intervals:
        found.add(np.array([interval.start_wall_ns]), inside=1)
        found.add(np.array([interval.end_wall_ns]), inside=-1)
    return found.levels()


def _on_cluster(scope: Scope, app: int) -> bool:
    """Whether tasks can be near their data or far from it."""
    hosts = "SELECT count(DISTINCT host) FROM executors WHERE app_index = ?"
    return bool(scope.tables.scalar(hosts, [app]) > 1)
