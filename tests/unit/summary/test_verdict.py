"""The verdict: elapsed time, the culprit, its size, what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import HOST, MS, StageSpec, World, mono, wall

from pyrometer.accounts.machine_schema import HostContention
from pyrometer.accounts.plan_schema import Explosion, Sql
from pyrometer.core import units
from pyrometer.core.doubt import Doubt
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary
from pyrometer.summary.verdict import verdict

LOG_ONLY = {"apps", "executors", "stages", "tasks", "jobs"}


def of(folder: Path, world: World) -> Summary:
    with Run.open(world.write(folder, only=LOG_ONLY)) as run:
        return summary(run)


def test_fewer_tasks_than_slots_are_counted_beside_them(tmp_path: Path) -> None:
    found = of(tmp_path, World([StageSpec([30, 20]), StageSpec([3000, 2900])], slots=4))
    assert "stage 1 (stage 1) ran 2 tasks on 4 slots for 3.00 s" in found.verdict
    assert found.next_step == "give it at least 4 partitions"


def test_a_straggler_is_named_beside_the_median(tmp_path: Path) -> None:
    found = of(tmp_path, World([StageSpec([100, 110, 90, 100, 105, 95, 100, 4000])], slots=4))
    assert "stage 0 (stage 0) waited 3.92 s" in found.verdict
    assert "task 7 took 4.00 s, the median 104 ms" in found.verdict
    assert found.next_step == "pyrometer ledger RUN --stage 0 --task slowest"


def test_busy_slots_say_what_tasks_did(tmp_path: Path) -> None:
    found = of(tmp_path, World([StageSpec([400] * 8)], on_cpu=0.25, run_queue=0))
    assert "kept both slots busy for 1.62 s" in found.verdict
    assert "tasks were on the CPU for 25 % of their time" in found.verdict


def test_time_before_the_first_query_is_the_drivers(tmp_path: Path) -> None:
    found = of(tmp_path, World([StageSpec([100], gap_ms=9000), StageSpec([100])]))
    assert found.verdict.startswith("9.36 s: 9.05 s (96.7 %) passed before the first query or job.")


def test_a_pause_between_queries_says_where(tmp_path: Path) -> None:
    world = World([StageSpec([100], sql_id=None), StageSpec([100], gap_ms=9000, sql_id=None)])
    world.rows.pop("sql_executions", None)
    found = of(tmp_path, world)
    assert "the program itself, between its queries, took 9.00 s" in found.verdict
    assert "between stages 0 and 1" in found.verdict


def test_late_executors_are_the_first_thing_said(tmp_path: Path) -> None:
    world = World([StageSpec([400, 300], gap_ms=4000)])
    submitted = world.rows["stages"][0]["submit_wall_ns"]
    for row in world.rows["executors"]:
        row["add_wall_ns"] = submitted - 10 * MS
    world.rows["apps"][0]["start_wall_ns"] = wall(0)
    found = of(tmp_path, world)
    assert "no executor had registered for the first 4.09 s" in found.verdict
    assert "minExecutors" in (found.next_step or "")


@pytest.mark.parametrize(
    ("began_ms", "words", "step"),
    [
        (4_000, "4.00 s without a process (queue, placement, image), 70.0 ms while", "ask the"),
        (1_000, "1.00 s without a process (queue, placement, image), 3.07 s while", "free CPUs"),
    ],
)
def test_late_executors_are_the_clusters_until_their_processes_start(
    tmp_path: Path, began_ms: int, words: str, step: str
) -> None:
    world = World([StageSpec([400, 300], gap_ms=4000)])
    world.rows["apps"][0]["master"] = "yarn"
    for row in world.rows["tasks"]:
        row["executor_id"] = "1"
    late = world.rows["stages"][0]["submit_wall_ns"] - 30 * MS
    world.rows["executors"][0] |= {"executor_id": "1", "add_wall_ns": late}
    world.add("processes", host=HOST, pid=7, role="executor", executor_id="1", app_id="local-1",
              start_mono_ns=mono(began_ms))  # fmt: skip
    with Run.open(world.write(tmp_path, LOG_ONLY | {"processes", "clock_pairs"})) as run:
        found = summary(run)
    assert words in found.verdict
    assert step in (found.next_step or "")


def test_late_executors_in_pods_waited_for_what_took_longest(tmp_path: Path) -> None:
    world = World([StageSpec([400, 300], gap_ms=10_000)])
    world.rows["apps"][0]["master"] = "k8s://https://c"
    for row in world.rows["tasks"]:
        row["executor_id"] = "1"
    late = world.rows["stages"][0]["submit_wall_ns"] - 30 * MS
    world.rows["executors"][0] |= {"executor_id": "1", "add_wall_ns": late}
    world.add("executor_pods", app_id="local-1", executor_id="1", created_wall_ns=wall(1_000),
              scheduled_wall_ns=wall(2_000), started_wall_ns=wall(7_000))  # fmt: skip
    with Run.open(world.write(tmp_path, LOG_ONLY | {"executor_pods"})) as run:
        found = summary(run)
    words = "7.50 s without a process (1.50 s without a pod, 1.00 s without a node, 5.00 s for"
    assert words in found.verdict
    assert "IfNotPresent" in (found.next_step or "")


def of_iterations(folder: Path, per_iteration: int) -> Summary:
    stages = [StageSpec([400, 400], iteration=i) for i in (0, 1, 2) for _ in range(6)]
    world = World(stages, tail_ms=200)
    for number, row in enumerate(world.rows["stages"]):
        row["name"] = f"collect at job.py:{number % (6 // per_iteration)}"
    with Run.open(world.write(folder, only=LOG_ONLY | {"iterations"})) as run:
        return summary(run)


def test_the_longest_of_many_stages_is_named_in_each_iteration(tmp_path: Path) -> None:
    found = of_iterations(tmp_path, per_iteration=1)
    assert "12 stages took" in found.verdict
    assert ", the longest, stages 6, 12 (one in each iteration), 1" in found.verdict


def test_stages_that_an_iteration_has_twice_are_not_said_to_be_one_in_each(tmp_path: Path) -> None:
    found = of_iterations(tmp_path, per_iteration=2)
    assert "stages 6, 9, 12, … (collect at job.py:0) kept both slots busy" in found.verdict


@pytest.fixture
def busy(tmp_path: Path) -> Summary:
    return of(tmp_path, World([StageSpec([400] * 8)]))


def test_a_join_that_explodes_is_the_cause(busy: Summary) -> None:
    join = Explosion(
        node_id=4,
        name="BroadcastNestedLoopJoin",
        rows_in_count=2_000_000,
        rows_out_count=5_240_000_000,
        factor=2620.0,
        stage_ids=[0],
    )
    busy.sql = [Sql(app_index=0, sql_id=3, plan_versions_count=1, explosions=[join])]
    said, step = verdict(busy)
    rows, times = units.count(5_240_000_000), units.count(2620)
    assert f"its BroadcastNestedLoopJoin emits {rows} rows, {times} times its input" in said
    assert "node 4 of query 3" in (step or "")


def test_failures_and_contention_follow_and_a_wrong_result_leads(busy: Summary) -> None:
    busy.failed.totals["tasks_count"] = 3
    busy.contention = HostContention(
        cpus_count=2,
        host_cpus_count=2,
        others_ratio=0.61,
        steal_ratio=0.0,
        run_queue_ratio=0.25,
        behind_others_ratio=0.21,
    )
    busy.doubts = [
        Doubt(code="wrong_result", severity="error", message="Rows differ.", remedy="Look.")
    ]
    said, _ = verdict(busy)
    assert said.startswith("Wrong result: Rows differ. 1.")
    assert "3 of 11 task attempts failed or were killed." in said
    assert "Other processes took 61.0 % of the host's CPU time" in said


def test_code_and_iterations_share_one_pair_of_brackets(tmp_path: Path) -> None:
    stages = [StageSpec([4000, 4000], iteration=i) for i in (0, 1, 2)]
    world = World(stages, tail_ms=200)
    for row in world.rows["stages"]:
        row["name"] = "collect at job.py:5"
    with Run.open(world.write(tmp_path, only=LOG_ONLY | {"iterations"})) as run:
        found = summary(run)
    assert "stages 1, 2 (collect at job.py:5, one in each iteration) kept" in found.verdict
