"""Samples to plan nodes, and their time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import StageSpec, World

from pyrometer.attribution.operators import across_executions
from pyrometer.attribution.plan_match import (
    Evidence,
    PlanNode,
    attribute,
    casts,
    column_types,
    conversions,
    match,
    plain,
)
from pyrometer.attribution.schema import Expression, Operator
from pyrometer.statistics.shares import part_of, wilson
from pyrometer.store import Run
from pyrometer.summary.summary import summary

NODES = (
    PlanNode(0, "AdaptiveSparkPlan", None, "", frozenset()),
    PlanNode(1, "WholeStageCodegen (2)", 2, "", frozenset({5})),
    PlanNode(2, "HashAggregate", 2, "", frozenset({5})),
    PlanNode(3, "Exchange", None, "", frozenset({4})),
    PlanNode(4, "WholeStageCodegen (1)", 1, "", frozenset({4})),
    PlanNode(5, "HashAggregate", 1, "", frozenset({4})),
    PlanNode(6, "Project", 1, "", frozenset({4})),
    PlanNode(7, "Project", 1, "", frozenset({4})),
    PlanNode(8, "Scan parquet spark_catalog.default.sales", 1, "", frozenset({4})),
    PlanNode(9, "BatchScan parquet file:/x", None, "", frozenset({6})),
    PlanNode(10, "Sort", None, "", frozenset({6})),
    PlanNode(11, "Sort", None, "", frozenset({7})),
)


@pytest.mark.parametrize(
    ("operator", "stage", "codegen", "node_id"),
    [
        ("HashAggregate", 5, 2, 2),
        ("HashAggregateExec", 4, 1, 5),
        ("HashAggregate", 4, None, 5),
        ("ShuffleExchange", 4, None, 3),
        ("FileSourceScan", 4, 1, 8),
        ("BatchScan", None, None, 9),
        ("Sort", 7, None, 11),
        (None, 5, 2, 1),
        (None, 4, 1, 4),
        ("WholeStageCodegen", 4, None, 4),
        ("WholeStageCodegen", None, None, None),
        # Two nodes fit equally well, or none: no node is better than a wrong one.
        ("Project", 4, 1, None),
        ("Sort", None, None, None),
        ("Window", 4, 1, None),
        (None, 4, None, None),
        (None, 4, 3, None),
    ],
)
def test_match(
    operator: str | None, stage: int | None, codegen: int | None, node_id: int | None
) -> None:
    found = match(NODES, operator, stage, codegen)
    assert (found.node_id if found else None) == node_id


def test_an_exchange_is_read_by_the_generated_code_above_it() -> None:
    # Both sides of a merge join are read in the stage that joins them.
    plan = (
        PlanNode(0, "WholeStageCodegen (3)", 3, "", frozenset({9})),
        PlanNode(1, "SortMergeJoin", 3, "", frozenset({9}), 0),
        PlanNode(2, "InputAdapter", None, "", frozenset(), 1),
        PlanNode(3, "WholeStageCodegen (1)", 1, "", frozenset({9}), 2),
        PlanNode(4, "Sort", 1, "", frozenset({9}), 3),
        PlanNode(5, "InputAdapter", None, "", frozenset(), 4),
        PlanNode(6, "Exchange", None, "", frozenset({7, 9}), 5),
        PlanNode(7, "InputAdapter", None, "", frozenset(), 1),
        PlanNode(8, "WholeStageCodegen (2)", 2, "", frozenset({9}), 7),
        PlanNode(9, "Sort", 2, "", frozenset({9}), 8),
        PlanNode(10, "InputAdapter", None, "", frozenset(), 9),
        PlanNode(11, "Exchange", None, "", frozenset({8, 9}), 10),
    )
    readers = {number: match(plan, "Exchange read", 9, number) for number in (None, 1, 2, 3)}
    found = {number: node.node_id if node else None for number, node in readers.items()}
    assert found == {None: None, 1: 6, 2: 11, 3: None}
    aggregates = (PlanNode(0, "SortAggregate", None, "", frozenset({1})),)
    projects = (
        PlanNode(0, "Project", None, "", frozenset()),
        PlanNode(1, "WholeStageCodegen (1)", 1, "", frozenset(), 0),
        PlanNode(2, "Project", 1, "", frozenset(), 1),
    )
    interpreted = match(projects, "Projection", 1, None)
    assert interpreted is not None
    assert interpreted.node_id == 0
    shared = match(aggregates, "Aggregate", 1, None)
    assert shared is not None
    assert shared.node_id == 0


JOIN = (
    PlanNode(0, "WholeStageCodegen (2)", 2, "", frozenset({5})),
    PlanNode(1, "HashAggregate", 2, "HashAggregate(sum(cast(n#3 as bigint)))", frozenset({5})),
    PlanNode(2, "Project", 2, "Project [n#3]", frozenset()),
    PlanNode(
        3,
        "BroadcastNestedLoopJoin",
        2,
        "BroadcastNestedLoopJoin (ts#0 >= cast(lo#4 as timestamp))",
        frozenset({5}),
    ),
    PlanNode(4, "Scan parquet ", None, "Scan [..], ReadSchema: struct<n:int>", frozenset({5})),
)
PIPELINE = "hashAgg_doAggregateWithoutKey_0$"


@pytest.mark.parametrize(
    ("evidence", "node_id"),
    [
        # The pipeline's method is named after its last operator, and holds all of them.
        (Evidence("HashAggregate", 5, 2, PIPELINE), 0),
        (Evidence("HashAggregate", 5, 2, "hashAgg_doConsume_0$"), 1),
        (Evidence("BroadcastNestedLoopJoin", 5, 2, "bnlj_doConsume_0$"), 3),
        (Evidence("WholeStageCodegen", 5, 2, "processNext"), 0),
        # Only one operator of it converts by calling a method.
        (Evidence("HashAggregate", 5, 2, PIPELINE, converts=True), 3),
        (Evidence("HashAggregate", 5, 9, PIPELINE, converts=True), None),
    ],
)
def test_fused_operators_are_told_apart_only_by_what_one_of_them_does(
    evidence: Evidence, node_id: int | None
) -> None:
    types = column_types(n.simple_string for n in JOIN)
    assert types == {"n": "int"}
    found = attribute(JOIN, evidence, types)
    assert (found.node_id if found else None) == node_id


def test_two_operators_that_convert_cannot_be_told_apart() -> None:
    other = PlanNode(9, "Filter", 2, "Filter (cast(s#9 as date) > 1)", frozenset())
    found = attribute((*JOIN, other), Evidence("HashAggregate", 5, 2, PIPELINE, True), {"n": "int"})
    assert found is not None
    assert found.name == "WholeStageCodegen (2)"


def test_casts_between_numbers_are_no_conversion_by_method() -> None:
    text = "cast(a#1L as int) cast(b#2 as double) cast(c#3 as double) cast(a#1L as string)"
    types = {"b": "float", "c": "decimal(10,2)"}
    assert conversions(text, types) == ["cast(c#3 as double)", "cast(a#1L as string)"]


def test_iterations_of_one_plan_are_added_up() -> None:
    parts = [
        Operator(
            operator="Sort", node_id=3, sql_id=k, on_cpu_ns=40, samples_count=4,
            share_of_task_cpu=0.2,
            expressions=[Expression(expression=f"cast(a#{k} as date)", on_cpu_ns=10, share=0.25)],
        )
        for k in range(3)
    ]  # fmt: skip
    other = Operator(operator="Sort", node_id=5, sql_id=0, on_cpu_ns=500, samples_count=50)
    first, second = across_executions([*parts, other])
    assert (first.node_id, first.on_cpu_ns) == (5, 500)
    assert (second.on_cpu_ns, second.samples_count) == (120, 12)
    assert second.share_of_task_cpu == pytest.approx(0.6)
    assert [(e.expression, e.on_cpu_ns, e.share) for e in second.expressions] == [
        ("cast(a as date)", 30, 0.25)
    ]


@given(st.text(max_size=200))
def test_casts_and_names_survive_any_text(text: str) -> None:
    assert isinstance(plain(text), str)
    assert all(c in text and c.endswith(")") for c in casts(text))
    one = f"cast({text.replace('(', '').replace(')', '')})"
    assert casts(f"f({one} + {one})") == [one]


def test_casts_are_found_once_each_and_nested_ones_within() -> None:
    text = (
        "Filter ((cast(a#1 as date) = cast(cast(b#2 as string) as date)) OR cast(a#1 as date) > 1"
    )
    assert casts(text) == [
        "cast(a#1 as date)",
        "cast(cast(b#2 as string) as date)",
        "cast(b#2 as string)",
    ]
    assert casts("Project [broadcast(x), forecast(3)] cast(never closed") == []


def test_operators_of_a_run_sum_to_its_task_cpu(tmp_path: Path) -> None:
    world = World([StageSpec([400, 300, 500, 200])])
    with Run.open(world.write(tmp_path)) as run:
        made = summary(run)
    cpu = world.task_cpu
    by_node = {o.node_id: o for o in made.operators}
    assert set(by_node) == {1, 2}
    whole = sum(o.on_cpu_ns or 0 for o in made.operators) + (made.unmapped.on_cpu_ns or 0)
    assert whole == pytest.approx(cpu, abs=3)
    assert sum(c.on_cpu_ns or 0 for c in made.categories) == pytest.approx(cpu, abs=4)
    conversion = by_node[1].expressions[0]
    assert conversion.expression == "cast(lo#2 as timestamp)"
    assert conversion.share == pytest.approx(0.5, abs=0.03)
    assert conversion.on_cpu_ns == pytest.approx(cpu / 4, rel=0.05)
    estimate = by_node[1].on_cpu
    assert estimate is not None
    assert (estimate.method, estimate.level) == ("wilson", 0.95)
    assert estimate.low < estimate.value < estimate.high  # type: ignore[operator]
    node = next(n for n in made.sql[0].nodes if n.node_id == 1)
    assert (node.on_cpu_ns, node.samples_count) == (by_node[1].on_cpu_ns, by_node[1].samples_count)


@pytest.mark.parametrize("with_spans", [True, False])
def test_tasks_that_had_not_finished_are_missing_in_the_cpu_of_operators(
    tmp_path: Path, with_spans: bool
) -> None:
    world = World([StageSpec([200, 300])])
    world.rows["tasks"][1].update(status="running", finish_wall_ns=None, executor_cpu_time_ns=None)
    world.rows["spans"][1].update(status="running", end_mono_ns=None, cpu_ns=None)
    if not with_spans:
        del world.rows["spans"]
    with Run.open(world.write(tmp_path)) as run:
        made = summary(run)
    assert made.cpu_base.task_threads_ns == 140_000_000
    (doubt,) = [one for one in made.doubts if one.code == "task_cpu_missing"]
    assert "1 of 2 tasks had not finished" in doubt.message


def test_finished_tasks_are_all_in_the_cpu_of_operators(tmp_path: Path) -> None:
    with Run.open(World([StageSpec([200, 300])]).write(tmp_path)) as run:
        assert not [one for one in summary(run).doubts if one.code == "task_cpu_missing"]


def test_batched_wall_samples_count_as_many_ticks(tmp_path: Path) -> None:
    world = World([StageSpec([400, 300, 500, 200])])
    with Run.open(world.write(tmp_path / "single")) as run:
        single = summary(run)
    merged: list[dict[str, object]] = []
    for row in world.rows["samples"]:
        last = merged[-1] if merged else None
        if (
            last
            and row.get("state") == "sleeping" == last.get("state")
            and row["task_attempt_id"] == last["task_attempt_id"]
        ):
            last["weight"] += row["weight"]  # type: ignore[operator]
        else:
            merged.append(dict(row))
    world.rows["samples"] = merged
    with Run.open(world.write(tmp_path / "batched")) as run:
        batched = summary(run)
    rows = [
        next(r.value_ns for r in s.ledger.slot_view.rows if r.path == "task/waiting")
        for s in (single, batched)
    ]
    assert rows[0] == rows[1]


@given(st.integers(0, 500), st.integers(0, 500))
def test_wilson_holds_the_share_and_stays_between_0_and_1(hits: int, more: int) -> None:
    low, high = wilson(hits, hits + more)
    assert 0 <= low <= high <= 1
    if hits + more:
        assert low <= hits / (hits + more) + 1e-12
        assert high >= hits / (hits + more) - 1e-12


def test_wilson_agrees_with_the_published_example() -> None:
    # Newcombe (1998), table I: 81 of 263, and 15 of 148.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert part_of(100.0, 0, 0).value is None
