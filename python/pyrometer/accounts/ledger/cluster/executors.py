"""Executors that were asked for and were not there: their slot time, by what became of them.

Their slots are in no total. Where it is known when the process of one started, the time before is
the cluster's (queue, placement, image, container), and the time after is Spark's own start. Of
executors in pods of Kubernetes the cluster's part is split by what the status of these says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.accounts.ledger.cluster.awaited import (
    PHASES,
    Awaited,
    Executors,
    Time,
    of_number,
    of_requests,
)
from pyrometer.accounts.ledger.cluster.pod_starts import pods_that_never_ran
from pyrometer.accounts.ledger.cluster.process_starts import define_process_starts
from pyrometer.accounts.ledger.events import GIVEN_UP
from pyrometer.accounts.ledger.schema import Row
from pyrometer.core.json_text import parse_json
from pyrometer.core.units import counted
from pyrometer.window.scope import Scope

LATER = ("came_later", *PHASES)
DEFAULT_INSTANCES = 2
"""What Spark asks of YARN and Kubernetes where nobody says how many."""
NOT_GRANTED = "executors/not_granted"
CAME_LATER = f"{NOT_GRANTED}/came_later"
_EVENT_LOG = "event log: slots of executors that"
_PODS = "event log, and status of pods in whole seconds by their clocks: slots of executors that"
_DYNAMIC = "dynamic allocation: how many were asked for is not in the event log"
_NO_SETTINGS = "the event log has no settings: how many were asked for is not known"
_NO_EXECUTOR = "no executor registered: how many slots one has is not known"
# Row of each time, and what it is of.
_ROWS = {
    "came_later": (CAME_LATER, "were asked for, until their processes started"),
    "no_pod": (
        f"{CAME_LATER}/no_pod",
        "were asked for, until they had pods: Spark creates some at a time, and quotas may forbid"
        " more",
    ),
    "scheduling": (f"{CAME_LATER}/scheduling", "had pods, until these had nodes"),
    "image_and_container": (
        f"{CAME_LATER}/image_and_container",
        "had nodes, until their processes started: volumes, network, pull of the image, container",
    ),
    "never_came": (f"{NOT_GRANTED}/never_came", "were asked for and never registered"),
    "starting": ("executors/starting", "had not registered, from the start of their processes on"),
    "unsplit": (
        "executors/not_granted_or_starting",
        "were asked for, until they registered; not split:",
    ),
    "decommissioned": ("executors/decommissioned", "Spark had decommissioned; none replaced them"),
    "lost": ("executors/lost", "had been removed; none replaced them"),
}
_EXECUTORS = """
SELECT l.n::BIGINT AS slots, l.since, l.until, e.request_wall_ns AS requested,
  s.began_wall_ns AS began, s.error_ns AS error, s.why,
  p.created_wall_ns AS created, p.scheduled_wall_ns AS scheduled,
  e.remove_wall_ns IS NOT NULL AS removed,
  contains(lower(coalesce(e.remove_reason, '')), 'decommission') AS decommissioned
FROM l_executors l JOIN executors e USING (app_index, executor_id)
LEFT JOIN l_process_starts s USING (app_index, executor_id)
LEFT JOIN l_pod_starts p USING (app_index, executor_id)
WHERE l.app_index = ? AND l.executor_id <> 'driver' AND l.since IS NOT NULL AND l.until IS NOT NULL
ORDER BY l.since, l.executor_id
"""
# What dynamic allocation released by itself is no loss. Idle executors that it decommissions are
# "spark scale down" in the log; before Spark 3.4 it has the same words for all decommissioned ones.
_GONE = f"""
SELECT CASE WHEN contains(why, 'decommission') THEN 'decommissioned' ELSE 'lost' END, count(*),
  count(*) FILTER (why = 'executor decommission.')
FROM (SELECT *, lower(coalesce(remove_reason, '')) AS why FROM executors) e
JOIN lives l USING (app_index)
WHERE app_index = ? AND executor_id <> 'driver' AND (remove_wall_ns < gone_wall_ns) IS NOT FALSE
  AND EXISTS (SELECT 1 FROM w WHERE remove_wall_ns BETWEEN w.start_wall_ns AND w.end_wall_ns)
  AND NOT contains(why, 'spark scale down')
  AND (contains(why, 'decommission')
    OR NOT ({" OR ".join(f"contains(why, '{word}')" for word in GIVEN_UP)}))
GROUP BY 1
"""


def executor_memos(scope: Scope, apps: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Give memos of executors that were asked for and were not there.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, of all hosts.
    apps : sequence of mapping
        Applications on a cluster: ``app_index``, ``app_id``, ``master``, ``spark_conf``,
        ``born_wall_ns``, ``gone_wall_ns``.
    """
    define_process_starts(scope)
    whole, reasons, pending = Awaited(), set[str](), set[str]()
    unknown: list[Row] = []
    for app in apps:
        executors, why_unsplit = _registered(scope, app["app_index"])
        stretches = _stretches(scope, app)
        reasons |= why_unsplit
        wanted, why = wanted_executors(app["master"], _settings(app["spark_conf"]))
        if wanted is not None and len(executors) and app["born_wall_ns"] and app["gone_wall_ns"]:
            _add(whole, of_number(executors, wanted, stretches))
            if said := pods_that_never_ran(scope, app["app_index"]):
                pending.add(said)
            continue
        found = of_requests(executors, stretches)
        unknown += _unknown(scope, app, why or _NO_EXECUTOR, found, alone=len(apps) == 1)
        for name in LATER:
            setattr(found, name, Time())
        _add(whole, found)
    whys = {"unsplit": "; ".join(sorted(reasons)), "never_came": "; ".join(sorted(pending))}
    return _rows(whole, unknown, whys)


def _rows(found: Awaited, unknown: Sequence[Row], whys: Mapping[str, str]) -> list[Row]:
    rows = []
    granted = Time()
    for part in (found.came_later, found.never_came):
        granted.add(part.ns, part.ns - part.low_ns, part.high_ns - part.ns)
    if granted.ns:
        rows.append(_row(NOT_GRANTED, granted, "were asked for while they had no process"))
    order = ["decommissioned", "lost"]
    for name, (path, meaning) in _ROWS.items():
        time: Time = getattr(found, name)
        if why := whys.get(name):
            meaning = f"{meaning}{'' if meaning.endswith(':') else ':'} {why}"
        if time.ns:
            rows.append(_row(path, time, meaning))
        if name == "never_came" or name in order:
            top = NOT_GRANTED if name == "never_came" else path
            rows += [row for row in unknown if row.path.startswith(top)]
    return rows


def _later(found: Awaited, top: str) -> Iterator[Row]:
    """Give the rows of executors that came later, below one of those that were not granted."""
    for name in LATER:
        path, meaning = _ROWS[name]
        time: Time = getattr(found, name)
        if time.ns:
            yield _row(path.replace(NOT_GRANTED, top, 1), time, meaning)


def _row(path: str, time: Time, meaning: str) -> Row:
    is_open = time.low_ns != time.high_ns
    return Row(
        path=path,
        parent=path.rpartition("/")[0] if path.startswith(f"{NOT_GRANTED}/") else None,
        value_ns=time.ns,
        low_ns=time.low_ns if is_open else None,
        high_ns=time.high_ns if is_open else None,
        n=time.n or None,
        method="apportioned" if is_open else "exact",
        source=f"{_PODS if path.endswith(PHASES) else _EVENT_LOG} {meaning}",
    )


def _add(whole: Awaited, part: Awaited) -> None:
    for one in fields(Awaited):
        to, time = getattr(whole, one.name), getattr(part, one.name)
        to.add(time.ns, time.ns - time.low_ns, time.high_ns - time.ns, time.n)


def _unknown(
    scope: Scope, app: Mapping[str, Any], why: str, found: Awaited, alone: bool
) -> list[Row]:
    """Say what is known of executors of an application that asked for nobody knows how many."""
    went = {fate: of for fate, *of in scope.tables.query(_GONE, [app["app_index"]])}
    name = str(app["app_id"] or app["app_index"]).replace("/", "_")
    rows = []
    for fate in ("not_granted", "decommissioned", "lost"):
        n, unexplained = went.get(fate, (None, 0))
        if not n and fate != "not_granted":
            continue
        path = f"executors/{fate}" if alone else f"executors/{fate}/{name}"
        said = f"event log: {counted(n, 'executor')}, replaced or not; " if n else ""
        if unexplained and why == _DYNAMIC:
            idle = "may just have been idle: Spark before 3.4 gives no reason"
            said += f"{unexplained} of them {idle}; "
        rows.append(Row(path=path, n=n, method="unavailable", source=said + why))
        if fate == "not_granted":
            rows += _later(found, path)
    return rows


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
    if not settings:
        return None, _NO_SETTINGS
    if settings.get("spark.dynamicAllocation.enabled", "false").lower() == "true":
        return None, _DYNAMIC
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


def _registered(scope: Scope, app: int) -> tuple[Executors, set[str]]:
    """Read the executors of an application, and why not all their processes' starts are known."""
    rows = scope.tables.columns(_EXECUTORS, [app])

    def whole(name: str) -> NDArray[np.int64]:
        return np.ma.filled(rows[name], 0).astype(np.int64)

    def known(name: str) -> NDArray[np.bool_]:
        return ~np.ma.getmaskarray(rows[name])

    removed, good = (
        np.ma.filled(rows[name], False).astype(bool) for name in ("removed", "decommissioned")
    )
    executors = Executors(
        slots=whole("slots"),
        since=whole("since"),
        until=whole("until"),
        began=whole("began"),
        error=whole("error"),
        known=known("began"),
        requested=whole("requested"),
        asked=known("requested"),
        created=whole("created"),
        scheduled=whole("scheduled"),
        podded=known("created"),
        decommissioned=removed & good,
        lost=removed & ~good,
    )
    return executors, set(rows["why"][known("why")].tolist())


def _stretches(scope: Scope, app: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Give the parts of the window in which an application lived."""
    born, gone = app["born_wall_ns"], app["gone_wall_ns"]
    if born is None or gone is None:
        return []
    cut = (
        (max(one.start_wall_ns, born), min(one.end_wall_ns, gone)) for one in scope.window.intervals
    )
    return [(first, last) for first, last in cut if first < last]


def _settings(text: str | None) -> dict[str, str]:
    try:
        found = parse_json(text or "{}")
    except ValueError:
        return {}
    return {k: str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
