"""Who serves the shuffle blocks that tasks wait for, and what its threads were seen to do.

Blocks are served by the executors that wrote them, or, with an external shuffle service, by that of
their host. The threads that do so are known by their names; what they did is known where a probe
saw them, on a clock that has a bound.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from pyrometer.accounts.ledger.cluster.clock_bounds import define_clock_bounds
from pyrometer.accounts.ledger.cluster.served import (
    KINDS,
    Served,
    Stretches,
    hidden,
    nothing,
    served,
)
from pyrometer.core.process_numbers import KEY
from pyrometer.window.scope import Scope

MOST_ROWS = 500_000
"""States of serving threads that are looked at together."""
NAMES = "^(shuffle-server|shuffle-chunk-f|rpc-server|block-manager)"
"""Kernel's names of threads that serve blocks."""
_CLASS = "shuffle_fetch"
_NO_STATES = "no probe saw what threads did"
_NO_WAITS = "no stack of a task that waited for blocks: when they waited is not known"
_AT_WORK = "('disk', 'on_cpu', 'run_queue')"

# Spark reads blocks of other executors on its own host from their files: hosts as it calls them.
_SERVERS = """
SELECT e.app_index, e.executor_id, e.host, p.pid,
  coalesce(e.add_wall_ns, l.born_wall_ns) - $1 AS since,
  coalesce(CASE WHEN s.app_index IS NULL THEN e.remove_wall_ns END, l.gone_wall_ns) - $1 AS until,
  s.app_index IS NOT NULL AS by_service
FROM {executors} e JOIN lives l USING (app_index)
LEFT JOIN (SELECT a.app_index, p.executor_id, arg_max(p.pid, p.start_mono_ns) AS pid
  FROM processes p JOIN apps a USING (app_id) GROUP BY ALL) p USING (app_index, executor_id)
LEFT JOIN (SELECT app_index FROM lives WHERE lower(json_extract_string(
  spark_conf, '$."spark.shuffle.service.enabled"')) = 'true') s USING (app_index)
WHERE e.executor_id <> 'driver'
"""
_SERVICES = f"""
SELECT pid // {KEY} AS number, min(pid) AS pid FROM thread_counters
WHERE comm LIKE 'shuffle-server%' AND pid NOT IN (SELECT pid FROM processes) GROUP BY 1
"""
_SEEN = "SELECT pid, min(begin_mono_ns), max(end_mono_ns) FROM thread_states GROUP BY pid"
_BOUNDS = """
SELECT number, CASE WHEN count(*) = count(bound_ns) THEN max(bound_ns) END
FROM l_clock_bounds b
WHERE EXISTS (SELECT 1 FROM w WHERE b.since < w.end_mono_ns AND b.until > w.start_mono_ns)
GROUP BY number
"""
_THREADS = f"SELECT DISTINCT pid, tid FROM thread_counters WHERE regexp_matches(comm, '{NAMES}')"
# A row of states stands for half of the way to the passes before and after it, too.
_WORK = f"""
SELECT begin_mono_ns - around AS since, end_mono_ns + around AS until, pid, state AS kind
FROM (SELECT s.*, greatest(0, weight_ns - (end_mono_ns - begin_mono_ns)) // 2 AS around
  FROM thread_states s SEMI JOIN l_serving USING (pid, tid)
  WHERE state IN {_AT_WORK})
WHERE since < $2 AND until > $1
UNION ALL
SELECT start_ns, end_ns, pid, 'gc_pause' FROM w_pauses WHERE pid IS NOT NULL AND start_ns < $2
  AND end_ns > $1
"""
_ONE_APP = "CASE WHEN (SELECT count(*) FROM apps) = 1 THEN (SELECT min(app_index) FROM apps) END"
# When tasks were seen to wait for blocks; of a run with states, by these.
_WAITS = f"""
SELECT coalesce(a.app_index, {_ONE_APP}) AS app_index, x.pid, f.side,
  greatest(x.t_ns, w.start_mono_ns) AS since, least(x.t_ns + x.weight, w.end_mono_ns) AS until
FROM samples x JOIN w ON x.t_ns < w.end_mono_ns AND x.t_ns + x.weight > w.start_mono_ns
LEFT JOIN process_apps a ON a.pid = x.pid AND x.t_ns >= a.since AND x.t_ns < a.until
JOIN l_fetches f ON f.task_attempt_id = x.task_attempt_id
  AND f.app_index = coalesce(a.app_index, {_ONE_APP})
WHERE x.event = $1 AND x.clock = 'mono' AND x.wait_class = '{_CLASS}'
  AND x.state IN ('sleeping', 'disk') AND x.source IS DISTINCT FROM 'python' AND x.weight > 0
"""


@dataclass
class Split:
    """What served the waits of tasks, by the side that these read from.

    Attributes
    ----------
    sides : dict of str to Served
        Sums of the waits that were seen, of sides that have any.
    reason : str or None
        Why there are none; else of what not all is known.
    """

    sides: dict[str, Served] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True)
class _Server:
    """Who serves what an executor wrote.

    Attributes
    ----------
    app, name : int, str
        Of which application, and what to call it.
    place : int
        Its host as Spark calls it, numbered.
    pid : int or None
        Its process; ``None`` where nobody recorded it.
    since, until : int
        When it may have served, on the axis.
    """

    app: int
    name: str
    place: int
    pid: int | None
    since: int
    until: int


@dataclass
class _Observed:
    """What is known of who serves blocks in a window.

    Attributes
    ----------
    servers : list of _Server
        Everybody.
    places : dict of int to int
        Place of each process.
    bounds : dict of int to int or None
        How far off times of each host may be, by what stands above its process numbers.
    seen : dict of int to (int, int)
        From when to when states of the threads of each process were recorded.
    """

    servers: list[_Server]
    places: Mapping[int, int]
    bounds: Mapping[int, int | None]
    seen: Mapping[int, tuple[int, int]]

    def error(self, pid: int) -> int | None:
        """How far off times of a process may be."""
        return self.bounds.get(pid // KEY)

    def times(self, one: _Server) -> tuple[int, int] | None:
        """From when to when it is known what a server did, if at all."""
        if one.pid is None or self.error(one.pid) is None:
            return None
        return self.seen.get(one.pid)

    def gaps(self, app: int) -> Stretches:
        """Give when servers of an application were not observed."""
        rows = []
        for one in self.servers:
            if one.app == app:
                first, last = self.times(one) or (one.until, one.until)
                for since, until in ((one.since, first), (last, one.until)):
                    since, until = max(since, one.since), min(until, one.until)
                    if since < until:
                        rows.append((since, until, one.place))
        return Stretches.of(*np.array(rows, np.int64).reshape(-1, 3).T)

    def unseen(self) -> str | None:
        """Say who was not observed."""
        names = sorted({one.name for one in self.servers if self.times(one) is None})
        if not names:
            return None
        listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f"not observed, or on a clock without a bound: {listed}"


def serving(scope: Scope) -> Split:
    """Divide the waits for blocks of the window by what those who serve blocks did meanwhile.

    Needs ``l_fetches``: app_index, task_attempt_id, side.
    """
    if not scope.has_mono or not scope.has("thread_states"):
        return Split(reason=_NO_STATES)
    why = define_clock_bounds(scope)
    if why is not None:
        return Split(reason=why)
    waits = _waits(scope)
    if not len(waits["since"]):
        return Split(reason=_NO_WAITS)
    observed = _observed(scope)
    scope.tables.define("l_serving", _THREADS)
    found: dict[str, Served] = defaultdict(nothing)
    for app in np.unique(waits["app_index"]).tolist():
        chosen = waits["app_index"] == app
        _add(found, scope, {k: v[chosen] for k, v in waits.items()}, app, observed)
    return Split(dict(found), observed.unseen())


def _waits(scope: Scope) -> dict[str, Any]:
    """Read when tasks waited, by the states of their threads; else by wall-clock samples."""
    for event in ("state", "wall"):
        rows = scope.tables.columns(_WAITS, [event])
        if len(rows["since"]):
            break
    return {name: np.ma.getdata(values) for name, values in rows.items()}


def _observed(scope: Scope) -> _Observed:
    executors = "recorded.executors" if scope.tables.several_hosts else "executors"
    rows = scope.tables.query(_SERVERS.format(executors=executors), [scope.offset_ns])
    services: dict[int, int] = dict(scope.tables.query(_SERVICES))
    hosts: dict[str | None, int] = {}
    servers, places = list[_Server](), dict[int, int]()
    for app, executor, host, pid, since, until, by_service in rows:
        place = hosts.setdefault(host, len(hosts))
        name, server = f"{executor} on {host}", pid
        if by_service:
            name += " (its shuffle service)"
            server = None if pid is None else services.get(pid // KEY)
        places |= {each: place for each in (pid, server) if each is not None}
        servers.append(_Server(app, name, place, server, since, until))
    seen = {pid: (first, last) for pid, first, last in scope.tables.query(_SEEN)}
    return _Observed(servers, places, dict(scope.tables.query(_BOUNDS)), seen)


def _add(
    found: dict[str, Served],
    scope: Scope,
    waits: Mapping[str, Any],
    app: int,
    observed: _Observed,
) -> None:
    """Add the waits of tasks of one application, piece by piece of its time."""
    pids, owner = np.unique(waits["pid"], return_inverse=True)
    errors = [observed.error(pid) for pid in pids.tolist()]
    bounded = np.array([error is not None for error in errors])[owner]
    place = np.array([observed.places.get(pid, -1) for pid in pids.tolist()], np.int64)[owner]
    most = max((error or 0 for error in errors), default=0)
    gaps = observed.gaps(app)
    for side in np.unique(waits["side"]).tolist():
        mine = waits["side"] == side
        unknown = mine & ~bounded
        ns = float((waits["until"][unknown] - waits["since"][unknown]).sum())
        found[side] = found[side] + hidden(ns)
    first, last = int(waits["since"].min()), int(waits["until"].max())
    for low, high in _pieces(scope, first, last):
        work = _work(scope, low - most, high + most, app, observed, most)
        since, until = (np.clip(waits[name], low, high) for name in ("since", "until"))
        for side in np.unique(waits["side"]).tolist():
            mine = (waits["side"] == side) & bounded & (until > since)
            cut = Stretches.of(since[mine], until[mine], place[mine])
            found[side] = found[side] + served(cut, work, gaps)


def _pieces(scope: Scope, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut a time so that few states of serving threads lie in each piece."""
    rows = scope.tables.scalar(f"SELECT count(*) FROM ({_WORK})", [first, last])
    cuts = np.linspace(first, last, max(1, math.ceil(rows / MOST_ROWS)) + 1)
    yield from pairwise([first, *cuts[1:-1].astype(np.int64).tolist(), last])


def _work(
    scope: Scope, since: int, until: int, app: int, observed: _Observed, reader_error: int
) -> Stretches:
    """Read when threads that serve an application's blocks were at work."""
    rows = {
        name: np.ma.getdata(values)
        for name, values in scope.tables.columns(_WORK, [since, until]).items()
    }
    serves = {one.pid for one in observed.servers if one.app == app and observed.times(one)}
    pids, owner = np.unique(rows["pid"], return_inverse=True)
    known = np.array([pid in serves for pid in pids.tolist()], bool)[owner]
    place = np.array([observed.places.get(pid, -1) for pid in pids.tolist()], np.int64)[owner]
    error = np.array([observed.error(pid) or 0 for pid in pids.tolist()], np.int64)[owner]
    kind = np.array([KINDS.index(one) for one in rows["kind"].tolist()], np.int64)
    return Stretches(
        rows["since"][known].astype(np.int64),
        rows["until"][known].astype(np.int64),
        place[known],
        kind[known],
        error[known] + reader_error,
    )
