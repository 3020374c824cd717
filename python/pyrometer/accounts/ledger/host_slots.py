"""Slots and task attempts by host, from the event log: what there was, what ran, and what idled.

==============  ===================================================================
``h_places``    the host of each executor: as it registered, else as its tasks say
``h_slots``     by host: slots × wall in the window, busy, idle and overlapping
==============  ===================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from pyrometer.accounts.ledger.events import define_events
from pyrometer.store.tables import Tables
from pyrometer.window.scope import Scope


@dataclass(frozen=True)
class HostSlots:
    """Slot time of one host in a window (ns).

    Attributes
    ----------
    count : int
        Most slots at one time.
    total_ns, busy_ns, idle_ns : int
        ∫ slots dt, ∫ slots that ran an attempt dt, and the rest.
    overlap_ns : int
        ∫ attempts beyond the slots dt: the driver notes an end after it gave the slot away.
    attempts_ns : int
        ∫ attempts under way dt.
    """

    count: int
    total_ns: int
    busy_ns: int
    idle_ns: int
    overlap_ns: int
    attempts_ns: int

    @classmethod
    def together(cls, several: Iterable[HostSlots]) -> HostSlots:
        """Add up those of several hosts; most slots at one time are then at most so many."""
        rows = [astuple(one) for one in several]
        return cls(*(sum(column) for column in zip(*rows, strict=True))) if rows else cls(*[0] * 6)


_PLACES = """
SELECT app_index, executor_id, coalesce(min(registered), min(ran)) AS host FROM (
  SELECT app_index, executor_id, host AS registered, NULL AS ran FROM executors
  UNION ALL
  SELECT DISTINCT app_index, executor_id, NULL, host FROM tasks)
WHERE executor_id IS NOT NULL GROUP BY ALL HAVING host IS NOT NULL
"""
_SLOTS = """
WITH changes AS (
  SELECT host, moment, sum(slots)::BIGINT AS slots, sum(run)::BIGINT AS run FROM (
    SELECT host, unnest([since, until]) AS moment, unnest([n, -n]) AS slots, 0 AS run
    FROM l_executors JOIN h_places USING (app_index, executor_id)
    UNION ALL
    SELECT p.host,
      unnest([t.launch_wall_ns, coalesce(t.finish_wall_ns, l.gone_wall_ns)]), 0, unnest([1, -1])
    FROM tasks t JOIN lives l USING (app_index) JOIN h_places p USING (app_index, executor_id)
    WHERE t.launch_wall_ns IS NOT NULL AND t.reason IS DISTINCT FROM 'Resubmitted')
  WHERE moment IS NOT NULL GROUP BY ALL),
levels AS (
  SELECT host, moment AS since, lead(moment) OVER own AS until, sum(slots) OVER own AS slots,
    sum(run) OVER own AS run
  FROM changes WINDOW own AS (PARTITION BY host ORDER BY moment)),
inside AS (
  SELECT host, since, slots, run,
    least(until, w.end_wall_ns) - greatest(since, w.start_wall_ns) AS dt
  FROM levels JOIN w ON since < w.end_wall_ns AND until > w.start_wall_ns)
SELECT host, max(slots)::BIGINT AS count, sum(slots * dt)::BIGINT AS total,
  sum(least(run, slots) * dt)::BIGINT AS busy, sum(greatest(slots - run, 0) * dt)::BIGINT AS idle,
  sum(greatest(run - slots, 0) * dt)::BIGINT AS overlap, sum(run * dt)::BIGINT AS attempts
FROM inside GROUP BY host HAVING total > 0 OR attempts > 0
"""


# A driver that runs no tasks has no slots.
_NAMES = """
SELECT count(DISTINCT host) FROM (
  SELECT host FROM executors WHERE cores_count > 0 OR executor_id <> 'driver'
  UNION ALL SELECT unnest([min(host), max(host)]) FROM tasks)
"""


def define_places(tables: Tables) -> None:
    """Define ``h_places`` of the whole run, once for each connection."""
    if "h_places" not in tables.defined:
        tables.define("h_places", _PLACES)


def several_hosts(scope: Scope) -> bool:
    """Whether the run may have executors on several hosts: of one, nothing needs a sweep."""
    return bool(scope.tables.scalar(_NAMES) > 1)


def host_slots(scope: Scope) -> dict[str, HostSlots]:
    """Sweep over the starts and ends on each host; hosts with neither slots nor tasks have none.

    Of a host whose executors report no cores, or not all that ran tasks, ``count`` is 0 or too low:
    whether slots are known at all says `pyrometer.accounts.ledger.slot_view.slots`.
    """
    if "h_slots" not in scope.tables.of_window:
        define_events(scope.tables)
        define_places(scope.tables)
        scope.tables.define("h_slots", _SLOTS)
        scope.tables.of_window.add("h_slots")
    return {
        host: HostSlots(*map(int, numbers))
        for host, *numbers in scope.tables.query(
            "SELECT host, count, total, busy, idle, overlap, attempts FROM h_slots"
            " ORDER BY attempts DESC, host"
        )
    }
