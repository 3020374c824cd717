"""Executors that were not there yet: what was the cluster's, and what their own start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosts.two_hosts import TwoHosts, WestClock
from tests.support.tables import HOST, MS, OFFSET, S, StageSpec, World, mono, wall, write_tables

from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.ledger.schema import Row
from pyrometer.store import Run

LOG = {"apps", "executors", "stages", "tasks"}
RECORDED = {*LOG, "processes", "clock_pairs", "os_series"}
CONF = {"spark.executor.instances": "2"}
DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}
LATER = "executors/not_granted/came_later"
STARTING = "executors/starting"
UNSPLIT = "executors/not_granted_or_starting"


def world(conf: dict[str, str] = CONF) -> World:
    """Two executors of two slots, which register at 60 and at 80 ms, before the only stage."""
    made = World([StageSpec([400, 300])], slots=2)
    made.rows["apps"][0] |= {"master": "yarn", "spark_conf": json.dumps(conf)}
    for row in made.rows["tasks"]:
        row["executor_id"] = "1"
    made.rows["executors"] = [
        {"app_index": 0, "executor_id": name, "host": f"h{name}", "cores_count": 2,
         "add_wall_ns": wall(since)} for name, since in (("1", 60), ("2", 80))
    ]  # fmt: skip
    return made


def started(made: World, name: str, jvm_ms: int, plugin_ms: int, pid: int) -> None:
    """Let the plugin record an executor that runs beside the driver."""
    facts = {"mono_ns": mono(plugin_ms), "wall_ns": mono(plugin_ms) + OFFSET + 7 * MS,
             "jvm_start_wall_ms": (mono(jvm_ms) + OFFSET + 7 * MS) // MS}  # fmt: skip
    made.add("processes", host=HOST, pid=pid, role="executor", executor_id=name, app_id="local-1",
             start_mono_ns=mono(plugin_ms), facts=json.dumps(facts))  # fmt: skip


def ledger(made: World, folder: Path, only: set[str] = RECORDED) -> Any:
    write_tables(folder, made.rows, only)
    with Run.open(folder) as run:
        return ledger_report(run)


def memos(made: World, folder: Path, only: set[str] = RECORDED) -> dict[str, Row]:
    return {r.path: r for r in ledger(made, folder, only).slot_view.memos if "executors" in r.path}


def test_before_its_process_an_executor_is_not_granted_and_after_it_starting(
    tmp_path: Path,
) -> None:
    made = world()
    started(made, "1", 40, 50, 71)
    started(made, "2", 50, 65, 72)
    found = memos(made, tmp_path)
    assert {path: row.value_ns for path, row in found.items()} == {
        "executors/not_granted": 2 * (40 + 50) * MS, LATER: 2 * (40 + 50) * MS,
        STARTING: 2 * (20 + 30) * MS,
    }  # fmt: skip
    assert found[LATER].n == found[STARTING].n == 2
    # The event log has whole milliseconds: each of four slots may have begun one earlier or later.
    assert (found[STARTING].low_ns, found[STARTING].high_ns) == (96 * MS, 104 * MS)
    assert found[LATER].low_ns == (180 - 4) * MS


def test_what_a_probe_read_of_the_process_goes_before_what_its_jvm_says(tmp_path: Path) -> None:
    made = world()
    started(made, "1", 40, 50, 71)
    started(made, "2", 50, 65, 72)
    # Another process had the number before, and one gets it later.
    for at, seen in ((5, 10), (30, 45), (500, 510)):
        made.add("os_series", host=HOST, scope="process/71", name="start_time_mono_ns",
                 value=mono(at), t_mono_ns=mono(seen))  # fmt: skip
    found = memos(made, tmp_path)
    assert found[STARTING].value_ns == 2 * (30 + 30) * MS
    # The kernel tells it in hundredths of a second; the JVM's own word is in milliseconds.
    assert found[STARTING].high_ns == 2 * (30 + 11 + 30 + 1) * MS


def test_the_agent_of_a_host_knows_when_a_process_without_the_plugin_started(
    tmp_path: Path,
) -> None:
    made = world()
    for name, at in (("1", 40), ("2", 50)):
        made.add("processes", host=HOST, pid=70 + at, role="executor", executor_id=name,
                 app_id="local-1", start_mono_ns=mono(at))  # fmt: skip
    assert memos(made, tmp_path)[STARTING].value_ns == 2 * (20 + 30) * MS


def test_an_executor_of_which_nothing_was_recorded_is_not_split_and_it_is_said_why(
    tmp_path: Path,
) -> None:
    made = world()
    started(made, "1", 40, 50, 71)
    found = memos(made, tmp_path)
    assert found[UNSPLIT].value_ns == 2 * 80 * MS
    assert found[STARTING].value_ns == 2 * 20 * MS
    assert "nothing recorded when their processes started" in found[UNSPLIT].source


@pytest.mark.parametrize(
    ("only", "without", "why"),
    [
        (LOG, None, "nothing joins the driver's clocks"),
        (RECORDED, "driver", "no record of the driver's process"),
    ],
)
def test_without_the_drivers_clock_nothing_is_split(
    tmp_path: Path, only: set[str], without: str | None, why: str
) -> None:
    made = world()
    started(made, "1", 40, 50, 71)
    made.rows["processes"] = [row for row in made.rows["processes"] if row["role"] != without]
    found = memos(made, tmp_path, only)
    assert list(found) == [UNSPLIT]
    assert why in found[UNSPLIT].source


def on_two_hosts(folder: Path, messages: bool) -> dict[str, Row]:
    """Let the second executor run on another host, whose process started 30 ms before it came."""
    two = TwoHosts([StageSpec([400, 300, 200, 100])], WestClock(3600 * S, 20.0), pings=messages)
    two.rows["apps"][0] |= {"master": "yarn", "spark_conf": json.dumps(CONF)}
    two.rows["os_series"] = [r for r in two.rows["os_series"] if r["name"] != "start_time_mono_ns"]
    for row in two.rows["processes"]:
        # It was 20 ms old when its plugin started, at 40 ms.
        began = wall(40) - wall(20)
        row["start_mono_ns"] += 40 * MS
        row["facts"] = json.dumps({"wall_ns": 9 * S + began, "jvm_start_wall_ms": 9_000})
    if not messages:
        two.rows["spans"] = [row for row in two.rows["spans"] if row["host"] == HOST]
    two.write(folder)
    with Run.open(folder) as run:
        return {row.path: row for row in ledger_report(run).slot_view.memos}


def test_the_start_of_a_process_elsewhere_is_known_within_the_bound_of_its_hosts_clock(
    tmp_path: Path,
) -> None:
    starting = on_two_hosts(tmp_path, messages=True)[STARTING]
    assert starting.low_ns is not None
    assert starting.high_ns is not None
    assert starting.low_ns < 4 * 30 * MS < starting.high_ns
    assert starting.high_ns - starting.low_ns > 2 * 4 * MS


def test_a_process_on_a_host_whose_clock_nothing_bounds_is_not_split(tmp_path: Path) -> None:
    found = on_two_hosts(tmp_path, messages=False)
    assert found[STARTING].value_ns == 2 * 30 * MS
    assert found[UNSPLIT].value_ns == 2 * 50 * MS
    assert "nothing bounds the clocks of their hosts" in found[UNSPLIT].source


def test_logs_of_drivers_on_several_hosts_are_not_held_against_one_clock(tmp_path: Path) -> None:
    made = world()
    started(made, "1", 40, 50, 71)
    made.rows["apps"].append({**made.rows["apps"][0], "app_index": 1, "app_id": "local-2"})
    made.add("processes", host="far", pid=9, role="driver", app_id="local-2", start_mono_ns=5)
    made.add("clock_pairs", host="far", source="plugin", mono_ns=5, wall_ns=wall(0))
    found = memos(made, tmp_path)
    assert STARTING not in found
    assert "drivers ran on several hosts" in found[UNSPLIT].source


def test_a_wall_clock_that_was_set_splits_nothing(tmp_path: Path) -> None:
    made = world()
    started(made, "1", 40, 50, 71)
    made.rows["clock_pairs"][-1]["wall_ns"] += 3_000 * MS
    found = memos(made, tmp_path)
    assert list(found) == [UNSPLIT]
    assert "wall clock was set by up to 3.00 s" in found[UNSPLIT].source


def test_with_dynamic_allocation_the_log_says_when_each_executor_was_asked_for(
    tmp_path: Path,
) -> None:
    made = world(DYNAMIC)
    started(made, "1", 40, 50, 71)
    for row, asked in zip(made.rows["executors"], (30, 55), strict=True):
        row["request_wall_ns"] = wall(asked)
    found = memos(made, tmp_path)
    assert found["executors/not_granted"].value_ns is None
    assert found["executors/not_granted"].source.startswith("dynamic allocation")
    assert found[LATER].value_ns == 2 * 10 * MS
    assert found[STARTING].value_ns == 2 * 20 * MS
    assert found[UNSPLIT].value_ns == 2 * 25 * MS


def test_a_process_that_is_known_was_starting_whenever_it_was_asked_for(tmp_path: Path) -> None:
    made = world(DYNAMIC)
    started(made, "2", 50, 65, 72)
    found = memos(made, tmp_path)
    assert {path: row.value_ns for path, row in found.items()} == {
        "executors/not_granted": None, STARTING: 2 * 30 * MS,
    }  # fmt: skip
    # It may have started a millisecond earlier, too: nobody knows when it was asked for.
    assert (found[STARTING].low_ns, found[STARTING].high_ns) == (2 * 29 * MS, 2 * 31 * MS)


def elapsed_rows(made: World, folder: Path, only: set[str] = RECORDED) -> dict[str, Row]:
    view = ledger(made, folder, only).elapsed_view
    assert view.closure_ratio == 0
    return {row.path: row for row in view.rows if row.path.startswith("executors")}


def test_the_path_waits_for_the_cluster_until_the_next_executors_process_started(
    tmp_path: Path,
) -> None:
    made = world()
    started(made, "1", 40, 50, 71)
    # Its process started first, and it registered last: nothing waited for it.
    started(made, "2", 10, 20, 72)
    found = elapsed_rows(made, tmp_path)
    before = "executors/before_the_first_query"
    assert found[before].value_ns == 60 * MS
    assert found[f"{before}/not_granted"].value_ns == 40 * MS
    assert found[f"{before}/starting"].value_ns == 20 * MS


def test_a_stage_waits_for_executors_and_then_for_their_first_task(tmp_path: Path) -> None:
    made = world()
    submit = made.rows["stages"][0]["submit_wall_ns"] - wall(0)
    at = submit // MS
    for row, since in zip(made.rows["executors"], (at + 30, at + 90), strict=True):
        row["add_wall_ns"] = wall(since)
    for row in made.rows["tasks"]:
        row["launch_wall_ns"] = wall(at + 35)
    started(made, "1", at + 10, at + 15, 71)
    started(made, "2", at + 10, at + 15, 72)
    found = elapsed_rows(made, tmp_path)
    waiting = "executors/stage_waiting"
    assert {path.rpartition("/")[2]: row.value_ns for path, row in found.items()
            if path.startswith(f"{waiting}/")} == {
        "not_granted": 10 * MS, "starting": 20 * MS, "registered": 5 * MS,
    }  # fmt: skip


def test_a_path_that_cannot_be_split_says_why(tmp_path: Path) -> None:
    found = elapsed_rows(world(), tmp_path, LOG)
    whole = found.pop("executors/before_the_first_query")
    assert whole.value_ns == 60 * MS
    assert "not split: nothing joins the driver's clocks" in whole.source
    assert not [path for path in found if path.count("/") > 1]
