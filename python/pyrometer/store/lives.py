"""From when to when each application lived, also where its event log was cut.

A log without its head knows less and less the further one looks back from its first event: of the
tasks before it, only those that were still under way. So the application counts from that event
on, and time before it is nobody's. A log without its tail counts up to its last event. Only jobs,
stages, tasks and SQL executions bear witness: when executors came and went says nothing about what
ran, and is from another clock where logs were put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyrometer.store.tables import Tables

# A task begins and ends after its stage was submitted, by the same clock; a second for rounding
# and for a clock that was set. What lies elsewhere is from another log, or was edited.
APART = (
    "t.launch_wall_ns < s.submit_wall_ns - 1000000000"
    " OR t.launch_wall_ns > s.complete_wall_ns + 1000000000"
)

_TASKS = "tasks t LEFT JOIN stages s USING (app_index, stage_id, stage_attempt)"

SOUND_TASKS = f"{_TASKS} WHERE ({APART}) IS NOT TRUE"
"""Task attempts ``t`` whose times can be believed: what follows FROM."""

# A completed stage whose tasks are not all there began before the log does: of it, ends of tasks
# are certain, but neither when it was submitted nor when the first of them was launched.
_WORK = f"""
WITH ran AS (
  SELECT t.app_index, t.stage_id, t.stage_attempt,
    count(DISTINCT t.task_index) FILTER (t.status = 'success') AS done,
    min(t.launch_wall_ns) FILTER (sound) AS launched,
    min(coalesce(t.finish_wall_ns, t.launch_wall_ns)) FILTER (sound) AS first_event,
    max(coalesce(t.finish_wall_ns, t.launch_wall_ns)) FILTER (sound) AS last_event
  FROM (SELECT t.*, ({APART}) IS NOT TRUE AS sound FROM {_TASKS}) t GROUP BY ALL),
staged AS (
  SELECT app_index, s.submit_wall_ns AS submitted, s.complete_wall_ns AS completed, r.*,
    (s.submit_wall_ns IS NOT NULL AND s.complete_wall_ns IS NULL)
    OR r.done >= s.planned_tasks_count AS whole
  FROM stages s FULL JOIN ran r USING (app_index, stage_id, stage_attempt)),
seen(app_index, first, last) AS (
  SELECT app_index,
    CASE WHEN whole THEN least(submitted, launched) ELSE least(first_event, completed) END,
    greatest(submitted, completed, last_event)
  FROM staged
  UNION ALL SELECT app_index, least(submit_wall_ns, end_wall_ns),
    greatest(submit_wall_ns, end_wall_ns) FROM jobs
  UNION ALL SELECT app_index, least(start_wall_ns, end_wall_ns),
    greatest(start_wall_ns, end_wall_ns) FROM sql_executions)
SELECT app_index, min(first) AS first, max(last) AS last FROM seen GROUP BY app_index
"""

LIVES = f"""
SELECT a.*,
  coalesce(nullif(a.start_wall_ns, 0), work.first, nullif(a.end_wall_ns, 0)) AS born_wall_ns,
  coalesce(nullif(a.end_wall_ns, 0), greatest(work.last, nullif(a.start_wall_ns, 0)))
    AS gone_wall_ns
FROM apps a LEFT JOIN ({_WORK}) work USING (app_index)
"""
"""Rows of ``apps`` with ``born_wall_ns`` and ``gone_wall_ns``: for SQL, in parentheses.

Both are ``NULL`` where nothing is known of the application's work.
"""


def define_lives(tables: Tables) -> None:
    """Keep the same as table ``lives``: each query of `LIVES` reads all tasks."""
    if "lives" not in tables.defined:
        tables.define("lives", LIVES)


def copy_lives(of_run: Tables, own: Tables) -> None:
    """Keep the same table where only a part of the run's tasks is read: as the whole run has it."""
    define_lives(of_run)
    rows = of_run.query("SELECT app_index, born_wall_ns, gone_wall_ns FROM lives")
    names = ("app_index", "born_wall_ns", "gone_wall_ns")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    own.keep("lives_of_run", dict.fromkeys(names, "BIGINT"), columns)
    own.define(
        "lives",
        "SELECT a.*, l.born_wall_ns, l.gone_wall_ns FROM apps a LEFT JOIN lives_of_run l"
        " USING (app_index)",
    )
