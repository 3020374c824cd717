"""Random schedules against a straightforward millisecond-by-millisecond count."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.simulation.schedules import END, ms, put_back, schedules
from tests.support.tables import MS, Rows, wall, write_tables

from pyrometer.accounts.ledger.slot_view import CAUSES, slots
from pyrometer.store import Run
from pyrometer.window.scope import Scope
from pyrometer.window.windows import Interval, Window, choose


def naive(rows: Rows, start: int, end: int) -> dict[str, int]:
    """Look at every millisecond by itself."""
    cpus = 2 if "2" in rows["apps"][0]["spark_conf"] else 1
    found = dict.fromkeys((*CAUSES, "total", "busy", "overlap"), 0)
    for t in range(start, end):
        registered = fresh = 0
        for e in rows["executors"]:
            until = END if e["remove_wall_ns"] is None else ms(e["remove_wall_ns"])
            if not ms(e["add_wall_ns"]) <= t < until:
                continue
            n = e["cores_count"] // cpus
            registered += n
            launches = [
                ms(x["launch_wall_ns"])
                for x in rows["tasks"]
                if x["executor_id"] == e["executor_id"]
            ]
            if not launches or t < min(launches):
                fresh += n
        running = sum(ms(x["launch_wall_ns"]) <= t < ms(x["finish_wall_ns"]) for x in rows["tasks"])
        active = [
            s for s in rows["stages"] if ms(s["submit_wall_ns"]) <= t < ms(s["complete_wall_ns"])
        ]
        planned = sum(s["planned_tasks_count"] for s in active)
        pending = 0
        for s in active:
            mine = [
                x for x in rows["tasks"] if x["stage_id"] == s["stage_id"] and not x["speculative"]
            ]
            launched = sum(ms(x["launch_wall_ns"]) <= t for x in mine)
            back = sum((at := put_back(rows, x)) is not None and at <= t for x in mine)
            pending += s["planned_tasks_count"] - launched + back
        idle = max(0, registered - running)
        found["total"] += registered
        found["busy"] += running
        found["overlap"] += max(0, running - registered)
        if not active:
            found["driver"] += idle
        elif pending > 0:
            found["executor_startup"] += min(idle, fresh)
            found["waiting_to_launch"] += idle - min(idle, fresh)
        elif planned < registered:
            found["too_few_tasks"] += idle
        else:
            found["stage_tail"] += idle
    return found


@given(schedules(), st.integers(0, END), st.integers(0, END))
@settings(
    max_examples=examples(12, 40), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_random_schedules_give_the_slot_time_of_a_naive_count(
    rows: Rows, one: int, other: int
) -> None:
    start, end = sorted((one, other))
    with tempfile.TemporaryDirectory() as folder, Run.open(_written(folder, rows)) as run:
        window = Window("part", (), (Interval(wall(start), wall(end)),))
        found = slots(Scope(run, window))
        whole = slots(Scope(run, choose(run, "application")))
    assert found is not None
    assert whole is not None
    for got, expected in ((found, naive(rows, start, end)), (whole, naive(rows, 0, END))):
        assert {k: v / MS for k, v in got.idle_ns.items()} == {k: expected[k] for k in CAUSES}
        assert got.total_ns == expected["total"] * MS
        assert got.busy_ns == expected["busy"] * MS
        assert got.overlap_ns == expected["overlap"] * MS
        # Registered time is idle or busy, each once.
        assert got.total_ns == sum(got.idle_ns.values()) + got.busy_ns - got.overlap_ns


def _written(folder: str, rows: dict[str, list[dict[str, Any]]]) -> Path:
    return write_tables(Path(folder), rows)
