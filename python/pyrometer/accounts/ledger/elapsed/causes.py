"""What held the path up at each instant of it: tasks, slots, executors, the driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyrometer.accounts.ledger.elapsed.path import PathPart
from pyrometer.accounts.ledger.slot_view import EVENTS
from pyrometer.window.scope import Scope

EXECUTORS, DRIVER = "executors", "driver"
WAITING = "executor_startup"


@dataclass
class Causes:
    """Time of one part of the path by cause.

    Attributes
    ----------
    times : dict of str to int
        Nanoseconds by cause; of a gap, ``executors`` or ``driver``.
    slots : int or None
        The most slots there were.
    busy, own : int
        Task time on full slots, and that of the stage on the path; in nanoseconds.
    """

    times: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    slots: int | None = None
    busy: int = 0
    own: int = 0


def causes_of(scope: Scope, parts: Sequence[PathPart]) -> list[Causes]:
    """Say of each part of the path what it waited for."""
    columns: dict[str, Sequence[int | None]] = {
        "app_index": [part.app for part in parts],
        "number": list(range(len(parts))),
        "since": [part.start for part in parts],
        "until": [part.end for part in parts],
        "stage_id": [part.stage.stage_id if part.stage else None for part in parts],
        "stage_attempt": [part.stage.attempt if part.stage else None for part in parts],
    }
    scope.tables.keep("elapsed_path", dict.fromkeys(columns, "BIGINT"), columns)
    found = [Causes() for _ in parts]
    for number, why, length, slots, busy, own in scope.tables.query(_LEVELS):
        part, one = parts[number], found[number]
        if part.stage is None:
            why = EXECUTORS if why == WAITING and part.where == "before_executors" else DRIVER
        one.times[why] += length
        if slots is not None:
            one.slots = max(one.slots or 0, slots)
        if why == "slots_busy":
            one.busy, one.own = one.busy + busy, one.own + own
    return found


# At each instant of the path: slots of the whole application, those of executors that have not
# launched a task yet (fresh) and attempts under way (run); of the stage on the path its attempts
# under way and its tasks not yet launched (own, pending). While tasks wait and some slots are free,
# the busy share of the slots counts as busy: one free slot of a hundred holds nothing up. Slots are
# unknown where all executors registered after the first task, tasks where a stage succeeded without
# any.
_LEVELS = f"""
WITH {EVENTS},
began AS (SELECT app_index, min(since) AS first FROM work GROUP BY ALL),
known AS (SELECT p.app_index, min(p.since) <= coalesce(min(b.first), min(p.since)) AS sized
  FROM places p LEFT JOIN began b USING (app_index) GROUP BY p.app_index),
changes(app_index, t, slots, fresh, run) AS (
  SELECT app_index, since, n, n, 0 FROM places
  UNION ALL SELECT app_index, until, -n, 0, 0 FROM places
  UNION ALL SELECT app_index, greatest(since, least(coalesce(used, until), until)), 0, -n, 0
    FROM places
  UNION ALL SELECT app_index, since, 0, 0, 1 FROM work WHERE NOT again
  UNION ALL SELECT app_index, until, 0, 0, -1 FROM work WHERE NOT again
  UNION ALL SELECT app_index, since, 0, 0, 0 FROM elapsed_path
  UNION ALL SELECT app_index, until, 0, 0, 0 FROM elapsed_path),
instants AS (SELECT app_index, t, sum(slots) AS slots, sum(fresh) AS fresh, sum(run) AS run
  FROM changes WHERE t IS NOT NULL GROUP BY ALL),
levels AS (
  SELECT app_index, t, sum(slots) OVER upto AS slots, sum(fresh) OVER upto AS fresh,
    sum(run) OVER upto AS run,
    lead(t) OVER (PARTITION BY app_index ORDER BY t) - t AS dt
  FROM instants WINDOW upto AS (PARTITION BY app_index ORDER BY t)),
on_path AS (
  SELECT p.number, p.app_index, p.stage_id, p.stage_attempt, l.t, l.slots, l.fresh, l.run, l.dt
  FROM levels l ASOF JOIN elapsed_path p ON l.app_index = p.app_index AND l.t >= p.since
  WHERE l.t < p.until AND l.dt > 0),
chosen AS (SELECT DISTINCT app_index, stage_id, stage_attempt FROM elapsed_path
  WHERE stage_id IS NOT NULL),
own_changes(app_index, stage_id, stage_attempt, t, own, pending) AS (
  SELECT app_index, stage_id, stage_attempt, since, 1, CASE WHEN speculative THEN 0 ELSE -1 END
    FROM work SEMI JOIN chosen USING (app_index, stage_id, stage_attempt) WHERE NOT again
  UNION ALL SELECT app_index, stage_id, stage_attempt, until, -1, 0
    FROM work SEMI JOIN chosen USING (app_index, stage_id, stage_attempt) WHERE NOT again
  UNION ALL SELECT w.app_index, w.stage_id, w.stage_attempt, least(w.until, s.until), 0, 1
    FROM work w JOIN staged s USING (app_index, stage_id, stage_attempt)
    WHERE NOT w.speculative AND w.status IN ('failed', 'killed')
  UNION ALL SELECT app_index, stage_id, stage_attempt, since, 0, planned
    FROM staged SEMI JOIN chosen USING (app_index, stage_id, stage_attempt)),
own_levels AS (
  SELECT app_index, stage_id, stage_attempt, t, sum(own) OVER upto AS own,
    sum(pending) OVER upto AS pending
  FROM (SELECT app_index, stage_id, stage_attempt, t, sum(own) AS own, sum(pending) AS pending
    FROM own_changes WHERE t IS NOT NULL GROUP BY ALL)
  WINDOW upto AS (PARTITION BY app_index, stage_id, stage_attempt ORDER BY t)),
seen AS (
  SELECT o.number, o.slots, o.fresh, o.run, o.dt, o.stage_id, coalesce(k.sized, false) AS sized,
    coalesce(w.own, 0) AS own, coalesce(w.pending, 0) AS pending, s.planned,
    s.launches = 0 AND s.planned > 0 AND d.status = 'succeeded' AS unseen
  FROM on_path o
  ASOF LEFT JOIN own_levels w ON o.app_index = w.app_index AND o.stage_id = w.stage_id
    AND o.stage_attempt = w.stage_attempt AND o.t >= w.t
  LEFT JOIN known k ON k.app_index = o.app_index
  LEFT JOIN staged s ON s.app_index = o.app_index AND s.stage_id = o.stage_id
    AND s.stage_attempt = o.stage_attempt
  LEFT JOIN stages d ON d.app_index = o.app_index AND d.stage_id = o.stage_id
    AND d.stage_attempt = o.stage_attempt),
named AS (
  SELECT *, CASE WHEN stage_id IS NULL THEN CASE WHEN sized AND slots <= 0 THEN 'executor_startup'
      ELSE 'driver' END
    WHEN unseen AND own <= 0 THEN 'running'
    WHEN own <= 0 AND pending <= 0 THEN 'finishing'
    WHEN NOT sized THEN 'running'
    WHEN slots <= 0 AND own <= 0 THEN 'executor_startup'
    WHEN run >= slots THEN 'slots_busy'
    WHEN pending > 0 AND fresh >= slots - run THEN 'executor_startup'
    WHEN pending > 0 THEN 'waiting_to_launch'
    WHEN planned < slots THEN 'too_few_tasks'
    ELSE 'stage_tail' END AS why,
  FROM seen),
shared AS (
  SELECT *, CASE WHEN stage_id IS NOT NULL AND slots > 0
      AND why IN ('executor_startup', 'waiting_to_launch') THEN dt * run // slots
    ELSE 0 END AS busy_dt
  FROM named),
parts AS (
  SELECT number, why, dt - busy_dt AS dt, slots, run, own FROM shared
  UNION ALL SELECT number, 'slots_busy', busy_dt, slots, run, own FROM shared WHERE busy_dt > 0)
SELECT number, why, sum(dt)::BIGINT AS length, max(slots)::BIGINT AS slots,
  sum(run * dt)::BIGINT AS busy, sum(own * dt)::BIGINT AS own
FROM parts GROUP BY ALL ORDER BY ALL
"""
