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

from pyrometer.accounts.ledger.elapsed.causes import EXECUTORS, WAITING, causes_of
from pyrometer.accounts.ledger.elapsed.path import PathPart, PathStage, path_parts
from pyrometer.accounts.stage_names import at_file, stage_name
from pyrometer.accounts.window import open_scope
from pyrometer.compare.sampled_shares import (
    Hits,
    Shares,
    behind_others,
    cpu_by_operator,
    waits_by_class,
)
from pyrometer.compare.stage_change import Held
from pyrometer.compare.stage_tasks import COLUMNS, NS, TasksOf
from pyrometer.core.json_text import parse_json
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

_WAITS = ("waiting_to_launch", "finishing")


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
    known = _Known.of(scope, summary)
    for key, row in _stages(scope).items():
        for number in sorted({unit(row["submit"])} | {n for n, *k in held if tuple(k) == key}):
            where = held.get((number, *key))
            if where is not None or number == unit(row["submit"]):
                units[number].stages.append(_work(known, key, row, where or _Path()))
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


@dataclass(frozen=True)
class _Known:
    """Tasks of a run, and what samples say about its stages."""

    tasks: TasksOf
    cpu: Shares
    hits: Hits
    waits: Shares

    @classmethod
    def of(cls, scope: Scope, summary: Summary | None) -> _Known:
        cpu, hits = cpu_by_operator(scope, summary.operators if summary else ())
        return cls(TasksOf(scope), cpu, hits, waits_by_class(scope, behind_others(summary)))


def _work(known: _Known, key: tuple[int, int], row: Mapping[str, Any], path: _Path) -> Work:
    """Give a stage of a unit."""
    name = at_file(stage_name(row["name"], row["text"]) or f"stage {key[1]}")
    waits = {cause: path.times[cause] / NS for cause in _WAITS if path.times.get(cause)}
    net = sum(ns for cause, ns in path.times.items() if cause not in _WAITS) / NS
    full = path.times.get("slots_busy", 0) / NS
    others = full * (1 - path.own / path.busy) if path.busy else 0.0
    shares = {
        COLUMNS.index(column): of_stage[key]
        for column, of_stage in (("cpu", known.cpu), ("waits", known.waits))
        if key in of_stage
    }
    found = Work(
        stage_id=key[1],
        name=name,
        signature=_signature(name, row["rdds"]),
        held=Held(waits, net, slots=path.slots or 1, shares=shares),
        hits=known.hits.get(key, {}),
    )
    place = known.tasks.stages.get(key)
    if place is None:
        return found
    slots = path.slots or known.tasks.at_once(place)
    found.held = Held(
        waits, net, others / net if net > 0 else 0.0, known.tasks.of(place), slots, shares
    )
    found.counts = known.tasks.counts(place, slots)
    found.slow_hosts = known.tasks.slow_hosts(place)
    return found
