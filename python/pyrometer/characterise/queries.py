"""A suite, query by query: what each does, how much it reads and shuffles, how long it takes."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.accounts.io import UNDERCOUNTED, io
from pyrometer.accounts.spark import window_totals
from pyrometer.accounts.window import open_scope
from pyrometer.characterise.breakdown import Breakdown, breakdowns
from pyrometer.characterise.features import features_by_query, plan_features
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.core.units import counted
from pyrometer.statistics.warmup import Shape, detect, mean_estimate
from pyrometer.store import Run
from pyrometer.store.manifest import ResultPart
from pyrometer.window.windows import clock_offset_ns

_CALL_SITE = re.compile(r" at .+:\d+$")

_EXECUTIONS = """
WITH jobs_of AS (
  SELECT app_index, sql_id, min(iteration) AS iteration FROM jobs
  WHERE sql_id IS NOT NULL GROUP BY ALL),
stages_of AS (
  SELECT j.app_index, j.sql_id, s.stage_id, s.stage_attempt, s.status
  FROM stages s JOIN jobs j ON s.app_index = j.app_index AND s.job_id = j.job_id
  WHERE j.sql_id IS NOT NULL),
counted AS (
  SELECT app_index, sql_id, count(*) FILTER (status <> 'skipped') AS stages_count,
    count(*) FILTER (status = 'skipped') AS skipped_stages_count FROM stages_of GROUP BY ALL),
moved AS (
  SELECT s.app_index, s.sql_id, count(*) AS tasks_count, sum(t.input_bytes)::BIGINT AS input_bytes,
    sum(t.shuffle_read_remote_bytes + t.shuffle_read_local_bytes + t.shuffle_written_bytes)::BIGINT
      AS shuffle_bytes
  FROM tasks t JOIN stages_of s USING (app_index, stage_id, stage_attempt)
  WHERE t.status = 'success' GROUP BY ALL)
SELECT q.app_index, q.sql_id, q.description, q.start_wall_ns, q.end_wall_ns, j.iteration,
  c.stages_count, c.skipped_stages_count, coalesce(m.tasks_count, 0) AS tasks_count,
  m.input_bytes, m.shuffle_bytes, coalesce(q.error, '') <> '' AS failed
FROM sql_executions q JOIN jobs_of j USING (app_index, sql_id)
  JOIN counted c USING (app_index, sql_id) LEFT JOIN moved m USING (app_index, sql_id)
ORDER BY q.app_index, q.sql_id
"""
_NODES = (
    "SELECT app_index, sql_id, node_id, parent_node_id, trim(name) AS name, simple_string"
    " FROM plan_nodes WHERE is_final ORDER BY ALL"
)
Rows = list[dict[str, Any]]
Executions = dict[tuple[int, int], Rows]
"""Those of a query, by application and iteration."""
Timed = dict[int, list[ResultPart]]
"""Runs of a query as the runner timed them, by iteration."""
_MS = 1_000_000
_SUMS = ("stages_count", "skipped_stages_count", "tasks_count", "input_bytes", "shuffle_bytes")


class Part(BaseModel):
    """One query of a suite.

    Counts and volumes are medians over the iterations of the steady part (of all iterations where
    none is known to be steady); operators are those of the last iteration's final plan; ``sql``
    counts what the text asks for, ``None`` where the text is not known. Where a query runs several
    times in an iteration, as in the streams of a throughput run, its numbers there are means (a
    count above 0 is at least 1), and operators are those of the first of these runs. Runs that
    failed are in no number; ``doubts`` says how many they were. Where all of them failed nothing
    else is known.
    """

    name: str
    sql: dict[str, int] | None = None
    operators: dict[str, int]
    stages_count: int | None = None
    skipped_stages_count: int | None = None
    tasks_count: int | None = None
    input_bytes: int | None = None
    shuffle_bytes: int | None = None
    shuffle_heavy: bool | None = None
    times_ns: list[int] = Field(default_factory=list)
    warmup: Shape
    warmup_iterations: int | None = None
    elapsed_ns: Estimate
    breakdown: Breakdown | None = None
    doubts: list[str] = Field(default_factory=list)


class Characterisation(BaseModel):
    """Every query of a run (``pyrometer/characterisation/1``).

    ``input_reason`` says why no part has its input, where Spark counted too little of it;
    ``breakdown_reason`` why none has its CPU by component.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/characterisation/1"] = Field(
        "pyrometer/characterisation/1", alias="schema"
    )
    run_dir: str
    workload: str | None = None
    scale: str | float | None = None
    iterations_count: int
    input_reason: str | None = None
    breakdown_reason: str | None = None
    parts: list[Part]


def characterise(run: Run, doubts: Sequence[Doubt] | None = None) -> Characterisation:
    """Separate the queries of a run and account for each.

    A query is what has one description in each iteration; an execution that has only Spark's call
    site as its description is named ``sql/<n>`` by its position in the iteration. Where iterations
    are not known (an event log), a query that comes again after another one begins its next one.

    Parameters
    ----------
    run : Run
        An open run.
    doubts : sequence of Doubt, optional
        Those of its summary, where it is known; what Spark missed of the input is among them.

    Raises
    ------
    UsageError
        If no SQL execution of the run had a job.
    """
    executions = run.tables.records(_EXECUTIONS)
    if any(row["iteration"] is not None for row in executions):
        executions = [row for row in executions if row["iteration"] is not None]
    if not executions:
        raise UsageError(
            f"{run.paths.address}: no SQL execution with a job in it",
            "pyrometer show RUN shows what ran; only Spark SQL can be analysed by query",
        )
    nodes: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for node in run.tables.records(_NODES):
        nodes[node.pop("app_index"), node.pop("sql_id")].append(node)
    named, timed, offset = _by_name(executions), _timed(run), clock_offset_ns(run)
    parts: dict[str, Executions] = {}
    failed: dict[str, int] = {}
    for name in dict.fromkeys([*named, *timed]):
        found = named.get(name, {})
        parts[name] = _without_failed(found, timed[name], offset)
        failed[name] = _count_failed(timed[name], found)
    workload = run.manifest.workload if run.manifest else None
    texts = features_by_query(run)
    missed = _undercounted(run, doubts)
    by_query, reason = breakdowns(run, _executed(parts))
    return Characterisation(
        run_dir=run.paths.address,
        workload=workload.name if workload else None,
        scale=workload.scale if workload else None,
        iterations_count=len({key for found in parts.values() for key in found}),
        input_reason=missed,
        breakdown_reason=reason,
        parts=[
            _part(
                name,
                texts.get(name),
                found,
                nodes,
                _exact_times(timed[name]),
                missed,
                failed[name],
            ).model_copy(update={"breakdown": by_query.get(name)})
            for name, found in parts.items()
            if found or failed[name]
        ],
    )


def _by_name(executions: Sequence[dict[str, Any]]) -> dict[str, Executions]:
    """Group executions by query, and by iteration of each."""
    parts: dict[str, Executions] = defaultdict(dict)
    unnamed: dict[tuple[int, int], int] = defaultdict(int)
    begun: dict[tuple[int, str], int] = defaultdict(int)
    before: dict[int, str] = {}
    for row in executions:
        app = row["app_index"]
        iteration = (app, row["iteration"] or 0)
        name = row["description"] or ""
        if not name or _CALL_SITE.search(name):
            unnamed[iteration] += 1
            name = f"sql/{unnamed[iteration]}"
        if row["iteration"] is None:
            # Executions in a row may be parts of one query; after another one it is repeated.
            begun[app, name] += before.get(app) != name
            iteration = (app, begun[app, name] - 1)
            before[app] = name
        parts[name].setdefault(iteration, []).append(row)
    return parts


def _executed(parts: dict[str, Executions]) -> list[tuple[str, int, int]]:
    """When each part ran, by Spark's clock, in the iterations in which it ended."""
    return [
        (
            name,
            min(row["start_wall_ns"] for row in rows),
            max(row["end_wall_ns"] for row in rows),
        )
        for name, iterations in parts.items()
        for rows in iterations.values()
        if all(_ended(row) for row in rows)
    ]


def _undercounted(run: Run, doubts: Sequence[Doubt] | None) -> str | None:
    """Say what Spark missed of the input, as `io` reports it; by query it is not known."""
    if doubts is None:
        scope = open_scope(run, None)
        _, doubts = io(scope, *window_totals(scope))
    missed = [one for one in doubts if one.code == UNDERCOUNTED]
    return "; ".join(f"{one.message}. {one.remedy}" for one in missed) or None


def _timed(run: Run) -> dict[str, Timed]:
    """Give the runner's record of each part by iteration, one for each time that it ran there."""
    found: dict[str, Timed] = defaultdict(lambda: defaultdict(list))
    for result in run.manifest.results if run.manifest else []:
        for part in result.parts:
            found[part.name][result.iteration].append(part)
    return found


def _exact_times(timed: Timed) -> dict[int, list[int]]:
    """Give the runner's times of a part by iteration, without runs that failed."""
    times = {
        iteration: [one.ended_mono_ns - one.started_mono_ns for one in ran if one.error is None]
        for iteration, ran in timed.items()
    }
    return {iteration: found for iteration, found in times.items() if found}


def _count_failed(timed: Timed, found: Executions) -> int:
    """Count runs of a query that failed: by Spark only in iterations that the runner did not time.

    One may fail before Spark executes anything, or with several executions.
    """
    by_spark = (rows for rows in found.values() if rows[0]["iteration"] not in timed)
    return sum(any(row["failed"] for row in rows) for rows in by_spark) + sum(
        one.error is not None for ran in timed.values() for one in ran
    )


def _without_failed(found: Executions, timed: Timed, offset: int | None) -> Executions:
    """Leave out executions that failed, and those of runs that did."""
    kept = {
        key: [row for row in rows if not _of_failed(row, timed.get(row["iteration"], []), offset)]
        for key, rows in found.items()
    }
    return {key: rows for key, rows in kept.items() if rows}


def _of_failed(row: dict[str, Any], ran: Sequence[ResultPart], offset: int | None) -> bool:
    """Whether the run of a query that an execution lies in, most closely of several, failed."""
    if ran and all(one.error is None for one in ran):
        # The program survived what failed in it.
        return False
    if row["failed"] or offset is None or not _ended(row):
        return bool(row["failed"])
    begun, ended = row["start_wall_ns"] - offset, row["end_wall_ns"] - offset
    apart = {
        abs(begun - one.started_mono_ns) + abs(one.ended_mono_ns - ended): one.error is not None
        for one in ran
        if one.started_mono_ns - _MS <= begun and ended <= one.ended_mono_ns + _MS
    }
    return bool(apart) and apart[min(apart)]


def _part(
    name: str,
    sql: dict[str, int] | None,
    found_in: Executions,
    nodes: dict[tuple[int, int], list[Any]],
    exact: dict[int, list[int]],
    missed: str | None,
    failed_count: int,
) -> Part:
    iterations = list(found_in.values())
    repeated = max(map(len, exact.values()), default=1)
    ended = [rows for rows in iterations if all(_ended(row) for row in rows)]
    if repeated > 1:
        # Only the runner tells apart runs of the query in one iteration.
        ended = [rows for rows in ended if rows[0]["iteration"] in exact]
    doubts = _doubts(iterations, ended, repeated)
    if failed_count:
        doubts.insert(0, f"{counted(failed_count, 'run')} failed: not counted")
    times = [_time(rows, exact) for rows in ended]
    # Spark's times of executions are whole milliseconds: a shorter one counts as one.
    found = detect([max(time, _MS) for time in times])
    if iterations and found.steady_from is None:
        reason = "too few iterations to say" if found.shape == "too short" else "not steady"
        doubts.append(f"may still be warming up: {reason}")
    steady = found.steady_from or 0
    sums = {key: _middle([_sum(rows, key, exact) for rows in ended[steady:]]) for key in _SUMS}
    if missed:
        sums["input_bytes"] = None
    read, shuffled = sums["input_bytes"], sums["shuffle_bytes"]
    return Part(
        name=name,
        sql=sql,
        operators=_operators((ended or iterations)[-1], nodes, exact) if iterations else {},
        **sums,
        shuffle_heavy=None if read is None or shuffled is None else shuffled > read,
        times_ns=times,
        warmup=found.shape,
        warmup_iterations=found.steady_from,
        elapsed_ns=mean_estimate(times[steady:]),
        doubts=doubts,
    )


def _doubts(iterations: Sequence[Rows], ended: Sequence[Rows], repeated: int) -> list[str]:
    """Say what makes the numbers of a query doubtful, except its warm-up."""
    doubts = []
    if len(ended) < len(iterations):
        doubts.append(f"{len(iterations) - len(ended)} iterations never ended: not counted")
    most = max(map(len, iterations), default=0)
    if most > 1 and iterations[0][0]["iteration"] is None:
        doubts.append(f"{most} executions in a row count as one: the query may have been repeated")
    if repeated > 1:
        doubts.append(f"ran {repeated} times in an iteration: its numbers there are means")
    return doubts


def _ended(row: dict[str, Any]) -> bool:
    return row["start_wall_ns"] is not None and row["end_wall_ns"] is not None


def _runs(rows: Rows, exact: dict[int, list[int]]) -> int:
    """Count how often a query ran in an iteration, as far as the runner says."""
    return len(exact.get(rows[0]["iteration"], ())) or 1


def _time(rows: Rows, exact: dict[int, list[int]]) -> int:
    """Give the time of a query in an iteration.

    It is by the runner's clock where that timed the query (analysis and planning included), else
    by Spark's.
    """
    timed = exact.get(rows[0]["iteration"])
    if timed:
        return round(statistics.fmean(timed))
    begun, ended = (row["start_wall_ns"] for row in rows), (row["end_wall_ns"] for row in rows)
    return int(max(ended) - min(begun))


def _operators(
    rows: Rows, nodes: dict[tuple[int, int], list[Any]], exact: dict[int, list[int]]
) -> dict[str, int]:
    """Count the operators of a query in an iteration.

    Of several runs it is the first that counts: their plans may differ, and no plan is their mean.
    """
    first = rows[: max(1, len(rows) // _runs(rows, exact))]
    found: dict[str, int] = defaultdict(int)
    for row in first:
        for feature, count in plan_features(nodes[row["app_index"], row["sql_id"]]).items():
            found[feature] += count
    return dict(found)


def _sum(rows: Rows, key: str, exact: dict[int, list[int]]) -> int | None:
    """Give a number of a query in an iteration: of several runs the mean, above 0 at least 1."""
    present = [row[key] for row in rows if row[key] is not None]
    if not present:
        return None
    total = int(sum(present))
    return max(round(total / _runs(rows, exact)), min(total, 1))


def _middle(values: list[int | None]) -> int | None:
    present = [value for value in values if value is not None]
    return statistics.median_low(present) if present else None
