"""What executors and tasks did on each host of a window, and how uneven the hosts are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyrometer.accounts.hosts.schema import Hosts, HostTasks
from pyrometer.accounts.hosts.skew import skew
from pyrometer.accounts.hosts.words import uneven
from pyrometer.accounts.ledger.host_slots import host_slots, several_hosts
from pyrometer.accounts.ledger.slot_view import slots_known
from pyrometer.accounts.schema import Failed
from pyrometer.accounts.spark import TASK_TOTALS, nothing
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.strata import ratios_to_others
from pyrometer.store.sql.text import literal
from pyrometer.window.scope import Scope

MOST_HOSTS = 100
"""Hosts that are listed, and whose task times are compared: those with most task time."""

_EXECUTORS = """
SELECT p.host, count(*) AS executors_count,
  count(*) FILTER (e.remove_wall_ns <= (SELECT max(end_wall_ns) FROM w)) AS removed,
  CASE WHEN bool_and(e.cores_count > 0) THEN sum(e.cores_count)::BIGINT END AS cores,
  CASE WHEN bool_and(e.max_memory_bytes IS NOT NULL) THEN sum(e.max_memory_bytes)::BIGINT END
FROM executors e JOIN h_places p USING (app_index, executor_id) JOIN lives l USING (app_index)
WHERE (e.cores_count > 0 OR e.executor_id <> 'driver') AND EXISTS (SELECT 1 FROM w
  WHERE coalesce(e.add_wall_ns, l.born_wall_ns, w.start_wall_ns) < w.end_wall_ns
    AND coalesce(e.remove_wall_ns, l.gone_wall_ns, w.end_wall_ns) > w.start_wall_ns)
GROUP BY p.host
"""
_TASKS = "w_tasks t JOIN h_places p USING (app_index, executor_id)"
_TOTALS = ", ".join(f"({sql})::BIGINT AS {name}" for name, sql in TASK_TOTALS.items())
_SUMS = f"""
SELECT host, which, {_TOTALS} FROM (
  SELECT p.host, t.* EXCLUDE (host),
    CASE t.status WHEN 'success' THEN 'success' ELSE 'failed' END AS which
  FROM {_TASKS} WHERE t.status IN ('success', 'failed', 'killed'))
WHERE host IN ($hosts) GROUP BY ALL
"""
# The first tasks that ran in the slots of each executor, which load code, are not compared.
_LOGARITHMS = """
SELECT dense_rank() OVER (ORDER BY app_index, stage_id, stage_attempt) - 1 AS stratum, host,
  count(*)::DOUBLE AS n, sum(x) AS total, sum(x * x) AS squares
FROM (SELECT t.app_index, t.stage_id, t.stage_attempt, t.task_attempt_id, p.host, t.status,
    ln(greatest(t.finish_wall_ns - t.launch_wall_ns, 1)) AS x,
    row_number() OVER (PARTITION BY t.app_index, t.executor_id
      ORDER BY t.launch_wall_ns, t.task_attempt_id) > coalesce(e.n, 1) AS is_warm
  FROM run_tasks t JOIN h_places p USING (app_index, executor_id)
  LEFT JOIN l_executors e USING (app_index, executor_id)
  WHERE t.reason IS DISTINCT FROM 'Resubmitted')
SEMI JOIN w_tasks USING (app_index, stage_id, stage_attempt, task_attempt_id)
WHERE x IS NOT NULL AND is_warm AND status = 'success' AND host IN ($hosts)
GROUP BY app_index, stage_id, stage_attempt, host
"""


def hosts(scope: Scope) -> Hosts:
    """Account for the hosts of executors in the window; of one host, for none."""
    slots = host_slots(scope) if several_hosts(scope) else {}
    if len(slots) < 2:
        return Hosts()
    names = list(slots)[:MOST_HOSTS]
    rows = {name: HostTasks(host=name, totals=_none(), failed=Failed(totals=_none()))
            for name in slots}  # fmt: skip
    for name, count, removed, cores, memory in scope.tables.query(_EXECUTORS):
        if name in rows:
            one = rows[name]
            one.executors_count, one.removed_executors_count = count, removed
            one.cores_count, one.storage_memory_bytes = cores, memory
    known = slots_known(scope)
    for name, one in rows.items():
        found = slots[name]
        one.task_ns = found.attempts_ns
        if known:
            one.slots_count, one.slots_ns = found.count, found.total_ns
            one.used_ns, one.idle_ns = found.busy_ns, found.idle_ns
    for record in scope.tables.records(_of(_SUMS, names)):
        one, which = rows[record.pop("host")], record.pop("which")
        (one.totals if which == "success" else one.failed.totals).update(record)
    for name, ratio in zip(names, _time_ratios(scope, names), strict=True):
        rows[name].task_time_ratio = ratio
    every = list(rows.values())
    compared = skew(scope, every)
    return Hosts(
        hosts=every[: len(names)], hosts_count=len(every), skew=compared,
        uneven=uneven(every, compared),
    )  # fmt: skip


def _none() -> dict[str, int | None]:
    return {name: value for name, value in nothing().items() if name in TASK_TOTALS}


def _of(sql: str, names: Sequence[str]) -> str:
    return sql.replace("$hosts", ", ".join(map(literal, names)))


def _time_ratios(scope: Scope, names: Sequence[str]) -> list[Estimate | None]:
    found: dict[str, Any] = scope.tables.columns(_of(_LOGARITHMS, names))
    number = {name: place for place, name in enumerate(names)}
    group = np.array([number[str(name)] for name in found["host"]], dtype=np.int64)
    count, total, squares = (
        np.asarray(found[name], dtype=np.float64) for name in ("n", "total", "squares")
    )
    stratum = np.asarray(found["stratum"], dtype=np.int64)
    return ratios_to_others(stratum, group, count, total, squares, len(names))
