"""Who serves the shuffle blocks that tasks wait for, and what its threads were seen to do.

Blocks are served by the executors that wrote them, or, with an external shuffle service, by that of
their host. The threads that do so are known by their names; what they did is known where a probe
saw them, on a clock that has a bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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

MOST_ROWS = 100_000
"""Waits and states of serving threads that are looked at together."""
_BUCKETS = 4096
_EVER = 1 << 62
NAMES = "^(shuffle-server|shuffle-chunk-f|rpc-server|block-manager)"
"""Kernel's names of threads that serve blocks."""
SIDES = ("both", "local", "remote")
"""Sides that tasks read from, as ``l_fetches`` has them."""
_CLASS = "shuffle_fetch"
_NO_STATES = "no probe saw what threads did"
_NO_WAITS = "no stack of a task that waited for blocks: when they waited is not known"
_AT_WORK = "('disk', 'on_cpu', 'run_queue')"

# Spark reads blocks of other executors on its own host from their files: hosts as it calls them.
_SERVERS = """
SELECT e.app_index, e.executor_id, e.host, p.pid,
  coalesce(coalesce(e.add_wall_ns, l.born_wall_ns) - $1, -$2::BIGINT) AS since,
  coalesce(coalesce(CASE WHEN s.app_index IS NULL THEN e.remove_wall_ns END, l.gone_wall_ns) - $1,
    $2::BIGINT) AS until,
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
_KIND = " ".join(f"WHEN '{name}' THEN {number}" for number, name in enumerate(KINDS))
# A row of states stands for half of the way to the passes before and after it, too.
_WORK = f"""
SELECT begin_mono_ns - around AS since, end_mono_ns + around AS until, pid,
  (CASE state {_KIND} END)::BIGINT AS kind
FROM (SELECT s.*, greatest(0, weight_ns - (end_mono_ns - begin_mono_ns)) // 2 AS around
  FROM thread_states s SEMI JOIN l_serving USING (pid, tid)
  WHERE state IN {_AT_WORK})
WHERE since < $2 AND until > $1
UNION ALL
SELECT start_ns, end_ns, pid, {KINDS.index("gc_pause")} FROM w_pauses
WHERE pid IS NOT NULL AND start_ns < $2 AND end_ns > $1
"""
_ROWS = "SELECT * FROM {table} WHERE since < $2 AND until > $1"
# How many rows begin in each of many stretches of a time, which are numbered.
_COUNTS = """
SELECT (greatest(0, since - $1) // $3)::BIGINT AS bucket, count(*) AS n
FROM (SELECT since FROM l_fetch_waits WHERE app_index = $4
  UNION ALL SELECT since FROM l_fetch_work WHERE until > $1)
WHERE since < $2 GROUP BY 1 ORDER BY 1
"""
_ONE_APP = "CASE WHEN (SELECT count(*) FROM apps) = 1 THEN (SELECT min(app_index) FROM apps) END"
_APPS = "SELECT app_index, min(since), max(until) FROM l_fetch_waits GROUP BY 1 ORDER BY 1"
# When tasks were seen to wait for blocks; of a run with states, by these.
_WAITS = f"""
SELECT coalesce(a.app_index, {_ONE_APP})::BIGINT AS app_index, coalesce(x.pid, -1) AS pid,
  list_position({list(SIDES)}, f.side)::BIGINT - 1 AS side,
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

    @property
    def margin(self) -> int:
        """How far off times of two processes may be from each other at most."""
        return 2 * max((bound or 0 for bound in self.bounds.values()), default=0)

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
    if scope.unrecorded:
        return Split(reason=scope.unrecorded)
    why = define_clock_bounds(scope)
    if why is not None:
        return Split(reason=why)
    if not _define_waits(scope):
        return Split(reason=_NO_WAITS)
    observed = _observed(scope)
    scope.tables.define("l_serving", _THREADS)
    apps = scope.tables.query(_APPS)
    margin = observed.margin
    first, last = min(app[1] for app in apps), max(app[2] for app in apps)
    scope.tables.define("l_fetch_work", _WORK, [first - margin, last + margin])
    found: dict[str, Served] = defaultdict(nothing)
    for app, since, until in apps:
        for low, high in _pieces(scope, app, since, until):
            _add(found, scope, app, low, high, observed)
    scope.tables.drop("l_fetch_waits", "l_fetch_work")
    return Split(dict(found), observed.unseen())


def _define_waits(scope: Scope) -> bool:
    """Keep when tasks waited, by the states of their threads; else by wall-clock samples."""
    for event in ("state", "wall"):
        scope.tables.define("l_fetch_waits", _WAITS, [event])
        if scope.tables.scalar("SELECT count(*) FROM l_fetch_waits"):
            return True
    scope.tables.drop("l_fetch_waits")
    return False


def _observed(scope: Scope) -> _Observed:
    executors = "recorded.executors" if scope.tables.several_hosts else "executors"
    rows = scope.tables.query(_SERVERS.format(executors=executors), [scope.offset_ns, _EVER])
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


def _pieces(scope: Scope, app: int, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut a time so that few waits and few states of serving threads begin in each piece."""
    width = max(1, -(-(last - first) // _BUCKETS))
    low, held = first, 0
    for bucket, n in scope.tables.query(_COUNTS, [first, last, width, app]):
        begin = first + bucket * width
        if held and held + n > MOST_ROWS and begin > low:
            yield low, begin
            low, held = begin, 0
        held += n
    yield low, last


def _add(
    found: dict[str, Served], scope: Scope, app: int, low: int, high: int, observed: _Observed
) -> None:
    """Add the waits of tasks of one application in a piece of its time."""
    waits = _rows(scope, "l_fetch_waits", low, high)
    mine = waits["app_index"] == app
    waits = {name: values[mine] for name, values in waits.items()}
    pids, owner = np.unique(waits["pid"], return_inverse=True)
    errors = [observed.error(pid) for pid in pids.tolist()]
    bounded = np.array([error is not None for error in errors], bool)[owner]
    place = np.array([observed.places.get(pid, -1) for pid in pids.tolist()], np.int64)[owner]
    work = _work(scope, low, high, app, observed, max((error or 0 for error in errors), default=0))
    gaps = observed.gaps(app)
    since, until = (np.clip(waits[name], low, high) for name in ("since", "until"))
    for number in np.unique(waits["side"]).tolist():
        side, of_side = SIDES[number], waits["side"] == number
        unknown, known = of_side & ~bounded, of_side & bounded
        ns = float((until[unknown] - since[unknown]).sum())
        cut = Stretches.of(since[known], until[known], place[known])
        found[side] = found[side] + hidden(ns) + served(cut, work, gaps)


def _rows(scope: Scope, table: str, low: int, high: int) -> dict[str, Any]:
    rows = scope.tables.columns(_ROWS.format(table=table), [low, high])
    return {name: np.ma.getdata(values).astype(np.int64) for name, values in rows.items()}


def _work(
    scope: Scope, low: int, high: int, app: int, observed: _Observed, reader_error: int
) -> Stretches:
    """Read when threads that serve an application's blocks were at work."""
    rows = _rows(scope, "l_fetch_work", low - observed.margin, high + observed.margin)
    serves = {one.pid for one in observed.servers if one.app == app and observed.times(one)}
    pids, owner = np.unique(rows["pid"], return_inverse=True)
    known = np.array([pid in serves for pid in pids.tolist()], bool)[owner]
    place = np.array([observed.places.get(pid, -1) for pid in pids.tolist()], np.int64)[owner]
    error = np.array([observed.error(pid) or 0 for pid in pids.tolist()], np.int64)[owner]
    return Stretches(
        rows["since"][known],
        rows["until"][known],
        place[known],
        rows["kind"][known],
        error[known] + reader_error,
    )
