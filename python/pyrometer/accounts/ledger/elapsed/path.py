"""The path of each application through a window: stages, and gaps with what they lie in."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

from pyrometer.accounts.ledger.elapsed.critical_path import StageTimes, Stretch, critical_path
from pyrometer.accounts.ledger.events import define_events
from pyrometer.accounts.stage_names import stage_name
from pyrometer.store.lives import define_lives
from pyrometer.window.scope import Scope


@dataclass(frozen=True)
class PathStage:
    """A stage attempt of an application."""

    app: int
    stage_id: int
    attempt: int
    sql_id: int | None
    name: str | None
    called: str | None
    planned: int | None
    times: StageTimes


@dataclass(frozen=True)
class PathPart:
    """A stretch of the path: of a stage, or in a gap that says where it was."""

    app: int
    start: int
    end: int
    stage: PathStage | None
    where: str | None
    offset: int


def path_parts(scope: Scope) -> Iterator[PathPart]:
    """Walk every application through every stretch of the window that it lived in."""
    define_lives(scope.tables)
    lives = scope.tables.records(
        "SELECT app_index, born_wall_ns AS born, gone_wall_ns AS gone FROM lives ORDER BY app_index"
    )
    stages, queries = _stages(scope), _queries(scope)
    offset = 0
    for interval in scope.window.intervals:
        for life in lives:
            app = life["app_index"]
            if life["born"] is None or life["gone"] is None:
                continue
            start = max(interval.start_wall_ns, life["born"])
            end = min(interval.end_wall_ns, life["gone"])
            own = stages.get(app, [])
            found = critical_path([one.times for one in own], start, end)
            for one in found:
                if one.stage is not None:
                    since = offset + one.start - interval.start_wall_ns
                    yield PathPart(app, one.start, one.end, own[one.stage], None, since)
                    continue
                for piece, where in _placed(one, queries.get(app, _NO_QUERIES)):
                    since = offset + piece.start - interval.start_wall_ns
                    yield PathPart(app, piece.start, piece.end, None, where, since)
        offset += interval.end_wall_ns - interval.start_wall_ns


def _stages(scope: Scope) -> dict[int, list[PathStage]]:
    define_events(scope.tables)
    rows = scope.tables.records(
        """
        WITH ran AS (SELECT app_index, stage_id, stage_attempt, min(since) AS first,
            max(until) AS last
          FROM l_work WHERE NOT again GROUP BY ALL)
        SELECT s.app_index, s.stage_id, s.stage_attempt, d.sql_id, d.name, q.description,
          d.parent_ids, d.planned_tasks_count,
          s.since AS submit, greatest(s.until, s.since) AS complete,
          r.first, r.last, j.submit_wall_ns AS job_submit
        FROM l_stages s JOIN stages d USING (app_index, stage_id, stage_attempt)
        LEFT JOIN ran r USING (app_index, stage_id, stage_attempt)
        LEFT JOIN sql_executions q ON q.app_index = d.app_index AND q.sql_id = d.sql_id
        LEFT JOIN jobs j ON j.app_index = d.app_index AND j.job_id = d.job_id
        ORDER BY s.app_index, s.since, s.stage_id, s.stage_attempt
        """
    )
    places: dict[tuple[int, int], list[int]] = defaultdict(list)
    numbers: dict[int, int] = defaultdict(int)
    for row in rows:
        places[row["app_index"], row["stage_id"]].append(numbers[row["app_index"]])
        numbers[row["app_index"]] += 1
    found: dict[int, list[PathStage]] = defaultdict(list)
    for row in rows:
        app = row["app_index"]
        parents = tuple(n for p in row["parent_ids"] or () for n in places.get((app, p), ()))
        times = StageTimes(
            row["submit"], row["complete"], row["first"], row["last"], parents, row["job_submit"]
        )
        found[app].append(
            PathStage(
                app,
                row["stage_id"],
                row["stage_attempt"],
                row["sql_id"],
                row["name"],
                stage_name(row["name"], row["description"]),
                row["planned_tasks_count"],
                times,
            )
        )
    return found


@dataclass(frozen=True)
class _Queries:
    """Queries and jobs of an application: stretches that touch joined, and the ends of all.

    ``registered`` is when the first executor was there; None where that is unknown, or later than
    the first task, which contradicts it.
    """

    joined: Sequence[tuple[int, int]]
    first: int | None
    last: int | None
    registered: int | None = None

    @cached_property
    def begins(self) -> Sequence[int]:
        """Where each stretch begins."""
        return [since for since, _ in self.joined]


_NO_QUERIES = _Queries((), None, None)


def _queries(scope: Scope) -> dict[int, _Queries]:
    rows = scope.tables.query(
        """
        WITH ran AS (
          SELECT app_index, start_wall_ns AS since, end_wall_ns AS until FROM sql_executions
          UNION ALL SELECT app_index, submit_wall_ns, end_wall_ns FROM jobs
          UNION ALL SELECT app_index, submit_wall_ns, complete_wall_ns FROM stages)
        SELECT r.app_index, r.since, coalesce(r.until, l.gone_wall_ns) AS until
        FROM ran r JOIN lives l USING (app_index)
        WHERE r.since IS NOT NULL AND coalesce(r.until, l.gone_wall_ns) IS NOT NULL
        ORDER BY r.app_index, r.since
        """
    )
    joined: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for app, since, until in rows:
        own = joined[app]
        if own and since <= own[-1][1]:
            own[-1] = (own[-1][0], max(own[-1][1], until))
        else:
            own.append((since, max(since, until)))
    registered: dict[int, int] = dict(
        scope.tables.query(
            "SELECT e.app_index, min(e.add_wall_ns) AS first FROM executors e LEFT JOIN"
            " (SELECT app_index, min(launch_wall_ns) AS began FROM tasks GROUP BY ALL) t"
            " USING (app_index) WHERE e.cores_count > 0 AND e.add_wall_ns IS NOT NULL"
            " GROUP BY e.app_index"
            " HAVING min(e.add_wall_ns) <= coalesce(min(t.began), min(e.add_wall_ns))"
        )
    )
    return {
        app: _Queries(
            joined.get(app, ()),
            joined[app][0][0] if app in joined else None,
            joined[app][-1][1] if app in joined else None,
            registered.get(app),
        )
        for app in joined.keys() | registered.keys()
    }


def _placed(gap: Stretch, queries: _Queries) -> Iterator[tuple[Stretch, str]]:
    """Cut a gap where queries begin and end, and say of each piece where it is."""
    first, last = queries.first, queries.last
    if first is None or last is None:
        first = last = gap.end
    begin = max(0, bisect_right(queries.begins, gap.start) - 1)
    cuts = {gap.start, gap.end}
    if queries.registered is not None and gap.start < queries.registered < min(gap.end, first):
        cuts.add(queries.registered)
    for since, until in islice(queries.joined, begin, None):
        if since >= gap.end:
            break
        cuts |= {at for at in (since, until) if gap.start < at < gap.end}
    inside = queries.joined
    for since, until in pairwise(sorted(cuts)):
        middle = (since + until) / 2
        at = bisect_right(queries.begins, middle) - 1
        if until <= first:
            waits = queries.registered is not None and until <= queries.registered
            where = "before_executors" if waits else "start"
        elif since >= last:
            where = "end"
        else:
            where = "in_query" if at >= 0 and middle < inside[at][1] else "between_queries"
        yield Stretch(since, until), where
