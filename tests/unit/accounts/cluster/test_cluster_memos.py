"""What only a cluster has beside its slots: executors that were not there, and sides of fetches."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.support.tables import MS, StageSpec, World, wall, write_tables

from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.ledger.schema import Row
from pyrometer.accounts.ledger.terminal import view_lines
from pyrometer.store import Run
from pyrometer.terminal.drawing import Look, put

STAGES = [StageSpec([400, 300, 500, 200, 350])]
LOG = {"apps", "executors", "stages", "tasks"}


def world(conf: dict[str, str], master: str = "yarn") -> World:
    made = World(STAGES, slots=2)
    made.rows["apps"][0] |= {"master": master, "spark_conf": json.dumps(conf)}
    for row in made.rows["tasks"]:
        row["executor_id"] = "1"
    made.rows["executors"] = [executor("1", 50)]
    return made


def executor(name: str, since: int, until: int | None = None, why: str | None = None) -> Any:
    removed = None if until is None else wall(until)
    return {"app_index": 0, "executor_id": name, "host": f"h{name}", "cores_count": 2,
            "add_wall_ns": wall(since), "remove_wall_ns": removed,
            "remove_reason": why}  # fmt: skip


def memos(made: World, folder: Path) -> dict[str, Row]:
    write_tables(folder, made.rows, LOG)
    with Run.open(folder) as run:
        return {row.path: row for row in ledger_report(run).slot_view.memos}


def test_slots_that_were_asked_for_are_accounted_for_by_what_became_of_them(
    tmp_path: Path,
) -> None:
    made = world({"spark.executor.instances": "5"})
    made.rows["executors"] += [
        executor("2", 250),
        executor("3", 0, 500, "Executor decommission: asked to"),
        executor("4", 0, 700, "worker lost"),
    ]
    found = {path: row.value_ns for path, row in memos(made, tmp_path).items()}
    end = made.end_ms
    # The first executor starts for 50 ms, the second for 250; each has two slots.
    assert found["executors/not_granted_or_starting"] == 2 * (50 + 250) * MS
    assert found["executors/decommissioned"] == 2 * (end - 500) * MS
    assert found["executors/lost"] == 2 * (end - 700) * MS
    assert found["executors/not_granted"] == found["executors/not_granted/never_came"]
    assert found["executors/not_granted"] == 2 * end * MS
    there = 2 * ((end - 50) + (end - 250) + 500 + 700) * MS
    asked = sum(found[f"executors/{fate}"] or 0 for fate in
                ("not_granted_or_starting", "decommissioned", "lost", "not_granted"))  # fmt: skip
    assert there + asked == 5 * 2 * end * MS


def test_an_executor_that_another_replaced_is_not_lost(tmp_path: Path) -> None:
    made = world({"spark.executor.instances": "2"})
    made.rows["executors"] += [executor("2", 0, 400, "worker lost"), executor("3", 400)]
    found = memos(made, tmp_path)
    assert set(found) & {"executors/lost", "executors/not_granted"} == set()
    assert found["executors/not_granted_or_starting"].value_ns == 2 * 50 * MS


@pytest.mark.parametrize(
    ("conf", "master", "word"),
    [
        ({"spark.dynamicAllocation.enabled": "true"}, "yarn", "dynamic allocation"),
        ({"spark.app.id": "a"}, "spark://h:7077", "spark.cores.max"),
        ({}, "yarn", "the event log has no settings"),
        ({"spark.executor.instances": "10"}, "spark://h:7077", "spark.cores.max"),
        ({"spark.cores.max": "8"}, "spark://h:7077", "spark.executor.cores"),
    ],
)
def test_where_it_is_not_known_how_many_were_asked_for_that_is_said(
    tmp_path: Path, conf: dict[str, str], master: str, word: str
) -> None:
    row = memos(world(conf, master), tmp_path)["executors/not_granted"]
    assert row.value_ns is None
    assert row.method == "unavailable"
    assert word in row.source


DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}
REASON = "dynamic allocation: how many were asked for is not in the event log"
WENT = [
    executor("2", 60, 500, "Executor decommission: spot"),
    executor("3", 60, 600, "Executor killed by driver."),
    executor("4", 60, 700, "worker lost"),
    executor("5", 60, 800, "worker lost"),
    executor("6", 60, 900, "Executor decommission: spark scale down"),
]


def test_executors_that_the_log_says_were_lost_are_told_with_dynamic_allocation(
    tmp_path: Path,
) -> None:
    made = world(DYNAMIC)
    made.rows["executors"] += WENT
    found = {p: r for p, r in memos(made, tmp_path).items() if p.startswith("executors")}
    assert {path: row.n for path, row in found.items()} == {
        "executors/decommissioned": 1, "executors/lost": 2, "executors/not_granted": None,
    }  # fmt: skip
    for row in found.values():
        assert (row.value_ns, row.method) == (None, "unavailable")
        assert row.source.endswith(REASON)
    with Run.open(tmp_path) as run:
        view = ledger_report(run).slot_view
    console = Console(file=io.StringIO(), width=200)
    put(console, view_lines(view, Look.of(console), deep=True))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"executors/not granted: {REASON}" in text
    assert f"executors/lost: event log: 2 executors, replaced or not; {REASON}" in text


def test_decommissioned_executors_of_which_an_old_log_says_no_more_may_have_been_idle(
    tmp_path: Path,
) -> None:
    made = world(DYNAMIC)
    made.rows["executors"] += [
        executor("2", 60, 500, "Executor decommission: spot"),
        executor("3", 60, 600, "Executor decommission."),
    ]
    row = memos(made, tmp_path)["executors/decommissioned"]
    assert row.n == 2
    assert row.source == (
        "event log: 2 executors, replaced or not;"
        f" 1 of them may just have been idle: Spark before 3.4 gives no reason; {REASON}"
    )


def test_an_application_of_which_less_is_known_takes_nothing_from_another(tmp_path: Path) -> None:
    made = world({"spark.executor.instances": "2"})
    made.rows["executors"].append(executor("2", 50, 700, "worker lost"))
    app = {"app_index": 1, "app_id": "b/2", "spark_conf": json.dumps(DYNAMIC)}
    made.rows["apps"].append({**made.rows["apps"][0], **app})
    made.rows["executors"] += [{**one, "app_index": 1} for one in WENT]
    found = memos(made, tmp_path)
    assert found["executors/not_granted_or_starting"].value_ns == 2 * 2 * 50 * MS
    assert found["executors/lost"].value_ns == 2 * (made.end_ms - 700) * MS
    assert found["executors/lost/b_2"].n == 2
    assert found["executors/not_granted/b_2"].source == REASON
    assert "executors/not_granted" not in found


@pytest.mark.parametrize(("instances", "cores", "missing"), [("10", "4", 1), ("1", "7", 2)])
def test_a_standalone_master_is_asked_for_cores_and_no_number_of_executors(
    tmp_path: Path, instances: str, cores: str, missing: int
) -> None:
    conf = {"spark.executor.instances": instances, "spark.cores.max": cores,
            "spark.executor.cores": "2"}  # fmt: skip
    made = world(conf, "spark://h:7077")
    found = {path: row.value_ns for path, row in memos(made, tmp_path).items()}
    slots = 2 * made.end_ms * MS
    assert found.get("executors/not_granted") == missing * slots


def test_one_machine_has_none_of_them(tmp_path: Path) -> None:
    made = world({"spark.executor.instances": "5"}, "local[2]")
    made.rows["tasks"][0] |= {"shuffle_fetch_wait_time_ns": 5 * MS}
    assert not [path for path in memos(made, tmp_path) if path.startswith(("exec", "shuffle"))]


def test_waits_for_shuffle_blocks_are_split_by_the_side_that_a_task_read_from(
    tmp_path: Path,
) -> None:
    made = world({"spark.executor.instances": "1"})
    for row, wait, far, near in zip(
        made.rows["tasks"], (40, 20, 10, 5, 0), (100, 0, 100, 100, 100), (0, 50, 50, 0, 0),
        strict=True,
    ):  # fmt: skip
        row |= {"shuffle_fetch_wait_time_ns": wait * MS, "shuffle_read_remote_bytes": far,
                "shuffle_read_local_bytes": near, "shuffle_remote_blocks_fetched_count": far // 50,
                "shuffle_local_blocks_fetched_count": near // 50}  # fmt: skip
    found = memos(made, tmp_path)
    values = {p: r.value_ns for p, r in found.items() if p.startswith("shuffle")}
    assert {path: ns for path, ns in values.items() if ns is not None} == {
        "shuffle_fetch": 75 * MS, "shuffle_fetch/remote": 45 * MS,
        "shuffle_fetch/local": 20 * MS, "shuffle_fetch/both": 10 * MS,
    }  # fmt: skip
    assert "which they waited for is not in the log" in found["shuffle_fetch/both"].source
    assert "4 remote blocks" in found["shuffle_fetch/remote"].source


@pytest.mark.parametrize(("level", "held"), [("ANY", 300), ("NODE_LOCAL", None)])
def test_slots_that_stood_idle_for_a_place_near_the_data_are_a_memo(
    tmp_path: Path, level: str, held: int | None
) -> None:
    made = world({})
    made.rows["executors"].append(executor("2", 50))
    first, second = made.rows["tasks"][:2]
    made.rows["tasks"] = [first, second]
    start = made.rows["stages"][0]["submit_wall_ns"]
    made.rows["stages"][0]["planned_tasks_count"] = 2
    for row, name, at, where in (
        (first, "1", 0, "NODE_LOCAL"), (second, "2", 300 * MS, level),
    ):  # fmt: skip
        row |= {"launch_wall_ns": start + at, "finish_wall_ns": start + 1000 * MS,
                "executor_id": name, "host": f"h{name}", "locality": where}  # fmt: skip
    made.rows["stages"][0]["complete_wall_ns"] = start + 1000 * MS
    row = memos(made, tmp_path).get("locality_wait")
    if held is None:
        assert row is None
        return
    assert row is not None
    # Of four slots one was busy; two had not run a task yet: those were starting up.
    assert row.value_ns == held * MS
    assert (row.low_ns, row.high_ns) == (0, row.value_ns)
