"""What held the path up at each instant of it: tasks, slots, executors, the driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.accounts.ledger.elapsed.path import PathPart
from pyrometer.accounts.ledger.elapsed.waits import KINDS, Awaited
from pyrometer.accounts.ledger.events import ATTEMPTS, RETURNED, SLOTS, define_events
from pyrometer.window.scope import Scope

EXECUTORS, DRIVER = "executors", "driver"
WAITING = "executor_startup"
_NAMES = (
    DRIVER, WAITING, "running", "finishing", "slots_busy", "waiting_to_launch", "too_few_tasks",
    "stage_tail",
)  # fmt: skip
_CODE = {name: code for code, name in enumerate(_NAMES)}

Ints = NDArray[np.int64]


@dataclass
class Causes:
    """Time of one part of the path by cause.

    Attributes
    ----------
    times : dict of str to int
        Nanoseconds by cause; of a gap, ``executors`` or ``driver``.
    waits : dict of str to int
        The time that waited for executors, by what that was (`waits.KINDS`).
    slots : int or None
        The most slots there were.
    busy, own : int
        Task time on full slots, and that of the stage on the path; in nanoseconds.
    """

    times: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    waits: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    slots: int | None = None
    busy: int = 0
    own: int = 0


def causes_of(scope: Scope, parts: Sequence[PathPart]) -> list[Causes]:
    """Say of each part of the path what it waited for."""
    found = [Causes() for _ in parts]
    by_app: dict[int, list[int]] = defaultdict(list)
    for number, part in enumerate(parts):
        by_app[part.app].append(number)
    for app, numbers in by_app.items():
        _of_application(scope, app, [parts[n] for n in numbers], [found[n] for n in numbers])
    return found


# Arrays and not a query of windows, which took 55 MB for a hundred thousand tasks.
_STAGES = """
SELECT c.stage_id, c.stage_attempt, c.since, c.planned::BIGINT AS planned,
  coalesce(c.launches = 0 AND c.planned > 0 AND d.status = 'succeeded', false) AS unseen
FROM l_stages c JOIN stages d USING (app_index, stage_id, stage_attempt)
WHERE c.app_index = $1 ORDER BY c.code
"""


def _of_application(
    scope: Scope, app: int, parts: Sequence[PathPart], found: Sequence[Causes]
) -> None:
    """Fill in the causes of an application's parts, which are in order of time."""
    define_events(scope.tables)
    queries = (SLOTS, _STAGES, ATTEMPTS, RETURNED)
    slots, stages, attempts, back = (
        {name: np.ma.getdata(values) for name, values in columns.items()}
        for columns in (scope.tables.columns(sql, [app]) for sql in queries)
    )
    awaited = Awaited.of(scope, app)
    starts = np.array([part.start for part in parts], dtype=np.int64)
    ends = np.array([part.end for part in parts], dtype=np.int64)
    ran = {name: values[~attempts["again"]] for name, values in attempts.items()}
    bounds = [starts, ends, *(slots[n] for n in ("since", "until", "used")),
              *([awaited.changes] if awaited else [])]  # fmt: skip
    times = np.unique(np.concatenate([*bounds, ran["since"], ran["until"]]))

    def level(*changes: tuple[Ints, Ints]) -> Ints:
        total = np.zeros(times.size + 1, dtype=np.int64)
        for at, change in changes:
            np.add.at(total, np.searchsorted(times, at), change)
        summed: Ints = np.cumsum(total)
        return summed

    n, one = slots["n"], np.ones(ran["since"].size, dtype=np.int64)
    offered = level((slots["since"], n), (slots["until"], -n))
    fresh = level((slots["since"], n), (slots["used"], -n))
    running = level((ran["since"], one), (ran["until"], -one))

    instants = np.arange(times.size - 1)
    part = np.searchsorted(starts, times[:-1], side="right") - 1
    kept = (part >= 0) & (times[:-1] < ends[part])
    instants, part = instants[kept], part[kept]
    dt = np.diff(times)[kept]
    codes = {
        pair: code
        for code, pair in enumerate(
            zip(stages["stage_id"].tolist(), stages["stage_attempt"].tolist(), strict=True)
        )
    }
    of_part = np.array(
        [codes.get((p.stage.stage_id, p.stage.attempt), -1) if p.stage else -1 for p in parts],
        dtype=np.int64,
    )
    stage = of_part[part]
    own = _own_level(
        times, stage, instants,
        (ran["code"], ran["since"], one), (ran["code"], ran["until"], -one),
    )  # fmt: skip
    first = ~ran["speculative"]
    pending = _own_level(
        times, stage, instants,
        (ran["code"][first], ran["since"][first], -one[first]),
        (back["code"], back["at"], np.ones(back["code"].size, dtype=np.int64)),
        (np.arange(len(codes)), stages["since"], stages["planned"]),
    )  # fmt: skip
    sized = n.size > 0 and slots["since"].min() <= attempts["since"].min(
        initial=np.iinfo(np.int64).max
    )
    levels = {
        "slots": offered[instants],
        "fresh": fresh[instants],
        "run": running[instants],
        "own": own,
        "pending": pending,
        "planned": _of_stage(stages["planned"], stage, 0),
        "unseen": _of_stage(stages["unseen"], stage, False),
    }
    why = _named(levels, stage >= 0, bool(sized))
    kinds = awaited.kinds(times[instants], levels["slots"]) if awaited else None
    _add(parts, found, part, dt, why, stage >= 0, levels, kinds)


def _own_level(times: Ints, stage: Ints, instants: Ints, *changes: tuple[Ints, Ints, Ints]) -> Ints:
    """Sum up changes of each stage, up to each instant of it; 0 where no stage is."""
    width = times.size + 1
    keys = np.concatenate([code * width + np.searchsorted(times, at) for code, at, _ in changes])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    summed = np.concatenate(([0], np.cumsum(np.concatenate([c for _, _, c in changes])[order])))
    until = summed[np.searchsorted(keys, stage * width + instants, side="right")]
    before = summed[np.searchsorted(keys, stage * width)]
    found: Ints = np.where(stage >= 0, until - before, 0)
    return found


def _of_stage(values: NDArray[Any], stage: Ints, default: int | bool) -> NDArray[Any]:
    return np.append(values, default)[stage]


def _named(levels: Mapping[str, NDArray[Any]], in_stage: NDArray[Any], sized: bool) -> Ints:
    """Name what each instant waited for.

    While tasks wait and some slots are free, the busy share of the slots counts as busy: one free
    slot of a hundred holds nothing up. Slots are unknown where all executors registered after the
    first task, tasks where a stage succeeded without any.
    """
    slots, run, own, pending = (levels[name] for name in ("slots", "run", "own", "pending"))
    rules: list[tuple[NDArray[Any], str]] = [
        (~in_stage & sized & (slots <= 0), WAITING),
        (~in_stage, DRIVER),
        (levels["unseen"] & (own <= 0), "running"),
        ((own <= 0) & (pending <= 0), "finishing"),
        (np.full(own.size, not sized), "running"),
        ((slots <= 0) & (own <= 0), WAITING),
        (run >= slots, "slots_busy"),
        ((pending > 0) & (levels["fresh"] >= slots - run), WAITING),
        (pending > 0, "waiting_to_launch"),
        (levels["planned"] < slots, "too_few_tasks"),
    ]
    conditions, names = zip(*rules, strict=True)
    named: Ints = np.select(conditions, [_CODE[name] for name in names], _CODE["stage_tail"])
    return named


def _add(
    parts: Sequence[PathPart],
    found: Sequence[Causes],
    part: Ints,
    dt: Ints,
    why: Ints,
    in_stage: NDArray[Any],
    levels: Mapping[str, NDArray[Any]],
    kinds: Ints | None,
) -> None:
    """Add the time of every instant to its part."""
    slots, run, own = levels["slots"], levels["run"], levels["own"]
    waits = in_stage & (slots > 0) & np.isin(why, (_CODE[WAITING], _CODE["waiting_to_launch"]))
    size = np.maximum(slots, 1)
    # The same as dt × run // slots, and never above 2⁶³.
    busy_dt = np.where(waits, dt // size * run + dt % size * run // size, 0)
    spent = np.zeros((len(parts), len(_NAMES)), dtype=np.int64)
    np.add.at(spent, (part, why), dt - busy_dt)
    np.add.at(spent, (part, np.full(part.size, _CODE["slots_busy"])), busy_dt)
    waited = np.zeros((len(parts), len(KINDS)), dtype=np.int64)
    if kinds is not None:
        np.add.at(waited, (part, kinds), np.where(why == _CODE[WAITING], dt - busy_dt, 0))
    full = np.where(why == _CODE["slots_busy"], dt, busy_dt).astype(np.float64)
    busy = np.bincount(part, full * run, len(parts))
    mine = np.bincount(part, full * own, len(parts))
    most = np.full(len(parts), np.iinfo(np.int64).min)
    np.maximum.at(most, part, slots)
    rows, codes = np.nonzero(spent)
    for number, code, ns in zip(
        rows.tolist(), codes.tolist(), spent[rows, codes].tolist(), strict=True
    ):
        name, where = _NAMES[code], parts[number]
        if where.stage is None:
            if name == WAITING and where.where != "before_executors":
                waited[number] = 0
                name = DRIVER
            name = EXECUTORS if name == WAITING else DRIVER
        found[number].times[name] += ns
    for number, kind in zip(*(at.tolist() for at in np.nonzero(waited)), strict=True):
        found[number].waits[KINDS[kind]] += int(waited[number, kind])
    none = np.iinfo(np.int64).min
    sums = zip(found, parts, most.tolist(), busy.tolist(), mine.tolist(), strict=True)
    for one, where, slots_count, busy_ns, own_ns in sums:
        if slots_count > none:
            one.slots = max(one.slots or 0, slots_count)
        if where.stage is not None:
            one.busy, one.own = one.busy + round(busy_ns), one.own + round(own_ns)
