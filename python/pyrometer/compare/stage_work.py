"""What a run's time was: units (iterations, or the whole application) of stages and driver's time.

A unit is what is compared with a unit of the other side: its time on the critical path, and of each
stage on it the tasks, what their time consists of, and what samples say about that.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.accounts.ledger.elapsed.causes import EXECUTORS, WAITING, causes_of
from pyrometer.accounts.ledger.elapsed.path import PathPart, PathStage, path_parts
from pyrometer.accounts.ledger.parts import parts
from pyrometer.accounts.ledger.sums import Only
from pyrometer.accounts.window import open_scope
from pyrometer.attribution.plan_match import unnumbered
from pyrometer.attribution.samples import attribution
from pyrometer.attribution.schema import Operator
from pyrometer.compare.makespan import Tasks
from pyrometer.compare.slow_hosts import slower
from pyrometer.compare.stage_change import Held
from pyrometer.core.json_text import parse_json
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.story import site
from pyrometer.window.scope import Scope

COLUMNS = (
    "cpu", "gc", "fetch_wait", "shuffle_write", "waits", "slow_host", "retries", "unseen",
    "deserialise", "scheduler_delay", "result",
)  # fmt: skip
"""What the time of a task consists of; the last three it costs however little work it has."""
_PER_TASK = np.array([name in COLUMNS[8:] for name in COLUMNS])
EXPRESSION = "\n"
"""Between the name of an operator and an expression of it."""
_WAITS = ("waiting_to_launch", "finishing")
NS = 1e9
_MOST_STAGES = 10_000

Floats = NDArray[np.float64]


@dataclass
class Work:
    """A stage of a unit.

    Attributes
    ----------
    signature : tuple
        Where it comes from in the program, and what its RDDs are.
    held : Held
        Its time on the path.
    counts : mapping of str to float
        Tasks, rows, bytes and times of all its tasks, for evidence.
    slow_hosts : sequence of str
        Hosts that slowed it.
    hits : mapping of str to (float, float)
        CPU samples of an operator, and of the whole stage.
    """

    stage_id: int
    name: str
    signature: tuple[str, ...]
    held: Held
    counts: Mapping[str, float] = field(default_factory=dict)
    slow_hosts: Sequence[str] = ()
    hits: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass
class Unit:
    """An iteration, or the whole application; seconds.

    Attributes
    ----------
    gaps : mapping of str to float
        The driver's time on the path, by where it lies.
    executors : float
        Time without an executor.
    stages : list of Work
        In order of submission; those that are not on the path as well.
    jobs, queries : int
        How many there were.
    """

    total: float
    gaps: dict[str, float]
    executors: float
    stages: list[Work]
    jobs: int = 0
    queries: int = 0


def units_of(path: Path, summary: Summary | None = None) -> list[Unit]:
    """Read a run: one unit for each measured iteration, else one.

    Parameters
    ----------
    summary : Summary
        Of the run, for what lies within operators and run queues.
    """
    with Run.open(path) as run:
        return _units(open_scope(run, None), summary)


def _units(scope: Scope, summary: Summary | None) -> list[Unit]:
    path = list(path_parts(scope))
    intervals = scope.window.intervals
    if not path:
        return []
    causes = causes_of(scope, path)
    several = len(intervals) > 1
    starts = np.array([one.start_wall_ns for one in intervals], dtype=np.int64)

    def unit(at: int) -> int:
        return max(0, int(np.searchsorted(starts, at, side="right")) - 1) if several else 0

    units = [Unit(0.0, defaultdict(float), 0.0, []) for _ in intervals]
    held: dict[tuple[int, int, int], _Path] = defaultdict(_Path)
    for part, one in zip(path, causes, strict=True):
        number = unit(part.start)
        units[number].total += (part.end - part.start) / NS
        _add(units[number], held, number, part, one)
    _count(scope, units, unit)
    tasks = _TasksOf(scope, summary)
    for key, row in _stages(scope).items():
        for number in sorted({unit(row["submit"])} | {n for n, *k in held if tuple(k) == key}):
            where = held.get((number, *key))
            if where is not None or number == unit(row["submit"]):
                units[number].stages.append(tasks.work(key, row, where or _Path()))
    return units


@dataclass
class _Path:
    times: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    slots: int | None = None
    busy: int = 0
    own: int = 0


def _add(
    unit: Unit, held: dict[tuple[int, int, int], _Path], number: int, part: PathPart, one: Any
) -> None:
    stage: PathStage | None = part.stage
    if stage is None:
        for cause, ns in one.times.items():
            if cause == EXECUTORS:
                unit.executors += ns / NS
            else:
                unit.gaps[part.where or "in_query"] += ns / NS
        return
    path = held[number, stage.app, stage.stage_id]
    for cause, ns in one.times.items():
        if cause == WAITING:
            unit.executors += ns / NS
        else:
            path.times[cause] += ns
    if one.slots:
        path.slots = max(path.slots or 0, one.slots)
    path.busy, path.own = path.busy + one.busy, path.own + one.own


def _count(scope: Scope, units: list[Unit], unit: Any) -> None:
    first, last = (scope.window.intervals[0].start_wall_ns, scope.window.intervals[-1].end_wall_ns)
    for table, name, at in (
        ("jobs", "jobs", "submit_wall_ns"), ("sql_executions", "queries", "start_wall_ns"),
    ):  # fmt: skip
        if not scope.has(table):
            continue
        for (since,) in scope.tables.query(
            f"SELECT {at} FROM {table} WHERE {at} BETWEEN ? AND ?", [first, last]
        ):
            one = units[unit(since)]
            setattr(one, name, getattr(one, name) + 1)


def _stages(scope: Scope) -> dict[tuple[int, int], dict[str, Any]]:
    """Stages of the window by application and number, in order of submission; attempts as one."""
    rows = scope.tables.records(
        """
        SELECT s.app_index, s.stage_id, min(s.submit_wall_ns) AS submit, any_value(s.name) AS name,
          any_value(s.rdd_names) AS rdds, any_value(q.description) AS text
        FROM stages s LEFT JOIN sql_executions q USING (app_index, sql_id)
        WHERE s.submit_wall_ns IS NOT NULL
          AND EXISTS (FROM w WHERE s.submit_wall_ns < w.end_wall_ns
            AND coalesce(s.complete_wall_ns, w.end_wall_ns) > w.start_wall_ns)
        GROUP BY ALL ORDER BY s.app_index, submit, s.stage_id
        """
    )
    return {(row["app_index"], row["stage_id"]): row for row in rows}


_NUMBERED = re.compile(r"\s*\(\d+\)|#\d+")


def _signature(name: str, rdds: str | None) -> tuple[str, ...]:
    """Give what tells a stage from others, whatever its numbers are."""
    scopes = []
    for rdd in parse_json(rdds or "[]"):
        if isinstance(rdd, dict):
            scope = rdd.get("scope")
            text = scope.get("name") if isinstance(scope, dict) else rdd.get("name")
            scopes.append(_NUMBERED.sub("", str(text)).strip())
    return (name, *sorted(set(scopes)))


_TASKS = """
SELECT t.app_index, t.stage_id, t.task_index, t.status <> 'success' AS lost,
  coalesce(t.host, t.executor_id, '') AS host, t.has_metrics AS seen,
  t.launch_wall_ns::DOUBLE AS launch, (t.finish_wall_ns - t.launch_wall_ns)::DOUBLE AS duration,
  coalesce(t.finish_wall_ns - t.getting_result_wall_ns, 0)::DOUBLE AS fetching,
  {columns}
FROM tasks t JOIN (SELECT DISTINCT app_index, stage_id FROM w_tasks) USING (app_index, stage_id)
WHERE t.launch_wall_ns IS NOT NULL AND t.finish_wall_ns >= t.launch_wall_ns
  AND NOT (coalesce(t.speculative, false) AND t.status <> 'success')
  AND t.reason IS DISTINCT FROM 'Resubmitted'
ORDER BY t.app_index, t.stage_id, t.task_index, lost DESC, t.launch_wall_ns
"""
_READ = {
    "run": "executor_run_time_ns", "cpu": "executor_cpu_time_ns", "gc": "jvm_gc_time_ns",
    "deserialise": "executor_deserialize_time_ns", "serialise": "result_serialization_time_ns",
    "fetch_wait": "shuffle_fetch_wait_time_ns", "shuffle_write": "shuffle_write_time_ns",
    "input_bytes": "input_bytes", "input_rows": "input_records_count",
    "shuffle_bytes": "shuffle_read_local_bytes", "shuffle_remote_bytes": "shuffle_read_remote_bytes",
    "shuffle_rows": "shuffle_read_records_count", "spilled_bytes": "disk_spilled_bytes",
    "written_bytes": "shuffle_written_bytes", "output_bytes": "output_bytes",
    "output_rows": "output_records_count",
}  # fmt: skip


class _TasksOf:
    """Tasks of all stages of a run, by stage."""

    def __init__(self, scope: Scope, summary: Summary | None) -> None:
        columns = ", ".join(f"coalesce({c}, 0)::DOUBLE AS {name}" for name, c in _READ.items())
        found = scope.tables.columns(_TASKS.format(columns=columns))
        self.columns: dict[str, Any] = {n: np.ma.getdata(values) for n, values in found.items()}
        count = self.columns["launch"].size
        self.stages: dict[tuple[int, int], slice] = {}
        self.number = np.zeros(count, dtype=np.int64)
        if count:
            apps, ids = self.columns["app_index"], self.columns["stage_id"]
            edges = np.flatnonzero((np.diff(apps) != 0) | (np.diff(ids) != 0)) + 1
            bounds = [0, *edges.tolist(), count]
            for n, (since, until) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
                self.stages[int(apps[since]), int(ids[since])] = slice(since, until)
                self.number[since:until] = n
        self.volume = self._volume()
        self.hosts, self.host = np.unique(self.columns["host"], return_inverse=True)
        self.parts, self.slow = self._parts()
        self.samples, self.hits = _samples(scope, summary.operators if summary else ())
        self.waits = _waits(scope, _behind_others(summary))

    def _volume(self) -> Floats:
        """Give rows of each task, in a stage without them bytes, or else rows written."""
        c, n = self.columns, len(self.stages)
        found = np.zeros(self.number.size)
        for values in (
            c["input_rows"] + c["shuffle_rows"],
            c["input_bytes"] + c["shuffle_bytes"] + c["shuffle_remote_bytes"],
            c["output_rows"],
        ):
            none = np.bincount(self.number, found, n) <= 0
            found = np.where(none[self.number], values, found) if n else found
        return found

    def _parts(self) -> tuple[Floats, set[int]]:
        """Split the time of each attempt; what is split off is never more than what is left."""
        c = self.columns
        parts = np.zeros((c["launch"].size, len(COLUMNS)))
        if not parts.size:
            return parts, set()
        lost, seen = c["lost"].astype(bool), c["seen"].astype(bool)
        good = ~lost & seen
        left = c["duration"] / NS
        parts[lost, COLUMNS.index("retries")] = left[lost]
        parts[~lost & ~seen, COLUMNS.index("unseen")] = left[~lost & ~seen]
        left = np.where(good, left, 0.0)

        def take(column: str, ns: Floats, of: Floats) -> Floats:
            taken = np.minimum(np.maximum(np.where(good, ns / NS, 0.0), 0.0), of)
            parts[:, COLUMNS.index(column)] += taken
            return of - taken

        # The run is split; what is outside it is what a task costs beside its work.
        run = np.minimum(np.maximum(c["run"] / NS, 0.0), left)
        outside = left - np.where(good, run, 0.0)
        outside = take("deserialise", c["deserialise"], outside)
        outside = take("result", c["serialise"] + c["fetching"], outside)
        take("scheduler_delay", outside * NS, outside)
        inside = np.where(good, run, 0.0)
        inside = take("gc", c["gc"], inside)
        inside = take("cpu", c["cpu"], inside)
        inside = take("fetch_wait", c["fetch_wait"], inside)
        inside = take("shuffle_write", c["shuffle_write"], inside)
        take("waits", inside * NS, inside)
        slow = slower(
            np.where(good, c["run"] - c["gc"], 0.0), self.volume, self.number, self.host
        )  # fmt: skip
        work = [COLUMNS.index(name) for name in ("cpu", "fetch_wait", "shuffle_write", "waits")]
        for host, ratio in slow.items():
            mine = self.host == host
            for column in work:
                more = parts[mine, column] * (1 - 1 / ratio)
                parts[mine, column] -= more
                parts[mine, COLUMNS.index("slow_host")] += more
        return parts, set(slow)

    def work(self, key: tuple[int, int], row: Mapping[str, Any], path: _Path) -> Work:
        """Give a stage of a unit."""
        name = site(row["name"], row["text"]) or f"stage {key[1]}"
        waits = {cause: path.times[cause] / NS for cause in _WAITS if path.times.get(cause)}
        net = sum(ns for cause, ns in path.times.items() if cause not in _WAITS) / NS
        others = path.times.get("slots_busy", 0) / NS * (1 - path.own / path.busy) \
            if path.busy else 0.0  # fmt: skip
        place = self.stages.get(key)
        tasks = None if place is None else self._tasks(place)
        slots = path.slots or (self._at_once(place) if place is not None else 1)
        shares: dict[int, dict[str, float]] = {}
        if key in self.samples:
            shares[COLUMNS.index("cpu")] = self.samples[key]
        if key in self.waits:
            shares[COLUMNS.index("waits")] = self.waits[key]
        held = Held(waits, net, others / net if net > 0 else 0.0, tasks, slots, shares)
        slow = [] if place is None else sorted(
            str(self.hosts[n]) for n in self.slow & set(self.host[place].tolist())
        )  # fmt: skip
        return Work(
            key[1], name, _signature(name, row["rdds"]), held,
            {} if place is None else self._counts(place, slots), slow, self.hits.get(key, {}),
        )  # fmt: skip

    def _tasks(self, place: slice) -> Tasks | None:
        """Join the attempts of each task: time of those that were lost is part of it."""
        index = self.columns["task_index"][place]
        new = np.ones(index.size, dtype=bool)
        new[1:] = np.diff(index) != 0
        first = np.flatnonzero(new)
        if not first.size:
            return None
        parts = np.add.reduceat(self.parts[place], first, axis=0)
        volume = np.add.reduceat(np.where(self.columns["lost"][place].astype(bool), 0.0,
                                          self.volume[place]), first)  # fmt: skip
        order = np.argsort(np.minimum.reduceat(self.columns["launch"][place], first), kind="stable")
        return Tasks(parts[order], _PER_TASK, volume[order])

    def _at_once(self, place: slice) -> int:
        launch = self.columns["launch"][place]
        ends = launch + self.columns["duration"][place]
        times = np.concatenate([ends, launch])
        change = np.concatenate([-np.ones(ends.size), np.ones(launch.size)])
        order = np.lexsort((change, times))
        return max(1, int(np.cumsum(change[order]).max(initial=1)))

    def _counts(self, place: slice, slots: int) -> dict[str, float]:
        c = self.columns
        lost = c["lost"][place].astype(bool)
        found = {
            name: float(c[name][place].sum())
            for name in ("input_rows", "input_bytes", "shuffle_rows", "written_bytes",
                         "spilled_bytes", "output_bytes")  # fmt: skip
        }
        found["shuffle_bytes"] = float(
            c["shuffle_bytes"][place].sum() + c["shuffle_remote_bytes"][place].sum()
        )
        sums = self.parts[place].sum(axis=0)
        found |= {f"{name}_s": float(sums[n]) for n, name in enumerate(COLUMNS)}
        found |= {
            "tasks": float(np.unique(c["task_index"][place]).size),
            "lost_attempts": float(lost.sum()),
            "slots": float(slots),
            "task_s": float(c["duration"][place].sum()) / NS,
            "volume": float(self.volume[place][~lost].sum()),
            "most_volume": float(self.volume[place][~lost].max(initial=0.0)),
        }
        return found


Shares = dict[tuple[int, int], dict[str, float]]
Hits = dict[tuple[int, int], dict[str, tuple[float, float]]]


def _samples(scope: Scope, operators: Sequence[Operator]) -> tuple[Shares, Hits]:
    """Give shares of CPU by operator and expression, of stages that have samples."""
    if not scope.has("samples"):
        return {}, {}
    attribution(scope)
    within = _expressions(operators)
    found: dict[tuple[int, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for app, stage, sql, operator, n in scope.tables.query(
        "SELECT coalesce(app_index, 0), stage_id, sql_id, operator, sum(hits)::BIGINT"
        " FROM task_samples WHERE event = 'cpu' AND stage_id IS NOT NULL AND hits > 0 GROUP BY ALL"
    ):
        name, rest = operator or "no operator", float(n)
        for text, share in within.get((sql, name), {}).items():
            found[app, stage][f"{name}{EXPRESSION}{text}"] += n * share
            rest -= n * share
        found[app, stage][name] += max(0.0, rest)
    hits: Hits = {}
    for key, names in found.items():
        total = sum(names.values())
        hits[key] = {name: (n, total) for name, n in names.items() if n > 0}
    shares = {
        key: {name: n / total for name, (n, total) in names.items()} for key, names in hits.items()
    }
    return shares, hits


def _expressions(operators: Sequence[Operator]) -> dict[tuple[int | None, str], dict[str, float]]:
    """Give the shares of expressions in the samples of an operator of an SQL execution."""
    whole: dict[tuple[int | None, str], float] = defaultdict(float)
    found: dict[tuple[int | None, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one in operators:
        key = (one.sql_id, one.operator)
        whole[key] += one.samples_count
        for inside in one.expressions:
            found[key][unnumbered(inside.expression)] += inside.samples_count
    return {
        key: {text: min(1.0, n / whole[key]) for text, n in texts.items()}
        for key, texts in found.items()
        if whole[key] > 0
    }


def _behind_others(summary: Summary | None) -> float:
    """Give the share of the time in run queues that others' threads had the CPU."""
    queue = summary.contention.run_queue_ns if summary else None
    behind = summary.contention.behind_others_ns if summary else None
    if not queue or behind is None or behind.value is None:
        return 0.0
    return min(1.0, max(0.0, behind.value / queue))


def _waits(scope: Scope, behind_others: float) -> Shares:
    """Give shares of the time off CPU by what tasks waited for, where that was observed."""
    if scope.tables.scalar("SELECT count(*) FROM w_spans") == 0:
        return {}
    groups, _ = parts(scope, "stage", Only(), _MOST_STAGES)
    sums: dict[tuple[int, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for group in groups:
        if group.stage_id is None:
            continue
        key = (group.app_index or 0, group.stage_id)
        for row in group.view.rows:
            name, ns = row.path.removeprefix("task/"), max(0.0, float(row.value_ns or 0))
            if name == "run_queue":
                sums[key]["behind_others"] += ns * behind_others
                sums[key][name] += ns * (1 - behind_others)
            elif name.startswith("waiting/") and name.count("/") == 1:
                sums[key][name.removeprefix("waiting/")] += ns
    return {
        key: {name: ns / total for name, ns in names.items() if ns > 0}
        for key, names in sums.items()
        if (total := sum(names.values())) > 0
    }
