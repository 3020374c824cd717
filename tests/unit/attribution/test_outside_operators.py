"""Code of RDDs, both sides of an exchange, and a task's own work, by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.tables import StageSpec, World

from pyrometer.attribution.samples import kind, name_of
from pyrometer.core import schema
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary

SPARK = "org.apache.spark"
STACKS = {
    1: [
        (f"{SPARK}.rdd.RDD", "iterator"),
        (f"{SPARK}.api.java.JavaRDDLike", "$anonfun$mapToPair$1"),
        ("scala.collection.Iterator$$anon$10", "next"),
        (f"{SPARK}.api.java.JavaRDDLike", "$anonfun$flatMap$1"),
        ("com.acme.Words", "lambda$main$0"),
    ],
    2: [
        (f"{SPARK}.rdd.RDD", "$anonfun$mapPartitions$2"),
        (f"{SPARK}.mllib.clustering.KMeans$", "$anonfun$run$1"),
        ("java.lang.Math", "sqrt"),
    ],
    3: [(f"{SPARK}.rdd.RDD", "$anonfun$mapPartitionsInternal$2")],
}
TEXT = json.dumps([{"id": 1, "name": "/in", "scope": {"id": "0", "name": "textFile"}}])


def account(
    tmp_path: Path,
    *stages: tuple[int | None, str, list[tuple[str | None, int]]],
    python: bool = False,
) -> Summary:
    """Account for stages given by SQL execution, name, and operators and stacks of samples."""
    world = World([StageSpec([200], sql_id=sql_id) for sql_id, _, _ in stages])
    for row, (_, name, _) in zip(world.rows["stages"], stages, strict=True):
        row.update(name=name, rdd_names=TEXT)
    at = [0] * len(stages)
    for row in world.rows["samples"]:
        if row["event"] != "cpu":
            continue
        stage = row["stage_id"]
        kinds = stages[stage][2]
        operator, stack = kinds[at[stage] % len(kinds)]
        at[stage] += 1
        row.update(operator=operator, java_stack=stack, codegen_stage_id=None)
    number: dict[tuple[str, str], int] = {}
    for stack, frames in STACKS.items():
        ids = [number.setdefault(frame, len(number)) for frame in frames]
        world.add("stacks", stack_id=stack, frame_ids=ids, truncated=False)
    for (class_name, method), frame in number.items():
        world.add("frames", frame_id=frame, class_name=class_name, method=method, kind="c2")
    exchanges(world)
    if python:
        sends_data(world)
    with Run.open(world.write(tmp_path)) as run:
        return summary(run)


def exchanges(world: World) -> None:
    """Put two exchanges into the plan: stage 0 writes node 10, stage 1 reads it and writes 11."""
    for node, stage, metric in (
        (10, 0, "shuffle records written"),
        (10, 1, "records read"),
        (11, 1, "shuffle records written"),
    ):
        if not any(row["node_id"] == node for row in world.rows["plan_nodes"]):
            world.add(
                "plan_nodes", app_index=0, sql_id=0, plan_version=0, is_final=True, node_id=node,
                parent_node_id=0, depth=1, name="Exchange", simple_string="Exchange",
            )  # fmt: skip
        world.add(
            "node_metrics", app_index=0, sql_id=0, plan_version=0, node_id=node, metric=metric,
            accumulator_id=100 + node, stage_id=stage, updates_count=1,
        )  # fmt: skip


def sends_data(world: World) -> None:
    """Put a Python node into the plan that sent data in stage 0."""
    world.add(
        "plan_nodes", app_index=0, sql_id=0, plan_version=0, is_final=True, node_id=12,
        parent_node_id=0, depth=1, name="ArrowEvalPython", simple_string="ArrowEvalPython",
    )  # fmt: skip
    world.add(
        "node_metrics", app_index=0, sql_id=0, plan_version=0, node_id=12,
        metric="data sent to Python workers", accumulator_id=112, stage_id=0, updates_count=1,
    )  # fmt: skip


def test_code_of_rdds_is_named_by_frames_and_event_log(tmp_path: Path) -> None:
    samples: list[tuple[str | None, int]] = [
        ("RDD", 1), ("MLlib", 2), ("RDD", 3), ("Exchange write", 3), ("Scan", 3), (None, 3),
    ]  # fmt: skip
    made = account(tmp_path, (None, "flatMap at Words.java:12", samples))
    assert {o.operator: o.kind for o in made.operators} == {
        "RDD flatMap at Words.java:12": "rdd",
        "MLlib KMeans": "rdd",
        "RDD shuffle write": "rdd",
        "RDD textFile": "rdd",
    }
    assert made.unmapped.ratio == pytest.approx(1 / 6, abs=0.05)
    whole = sum(o.samples_count for o in made.operators)
    assert whole == pytest.approx(5 / 6 * (whole / (1 - (made.unmapped.ratio or 0))), abs=2)


def test_plumbing_of_a_query_stays_unmapped(tmp_path: Path) -> None:
    made = account(tmp_path, (0, "collect at q.py:1", [("RDD", 3), ("Sort", 3)]))
    assert [o.operator for o in made.operators] == ["Sort"]
    assert made.unmapped.ratio == pytest.approx(0.5, abs=0.05)


def test_both_sides_of_an_exchange_find_their_node(tmp_path: Path) -> None:
    made = account(
        tmp_path,
        (0, "a", [("Exchange write", 3)]),
        (0, "b", [("Exchange read", 3), ("Exchange write", 3), ("Exchange write", 3)]),
    )
    by_node = {o.node_id: o for o in made.operators}
    assert set(by_node) == {10, 11}
    assert {o.operator for o in made.operators} == {"Exchange"}
    assert by_node[10].stage_ids == [0, 1]
    assert by_node[11].stage_ids == [1]


@pytest.mark.parametrize("operator", ["Python", "EvalPython"])
def test_frames_that_python_nodes_share_find_the_node_that_sent_data(
    tmp_path: Path, operator: str
) -> None:
    made = account(tmp_path, (0, "a", [(operator, 3)]), python=True)
    assert [(o.operator, o.node_id) for o in made.operators] == [("ArrowEvalPython", 12)]


def test_a_tasks_own_work_is_no_operator_and_not_unknown(tmp_path: Path) -> None:
    made = account(tmp_path, (0, "a", [("Task start", 3), ("Sort", 3), ("Code generation", 3)]))
    kinds: dict[str, Any] = {o.operator: (o.kind, o.node_id) for o in made.operators}
    assert kinds["Task start"] == kinds["Code generation"] == ("task", None)
    assert made.unmapped.ratio == 0


def test_every_place_says_what_it_covers() -> None:
    assert "Task start" in schema.places()
    assert all(doc.endswith(".") for doc in schema.places().values())
    assert {kind(name) for name in schema.places()} == {"task"}


def test_names_fall_back_to_the_stage() -> None:
    assert name_of("RDD", [], "sum at X.scala:3", None) == "RDD sum at X.scala:3"
    assert name_of("RDD", [], None, None) is None
    assert name_of("Scan", [], None, None) == "RDD input"
    assert name_of("Exchange read", [], "sum at X.scala:3", None) == "RDD shuffle read"
    assert name_of("GraphX", [], "sum at X.scala:3", None) is None
