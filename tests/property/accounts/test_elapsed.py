"""The elapsed view on random schedules: a partition, with the causes of a naive count."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.simulation.schedules import END, ms, put_back, schedules
from tests.support.tables import MS, Rows, wall, write_tables

from pyrometer.accounts.ledger.elapsed.causes import causes_of
from pyrometer.accounts.ledger.elapsed.critical_path import StageTimes, critical_path
from pyrometer.accounts.ledger.elapsed.elapsed_view import elapsed
from pyrometer.accounts.ledger.elapsed.path import path_parts
from pyrometer.store import Run
from pyrometer.window.scope import Scope
from pyrometer.window.windows import Interval, Window

SECOND = 1_000_000_000
TIMES = st.tuples(*[st.integers(0, 100)] * 4).map(sorted)


@st.composite
def stages(draw: st.DrawFn) -> list[StageTimes]:
    found: list[StageTimes] = []
    for times in draw(st.lists(TIMES, max_size=12)):
        submit, first, last, complete = (at * SECOND for at in times)
        ran = draw(st.booleans())
        parents = draw(st.sets(st.integers(0, len(found) - 1), max_size=3)) if found else set()
        found.append(
            StageTimes(
                submit,
                complete,
                first if ran else None,
                last if ran else None,
                tuple(sorted(parents)),
                draw(st.none() | st.just(max(0, submit - SECOND))),
            )
        )
    return found


@given(stages(), st.integers(0, 100), st.integers(0, 100))
@example([StageTimes(0, 0), StageTimes(5 * SECOND, 5 * SECOND)], 0, 100)
@settings(deadline=None)
def test_a_path_covers_the_window_once_and_every_stage_on_it_was_active(
    given_stages: list[StageTimes], one: int, other: int
) -> None:
    start, end = sorted((one * SECOND, other * SECOND))
    path = critical_path(given_stages, start, end)
    bounds = [(part.start, part.end) for part in path]
    assert [since for since, _ in bounds] == [start, *(until for _, until in bounds[:-1])][
        : len(bounds)
    ]
    assert (bounds[-1][1] if bounds else start) == end
    for part in path:
        assert part.start < part.end
        if part.stage is not None:
            stage = given_stages[part.stage]
            assert stage.submit <= part.start
            assert part.end <= stage.complete


@given(stages())
@settings(deadline=None)
def test_no_stage_is_on_the_path_where_none_was_active(given_stages: list[StageTimes]) -> None:
    path = critical_path(given_stages, 0, 100 * SECOND)
    for at in range(100):
        middle = at * SECOND + SECOND // 2
        active = any(stage.submit <= middle < stage.complete for stage in given_stages)
        on_path = next(part for part in path if part.start <= middle < part.end)
        if not active:
            assert on_path.stage is None


def naive(rows: Rows, stage_id: int, t: int) -> dict[str, float]:
    """Look at one millisecond of a stage on the path: its causes, which add up to 1."""
    cpus = 2 if "2" in rows["apps"][0]["spark_conf"] else 1
    slots = fresh = 0
    for e in rows["executors"]:
        until = END if e["remove_wall_ns"] is None else ms(e["remove_wall_ns"])
        if ms(e["add_wall_ns"]) <= t < until:
            n = e["cores_count"] // cpus
            slots += n
            launches = [ms(x["launch_wall_ns"]) for x in rows["tasks"]
                        if x["executor_id"] == e["executor_id"]]  # fmt: skip
            fresh += n if not launches or t < min(launches) else 0
    running = [x for x in rows["tasks"] if ms(x["launch_wall_ns"]) <= t < ms(x["finish_wall_ns"])]
    stage = next(s for s in rows["stages"] if s["stage_id"] == stage_id)
    mine = [x for x in rows["tasks"] if x["stage_id"] == stage_id]
    own = sum(x["stage_id"] == stage_id for x in running)
    counted = [x for x in mine if not x["speculative"]]
    pending = stage["planned_tasks_count"]
    pending -= sum(ms(x["launch_wall_ns"]) <= t for x in counted)
    until = ms(stage["complete_wall_ns"])
    pending += sum((at := put_back(rows, x)) is not None and min(at, until) <= t for x in counted)
    if own <= 0 and stage["planned_tasks_count"] > 0 and not counted:
        return {"running": 1}
    if own <= 0 and pending <= 0:
        return {"finishing": 1}
    begins = [ms(x["launch_wall_ns"]) for x in rows["tasks"]]
    if begins and min(ms(e["add_wall_ns"]) for e in rows["executors"]) > min(begins):
        return {"running": 1}
    if slots <= 0 and own <= 0:
        return {"executor_startup": 1}
    if len(running) >= slots:
        return {"slots_busy": 1}
    if pending > 0:
        why = "executor_startup" if fresh >= slots - len(running) else "waiting_to_launch"
        busy = len(running) / slots
        return {"slots_busy": busy, why: 1 - busy}
    return {"too_few_tasks" if stage["planned_tasks_count"] < slots else "stage_tail": 1}


@given(schedules(), st.integers(0, END), st.integers(0, END))
@settings(
    max_examples=examples(12, 40), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_causes_are_those_of_a_naive_count_and_the_view_closes(
    rows: Rows, one: int, other: int
) -> None:
    start, end = sorted((one, other))
    window = Window("part", (), (Interval(wall(start), wall(end)),))
    with tempfile.TemporaryDirectory() as folder, Run.open(_written(folder, rows)) as run:
        scope = Scope(run, window)
        parts = list(path_parts(scope))
        causes = causes_of(scope, parts)
        found, view = elapsed(scope)
    for part, cause in zip(parts, causes, strict=True):
        assert sum(cause.times.values()) == part.end - part.start
        if part.stage is not None:
            expected: Counter[str] = Counter()
            for t in range(ms(part.start), ms(part.end)):
                expected.update(naive(rows, part.stage.stage_id, t))
            for name in cause.times.keys() | expected.keys():
                assert abs(cause.times.get(name, 0) / MS - expected[name]) < 1e-3, name
    if start < end:
        assert view.closure_ratio == 0
        assert found.total_ns == (end - start) * MS
        assert found.executors_ns + found.stages_ns + found.driver_ns == found.total_ns
        assert [found.path[0].start_ns, found.path[-1].end_ns] == [0, found.total_ns]


def _written(folder: str, rows: Rows) -> Path:
    return write_tables(Path(folder), rows)
