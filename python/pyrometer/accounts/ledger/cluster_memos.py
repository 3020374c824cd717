"""Memos of the slot view that only a cluster has: executors that were not there, and fetches.

Slots of executors that had not registered are in no total: of those that were asked for, this is
their time, by what became of them. What tasks waited for shuffle blocks is one number in the event
log; it is split by task, as far as a task read from one side alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyrometer.accounts.ledger.events import GIVEN_UP, define_events
from pyrometer.accounts.ledger.schema import Row
from pyrometer.core.json_text import parse_json
from pyrometer.core.units import counted, size
from pyrometer.window.scope import Scope

FATES = ("starting", "decommissioned", "lost", "not_granted")
DEFAULT_INSTANCES = 2
"""What Spark asks of YARN and Kubernetes where nobody says how many."""
_EVENT_LOG = "event log"
_MEANING = {
    "starting": "executors that were asked for and registered later",
    "decommissioned": "executors that Spark had decommissioned, and that none replaced",
    "lost": "executors that had been removed, and that none replaced",
    "not_granted": "executors that were asked for and never came",
}
_EXECUTORS = """
SELECT l.n::BIGINT AS n, l.since, l.until, e.remove_wall_ns IS NOT NULL AS removed,
  contains(lower(coalesce(e.remove_reason, '')), 'decommission') AS decommissioned
FROM l_executors l JOIN executors e USING (app_index, executor_id)
WHERE l.app_index = ? AND l.executor_id <> 'driver' AND l.since IS NOT NULL AND l.until IS NOT NULL
"""
# What dynamic allocation released by itself is no loss.
_GONE = f"""
SELECT CASE WHEN contains(why, 'decommission') THEN 'decommissioned' ELSE 'lost' END, count(*)
FROM (SELECT *, lower(coalesce(remove_reason, '')) AS why FROM executors) e
JOIN lives l USING (app_index)
WHERE app_index = ? AND executor_id <> 'driver' AND (remove_wall_ns < gone_wall_ns) IS NOT FALSE
  AND EXISTS (SELECT 1 FROM w WHERE remove_wall_ns BETWEEN w.start_wall_ns AND w.end_wall_ns)
  AND (contains(why, 'decommission')
    OR NOT ({" OR ".join(f"contains(why, '{word}')" for word in GIVEN_UP)}))
GROUP BY 1
"""
_FETCHES = """
SELECT CASE WHEN far > 0 AND near > 0 THEN 'both' WHEN far > 0 THEN 'remote' ELSE 'local' END,
  count(*), round(sum(l.fetch_wait_ns))::BIGINT, sum(far)::BIGINT, sum(near)::BIGINT,
  sum(far_blocks)::BIGINT, sum(near_blocks)::BIGINT
FROM l_tasks l JOIN (SELECT app_index, task_attempt_id,
    max(coalesce(shuffle_read_remote_bytes, 0)) AS far,
    max(coalesce(shuffle_read_local_bytes, 0)) AS near,
    max(coalesce(shuffle_remote_blocks_fetched_count, 0)) AS far_blocks,
    max(coalesce(shuffle_local_blocks_fetched_count, 0)) AS near_blocks
  FROM w_tasks GROUP BY ALL) t USING (app_index, task_attempt_id)
WHERE l.fetch_wait_ns > 0 GROUP BY 1 ORDER BY 1
"""


def cluster_memos(scope: Scope) -> list[Row]:
    """Give memos of executors and fetches of applications on a cluster; of others, none.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with the ledger's tasks.
    """
    apps = scope.tables.records(
        "SELECT app_index, app_id, master, spark_conf, born_wall_ns, gone_wall_ns FROM lives"
        " WHERE master IS NOT NULL AND NOT starts_with(master, 'local') ORDER BY app_index"
    )
    if not apps or not scope.window.intervals:
        return []
    if scope.tables.hosts:
        # How many executors were asked for is of all hosts together.
        return _fetches(scope)
    define_events(scope.tables)
    return [*_executors(scope, apps), *_fetches(scope)]


def _executors(scope: Scope, apps: list[dict[str, Any]]) -> list[Row]:
    missing: dict[str, int] = {}
    unknown: list[Row] = []
    for app in apps:
        wanted, why = wanted_executors(app["master"], _settings(app["spark_conf"]))
        found = None if wanted is None else _missing(scope, app, wanted)
        if found is None:
            why = why or "no executor registered: how many slots one has is not known"
            unknown += _unknown(scope, app, why, alone=len(apps) == 1)
            continue
        for fate, ns in found.items():
            missing[fate] = missing.get(fate, 0) + ns
    rows = []
    for fate in FATES:
        path = f"executors/{fate}"
        if missing.get(fate):
            source = f"{_EVENT_LOG}: slots of {_MEANING[fate]}"
            rows.append(Row(path=path, value_ns=missing[fate], source=source))
        rows += [row for row in unknown if row.path.startswith(path)]
    return rows


def _unknown(scope: Scope, app: Mapping[str, Any], why: str, alone: bool) -> list[Row]:
    """Say which executors an application lost of nobody knows how many."""
    went = dict(scope.tables.query(_GONE, [app["app_index"]]))
    name = str(app["app_id"] or app["app_index"]).replace("/", "_")
    found = []
    for fate in FATES:
        n = went.get(fate)
        if not n and fate != "not_granted":
            continue
        path = f"executors/{fate}"
        said = f"{_EVENT_LOG}: {counted(n, 'executor')}, replaced or not; " if n else ""
        found.append(
            Row(
                path=path if alone else f"{path}/{name}",
                n=n,
                method="unavailable",
                source=said + why,
            )
        )
    return found


def wanted_executors(master: str, settings: Mapping[str, str]) -> tuple[int | None, str | None]:
    """Say how many executors an application asked for; else why that is not known.

    Examples
    --------
    >>> wanted_executors("yarn", {"spark.executor.instances": "5"})
    (5, None)
    >>> wanted_executors("spark://h:7077", {"spark.cores.max": "8", "spark.executor.cores": "4"})
    (2, None)
    >>> wanted_executors("yarn", {"spark.dynamicAllocation.enabled": "true"})[0] is None
    True
    """
    if settings.get("spark.dynamicAllocation.enabled", "false").lower() == "true":
        return None, "dynamic allocation: how many were asked for is not in the event log"
    if not master.startswith("spark:"):
        return _whole(settings.get("spark.executor.instances")) or DEFAULT_INSTANCES, None
    # A standalone master does not read spark.executor.instances.
    most, each = (
        _whole(settings.get("spark.cores.max")),
        _whole(settings.get("spark.executor.cores")),
    )
    if most and each:
        return most // each, None
    return None, "spark.cores.max and spark.executor.cores do not say how many were asked for"


def _missing(scope: Scope, app: Mapping[str, Any], wanted: int) -> dict[str, int] | None:
    """Slot time of executors that were asked for and were not there, by what became of them."""
    rows = scope.tables.columns(_EXECUTORS, [app["app_index"]])
    slots, since, until = (
        np.ma.getdata(rows[name]).astype(np.int64) for name in ("n", "since", "until")
    )
    born, gone = app["born_wall_ns"], app["gone_wall_ns"]
    if not slots.size or born is None or gone is None:
        return None
    each = int(np.median(slots))
    good, removed = (np.ma.getdata(rows[n]).astype(bool) for n in ("decommissioned", "removed"))
    found = dict.fromkeys(FATES, 0)
    for interval in scope.window.intervals:
        first, last = max(interval.start_wall_ns, born), min(interval.end_wall_ns, gone)
        if last <= first:
            continue
        marks = np.unique(np.clip(np.concatenate([[first, last], since, until]), first, last))
        begin, length = marks[:-1, None], np.diff(marks)
        ended = until <= begin
        there = ((since <= begin) & ~ended).sum(axis=1)
        rest = np.maximum(0, wanted - there)
        for fate, many in (
            ("starting", (since > begin).sum(axis=1)),
            ("decommissioned", (ended & removed & good).sum(axis=1)),
            ("lost", (ended & removed & ~good).sum(axis=1)),
            ("not_granted", rest),
        ):
            part = np.minimum(rest, many)
            found[fate] += int((part * length).sum()) * each
            rest = rest - part
    return found


def _fetches(scope: Scope) -> list[Row]:
    rows = scope.tables.query(_FETCHES)
    if not rows:
        return []
    found = [
        Row(
            path="shuffle_fetch",
            value_ns=sum(ns for _, _, ns, *_ in rows),
            n=sum(n for _, n, *_ in rows),
            source=f"{_EVENT_LOG}: Fetch Wait Time; it lies inside task",
        )
    ]
    for side, n, ns, far, near, far_blocks, near_blocks in rows:
        remote = f"{counted(far_blocks, 'remote block')} of {size(far)}"
        local = f"{counted(near_blocks, 'local block')} of {size(near)}"
        text = {
            "remote": f"tasks that read from other executors alone: {remote}",
            "local": f"tasks that read from their own executor alone: {local}",
            "both": f"tasks that read from both: which they waited for is not in the log; {remote},"
            f" {local}",
        }[side]
        found.append(
            Row(path=f"shuffle_fetch/{side}", parent="shuffle_fetch", value_ns=ns, n=n,
                source=f"{_EVENT_LOG}: {text}")
        )  # fmt: skip
    return found


def _settings(text: str | None) -> dict[str, str]:
    try:
        found = parse_json(text or "{}")
    except ValueError:
        return {}
    return {k: str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
