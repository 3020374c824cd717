"""Executors in pods of Kubernetes: without a pod, without a node, image and container."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.tables import HOST, MS, OFFSET, StageSpec, World, mono, wall, write_tables

from pyrometer.accounts.ledger.cluster.pod_starts import CONTRADICTED
from pyrometer.accounts.ledger.elapsed.elapsed_view import _waits
from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.ledger.schema import LedgerReport, Row
from pyrometer.store import Run

TABLES = {"apps", "executors", "stages", "tasks", "processes", "clock_pairs", "executor_pods"}
CONF = {"spark.executor.instances": "2"}
DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}
S = 1_000 * MS
LATER = "executors/not_granted/came_later"
STARTING = "executors/starting"
UNSPLIT = "executors/not_granted_or_starting"
AT_S = {"1": (2, 10, 16, 20), "2": (2, 20, 25, 30)}
"""Of each executor: its pod was created, had a node, its container ran, and it registered."""


def world(conf: dict[str, str] = CONF) -> World:
    """Two executors of two slots in pods, which register before the only stage."""
    made = World([StageSpec([400, 300], gap_ms=40_000)], slots=2)
    made.rows["apps"][0] |= {"master": "k8s://https://c", "spark_conf": json.dumps(conf)}
    for row in made.rows["tasks"]:
        row["executor_id"] = "1"
    made.rows["executors"] = [
        {"app_index": 0, "executor_id": name, "host": f"10.0.0.{name}", "cores_count": 2,
         "add_wall_ns": wall(1_000 * at[3])} for name, at in AT_S.items()
    ]  # fmt: skip
    for name, (created, scheduled, started, _) in AT_S.items():
        made.add("executor_pods", app_id="local-1", executor_id=name, pod=f"p-{name}",
                 node="\x1b[31mn\x1b[0m", image="spark:4", created_wall_ns=wall(1_000 * created),
                 scheduled_wall_ns=wall(1_000 * scheduled), started_wall_ns=wall(1_000 * started),
                 seen_wall_ns=wall(1_000 * started + 700))  # fmt: skip
    return made


def recorded(made: World, name: str, jvm_s: int) -> None:
    """Let the plugin record an executor whose process started at a time."""
    at = 1_000 * jvm_s
    facts = {"wall_ns": mono(at) + OFFSET, "jvm_start_wall_ms": (mono(at) + OFFSET) // MS}
    made.add("processes", host=HOST, pid=70 + int(name), role="executor", executor_id=name,
             app_id="local-1", start_mono_ns=mono(at), facts=json.dumps(facts))  # fmt: skip


def ledger(made: World, folder: Path) -> LedgerReport:
    write_tables(folder, made.rows, TABLES)
    with Run.open(folder) as run:
        return ledger_report(run)


def memos(made: World, folder: Path) -> dict[str, Row]:
    found = ledger(made, folder).slot_view.memos
    return {row.path: row for row in found if row.path.startswith("executors")}


def values(rows: dict[str, Row]) -> dict[str, Any]:
    return {path: row.value_ns for path, row in rows.items()}


def test_the_clusters_part_is_split_by_the_status_of_pods(tmp_path: Path) -> None:
    made = world()
    recorded(made, "1", 17)
    recorded(made, "2", 26)
    found = memos(made, tmp_path)
    # A time of Kubernetes is the middle of its second.
    assert values(found) == {
        "executors/not_granted": 2 * (17 + 26) * S, LATER: 2 * (17 + 26) * S,
        f"{LATER}/no_pod": 2 * 2 * 2_500 * MS, f"{LATER}/scheduling": 2 * (8 + 18) * S,
        f"{LATER}/image_and_container": 2 * (6_500 + 5_500) * MS, STARTING: 2 * (3 + 4) * S,
    }  # fmt: skip
    row = found[f"{LATER}/scheduling"]
    assert (row.parent, row.n, row.method) == (LATER, 2, "apportioned")
    # Both of its ends may be half a second off, of two executors of two slots.
    assert (row.low_ns, row.high_ns) == (2 * 24 * S, 2 * 28 * S)
    assert "in whole seconds" in row.source
    assert found[f"{LATER}/no_pod"].low_ns == 2 * 2 * 2_000 * MS


def test_the_container_stands_for_a_process_that_nothing_recorded(tmp_path: Path) -> None:
    found = memos(world(), tmp_path)
    assert UNSPLIT not in found
    assert found[STARTING].value_ns == 2 * (3_500 + 4_500) * MS
    assert found[f"{LATER}/image_and_container"].value_ns == 2 * (6 + 5) * S
    starting = found[STARTING]
    assert starting.high_ns is not None
    assert starting.high_ns - (starting.value_ns or 0) == 2 * 2 * 501 * MS


def test_what_a_pod_does_not_say_stays_unsplit(tmp_path: Path) -> None:
    made = world()
    first, second = made.rows["executor_pods"]
    first |= {"scheduled_wall_ns": None, "seen_wall_ns": None}
    second["started_wall_ns"] = None
    found = memos(made, tmp_path)
    assert found[STARTING].value_ns == 2 * 3_500 * MS
    assert found[UNSPLIT].value_ns == 2 * 30 * S
    assert [path for path in found if path.startswith(f"{LATER}/")] == []


@pytest.mark.parametrize(
    "off", [{"started_wall_ns": wall(25_000)}, {"created_wall_ns": wall(-2_000)}]
)
def test_a_pod_whose_clocks_contradict_the_drivers_says_nothing(
    tmp_path: Path, off: dict[str, int]
) -> None:
    made = world()
    made.rows["executor_pods"][0] |= off
    found = memos(made, tmp_path)
    assert found[UNSPLIT].value_ns == 2 * 20 * S
    assert CONTRADICTED in found[UNSPLIT].source
    assert found[STARTING].n == 1


def test_with_dynamic_allocation_an_executor_was_asked_for_when_its_pod_was_created(
    tmp_path: Path,
) -> None:
    made = world(DYNAMIC)
    made.rows["executors"][1]["request_wall_ns"] = wall(1_000)
    found = memos(made, tmp_path)
    assert values(found) == {
        "executors/not_granted": None, LATER: 2 * (14_000 + 24_500) * MS,
        f"{LATER}/no_pod": 2 * 1_500 * MS, f"{LATER}/scheduling": 2 * (8 + 18) * S,
        f"{LATER}/image_and_container": 2 * (6 + 5) * S, STARTING: 2 * (3_500 + 4_500) * MS,
    }  # fmt: skip


def test_pods_of_another_application_are_not_taken(tmp_path: Path) -> None:
    made = world()
    for row in made.rows["executor_pods"]:
        row["app_id"] = "other"
    assert set(memos(made, tmp_path)) == {UNSPLIT}


def test_pods_that_never_ran_say_why(tmp_path: Path) -> None:
    made = world({"spark.executor.instances": "4"})
    for name, why in (("3", "0/3 nodes are available: 3 Insufficient cpu."), ("4", None)):
        made.add("executor_pods", app_id="local-1", executor_id=name, unschedulable=why,
                 waiting=None if why else "ErrImagePull", created_wall_ns=wall(2_000))  # fmt: skip
    row = memos(made, tmp_path)["executors/not_granted/never_came"]
    assert row.source.endswith(
        "never registered: 2 pods never ran: 0/3 nodes are available: 3 Insufficient cpu.;"
        " ErrImagePull"
    )


def test_the_path_waits_for_a_pod_a_node_and_an_image(tmp_path: Path) -> None:
    view = ledger(world(), tmp_path).elapsed_view
    assert view.closure_ratio == 0
    before = "executors/before_the_first_query"
    found = {row.path.removeprefix(f"{before}/"): row.value_ns for row in view.rows
             if row.path.startswith(f"{before}/")}  # fmt: skip
    assert found == {
        "not_granted": 16_500 * MS, "not_granted/no_pod": 2_500 * MS,
        "not_granted/scheduling": 8 * S, "not_granted/image_and_container": 6 * S,
        "starting": 3_500 * MS,
    }  # fmt: skip


def test_parts_of_a_wait_add_up_where_not_all_executors_have_pods() -> None:
    kinds = {"not_granted": 3, "not_granted/scheduling": 4, "starting": 5}
    rows = {row.path: row.value_ns for row in _waits("executors/stage_waiting", 12, kinds, "")}
    assert rows == {
        "executors/stage_waiting": 12, "executors/stage_waiting/not_granted": 7,
        "executors/stage_waiting/not_granted/scheduling": 4,
        "executors/stage_waiting/not_granted/not_split": 3,
        "executors/stage_waiting/starting": 5,
    }  # fmt: skip
