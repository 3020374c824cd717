"""Task attempts of the stages that can be scheduled, one row each, in order.

An attempt whose result was lost later has a second row in the log: nearly no log has one. So rows
are read as they are, and put together in the database only where an attempt has two.

A task has its slot until it has said where its result is: the driver fetches a large one from
there, and launches the next task meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.store.tables import Tables

FROM = """
FROM tasks t JOIN sim_stages s USING (stage_id)
WHERE t.app_index = $1 AND t.stage_attempt = s.attempt AND s.tasks_count > 0
  AND t.launch_wall_ns IS NOT NULL
"""
"""Attempts ``t`` of the stages ``s`` of application $1."""

# Scheduler delay is Spark's: core/src/main/scala/org/apache/spark/status/AppStatusUtils.scala.
_ROWS = f"""
SELECT s.number::BIGINT AS number, t.task_attempt_id, t.task_index::BIGINT AS task_index,
  t.attempt::BIGINT AS attempt, t.speculative, t.status <> 'success' AS wasted,
  greatest(0, coalesce(least(t.getting_result_wall_ns, t.finish_wall_ns), s.complete_ns)
    - t.launch_wall_ns) AS duration,
  CASE WHEN t.has_metrics THEN t.finish_wall_ns - t.launch_wall_ns
    - coalesce(t.executor_run_time_ns, 0) - coalesce(t.executor_deserialize_time_ns, 0)
    - coalesce(t.result_serialization_time_ns, 0)
    - coalesce(t.finish_wall_ns - t.getting_result_wall_ns, 0) END AS delay,
  CASE t.locality WHEN 'NODE_LOCAL' THEN 1 WHEN 'RACK_LOCAL' THEN 2 WHEN 'ANY' THEN 3
    ELSE 0 END AS level
{FROM}
"""
_TOGETHER = f"""
SELECT number, task_attempt_id, any_value(task_index) AS task_index,
  any_value(attempt) AS attempt, bool_or(speculative) AS speculative,
  bool_or(wasted) AS wasted, max(duration) AS duration, max(delay) AS delay,
  any_value(level) AS level
FROM ({_ROWS}) GROUP BY number, task_attempt_id
"""
_SELECT = """
SELECT number, task_attempt_id, task_index, attempt, coalesce(speculative, true) AS speculative,
  coalesce(wasted, false)::UTINYINT AS wasted, duration::DOUBLE AS duration_ns,
  least(greatest(coalesce(delay, 0), 0), duration)::DOUBLE AS delay_ns, level::UTINYINT AS level
FROM ({rows})
"""


def in_order(number: Any, attempt_id: Any) -> tuple[NDArray[np.int64], bool]:
    """Give the order of attempts by stage and ID, and whether an attempt has several rows."""
    unknown = bool(np.ma.getmaskarray(attempt_id).any())
    number, attempt_id = np.ma.getdata(number), np.ma.filled(attempt_id, np.iinfo(np.int64).max)
    order = np.lexsort((attempt_id, number))
    same = (np.diff(number[order]) == 0) & (np.diff(attempt_id[order]) == 0)
    return order, unknown or bool(same.any())


def attempts(tables: Tables, app_index: int) -> dict[str, Any]:
    """Give columns of the attempts: times, level, whether wasted, and which one each retries."""
    found = tables.columns(_SELECT.format(rows=_ROWS), [app_index])
    order, twice = in_order(found["number"], found["task_attempt_id"])
    if twice:
        found = tables.columns(_SELECT.format(rows=_TOGETHER), [app_index])
        order, _ = in_order(found["number"], found["task_attempt_id"])
    columns = {name: values[order] for name, values in found.items()}
    columns["retry_of"] = _retry_of(columns)
    return columns


def _retry_of(columns: dict[str, Any]) -> NDArray[np.int32]:
    """Give the place in its stage of the attempt before, at the same task; -1 is none.

    Copies of running attempts are nobody's retries.
    """
    number, attempt_id = (np.ma.getdata(columns[n]) for n in ("number", "task_attempt_id"))
    found = np.full(number.size, -1, dtype=np.int32)
    known = ~np.ma.getdata(columns["speculative"]) & ~np.ma.getmaskarray(columns["task_index"])
    mine = np.flatnonzero(known)
    index = np.ma.getdata(columns["task_index"])[mine]
    attempt = np.ma.filled(columns["attempt"][mine], np.iinfo(np.int64).max)
    # Stages are in order already, and so are the places that a stable sort keeps.
    order = np.lexsort((attempt_id[mine], attempt, index, number[mine]))
    mine, index = mine[order], index[order]
    again = (np.diff(number[mine]) == 0) & (np.diff(index) == 0)
    first = np.searchsorted(number, number[mine[:-1]])
    found[mine[1:][again]] = (mine[:-1] - first)[again]
    return found
