"""Scheduler delay by the way of its messages: launch, and result."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.hosts.two_hosts import TwoHosts, WestClock
from tests.support.tables import HOST, MS, OFFSET, S, StageSpec, World

from pyrometer.accounts.ledger.messages import delay_parts
from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.ledger.schema import Row
from pyrometer.accounts.ledger.sums import Sources, Sums
from pyrometer.store import Run

STAGES = [StageSpec([400, 300, 500, 200, 700, 100])]
LAUNCH_MS, RESULT_MS = 2, 1
# What is said of both: times of the log are cut to milliseconds, half of one later on average.
HALF = MS // 2
LAUNCH, RESULT = LAUNCH_MS * MS - HALF, RESULT_MS * MS + HALF


def delays(folder: Path, window: str | None = None) -> dict[str, Row]:
    with Run.open(folder) as run:
        rows = ledger_report(run, window=window).slot_view.rows
    return {row.path: row for row in rows if row.path.startswith("scheduler_delay")}


def parts_of(found: dict[str, Row]) -> int:
    return sum(row.value_ns or 0 for path, row in found.items() if "/" in path)


def test_each_way_of_a_tasks_messages_is_a_part_of_the_delay(tmp_path: Path) -> None:
    found = delays(World(STAGES).write(tmp_path))
    assert {path: row.value_ns for path, row in found.items()} == {
        "scheduler_delay": 6 * 3 * MS, "scheduler_delay/launch": 6 * LAUNCH,
        "scheduler_delay/result": 6 * RESULT,
    }  # fmt: skip
    launch = found["scheduler_delay/launch"]
    # The driver may have launched each up to a millisecond later than its log says.
    assert (launch.low_ns, launch.high_ns, launch.n) == (6 * MS, 12 * MS, 6)


def test_a_small_step_of_the_drivers_wall_clock_widens_what_is_known(tmp_path: Path) -> None:
    world = World(STAGES)
    world.rows["clock_pairs"][-1]["wall_ns"] += 5 * MS
    launch = delays(world.write(tmp_path))["scheduler_delay/launch"]
    assert launch.low_ns == 6 * MS
    # No more than the whole delay, which the driver measured by one clock.
    assert launch.value_ns == 6 * (LAUNCH_MS + RESULT_MS) * MS
    assert launch.high_ns == 6 * (LAUNCH_MS + RESULT_MS + 1) * MS


def test_milliseconds_of_the_log_are_no_part_of_short_messages(tmp_path: Path) -> None:
    world = World([StageSpec([400] * 10)], slots=1)
    spans = {row["task_attempt_id"]: row for row in world.rows["spans"]}
    each = 4 * MS // 10
    for number, task in enumerate(world.rows["tasks"]):
        span, task["executor_deserialize_time_ns"] = spans[task["task_attempt_id"]], 0
        # Launched at any time within the millisecond that the log has.
        begin = task["launch_wall_ns"] - OFFSET + number * MS // 10 + each
        length = span["end_mono_ns"] - span["start_mono_ns"]
        span |= {"start_mono_ns": begin, "end_mono_ns": begin + length}
        task["finish_wall_ns"] = (begin + length + each + OFFSET) // MS * MS
    found = delays(world.write(tmp_path))
    for name in ("launch", "result"):
        row = found[f"scheduler_delay/{name}"]
        assert row.low_ns is not None
        assert row.high_ns is not None
        assert abs((row.value_ns or 0) - 10 * each) <= MS, name
        assert row.low_ns <= 10 * each <= row.high_ns


@pytest.mark.parametrize(("launch", "result"), [(-3, 8), (8, -3)])
def test_no_way_takes_less_than_nothing_whatever_clocks_say(launch: int, result: int) -> None:
    sources = Sources(True, True, True, True, True)
    found = Sums(
        sources, launch=launch, launch_low=min(launch, 0), launch_high=launch + 9,
        result=result, result_low=min(result, 0), result_high=result + 9, parted=2,
    )  # fmt: skip
    rows = {row.path: row for row in delay_parts(found, 0)}
    values = [row.value_ns or 0 for row in rows.values()]
    assert sorted(values) == [0, launch + result]
    for row in rows.values():
        assert (row.low_ns or 0) <= (row.value_ns or 0) <= (row.high_ns or 0)


@pytest.mark.parametrize("drift_ppm", [0.0, 200.0, -200.0])
def test_on_another_host_they_are_known_as_well_as_its_clock(
    tmp_path: Path, drift_ppm: float
) -> None:
    two = TwoHosts(STAGES, WestClock(3600 * S, drift_ppm))
    found = delays(two.write(tmp_path))
    whole = found["scheduler_delay"].value_ns
    assert parts_of(found) == whole
    for name, each in (("launch", LAUNCH_MS), ("result", RESULT_MS)):
        row = found[f"scheduler_delay/{name}"]
        assert row.low_ns is not None
        assert row.high_ns is not None
        assert row.low_ns <= 6 * each * MS <= row.high_ns
        # Wider than the log's milliseconds by the bound of the clock there.
        assert row.high_ns - (row.value_ns or 0) > 6 * HALF


def test_delays_on_a_host_whose_clock_nothing_bounds_stay_whole(tmp_path: Path) -> None:
    two = TwoHosts(STAGES, WestClock(3600 * S), pings=False)
    for row in two.rows["tasks"]:
        # Its tasks end badly: the driver may have written their ends by itself.
        if row["host"] != HOST:
            row["status"] = "failed"
    for row in two.rows["spans"]:
        if row["host"] != HOST:
            row["status"] = "failed"
    found = delays(two.write(tmp_path))
    unsplit = found["scheduler_delay/not_split"]
    assert unsplit.n == sum(row["host"] != HOST for row in two.rows["spans"])
    assert unsplit.value_ns == (unsplit.n or 0) * 3 * MS
    assert parts_of(found) == found["scheduler_delay"].value_ns


def test_without_the_drivers_clock_the_delay_stays_whole_and_says_why(tmp_path: Path) -> None:
    world = World(STAGES)
    world.rows["processes"][0]["role"] = "executor"
    found = delays(world.write(tmp_path))
    assert list(found) == ["scheduler_delay"]
    assert "not split by its messages: no record of the driver" in found["scheduler_delay"].source


def test_an_attempt_that_the_driver_gave_up_before_its_task_ended_is_not_split(
    tmp_path: Path,
) -> None:
    world = World(STAGES)
    world.rows["tasks"][0]["finish_wall_ns"] -= 50 * MS
    found = delays(world.write(tmp_path))
    assert found["scheduler_delay/not_split"].n == 1
    assert found["scheduler_delay/launch"].value_ns == 5 * LAUNCH


def test_the_overlap_with_the_next_attempt_is_the_results(tmp_path: Path) -> None:
    world = World([StageSpec([400, 300])], slots=1)
    # The driver notes the first end 10 ms late: the slot runs the next attempt by then.
    world.rows["tasks"][0]["finish_wall_ns"] += 10 * MS
    found = delays(world.write(tmp_path))
    assert found["scheduler_delay"].value_ns == 2 * 3 * MS
    assert found["scheduler_delay/launch"].value_ns == 2 * LAUNCH
    assert found["scheduler_delay/result"].value_ns == 2 * RESULT
