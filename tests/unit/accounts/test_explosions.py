"""Operators whose output explodes: what counts as their input, and what is not said."""

from __future__ import annotations

from pyrometer.accounts.explosions import explosions
from pyrometer.accounts.plan_schema import Node, NodeMetric


def node(node_id: int, parent: int | None, name: str, rows: int | None = None) -> Node:
    metrics = (
        [NodeMetric(metric="number of output rows", value_sum=rows)] if rows is not None else []
    )
    return Node(node_id=node_id, parent_node_id=parent, depth=0, name=name, metrics=metrics)


def test_input_is_what_lies_below_operators_that_count_no_rows() -> None:
    plan = [
        node(0, None, "WholeStageCodegen (3)"),
        node(1, 0, "SortMergeJoin", 5_240_000_000),
        node(2, 1, "InputAdapter"),
        node(3, 2, "Sort"),
        node(4, 3, "ShuffleQueryStage"),
        node(5, 4, "Exchange"),
        node(6, 5, "Filter", 600_000),
        node(7, 1, "ReusedExchange"),
        node(8, 7, "Scan parquet default.t", 400_000),
    ]
    (found,) = explosions(plan)
    assert (found.node_id, found.rows_in_count, found.rows_out_count) == (
        1,
        1_000_000,
        5_240_000_000,
    )
    assert found.factor == 5240


def test_an_input_that_is_not_counted_says_nothing() -> None:
    plan = [
        node(0, None, "HashAggregate", 9_000_000),
        node(1, 0, "MapPartitions"),
        node(2, 1, "Range", 1_000),
    ]
    assert explosions(plan) == []
    half = [
        node(0, None, "SortMergeJoin", 9_000_000),
        node(1, 0, "Range", 10),
        node(2, 0, "Scan x"),
    ]
    assert explosions(half) == []


def test_what_hands_rows_on_is_no_explosion() -> None:
    plan = [
        node(0, None, "PhotonBroadcastHashJoin", 8_000_000),
        node(1, 0, "PhotonShuffleExchangeSource", 40_000_000),
        node(2, 1, "PhotonShuffleExchangeSink", 100_000),
        node(3, 0, "InMemoryTableScan", 9_000_000),
        node(4, 3, "Range", 500_000),
    ]
    assert explosions(plan) == []


def test_nothing_grows_out_of_no_rows() -> None:
    assert explosions([node(0, None, "HashAggregate", 200_000), node(1, 0, "Filter", 0)]) == []


def test_ordinary_growth_and_small_plans_are_no_explosion() -> None:
    generate = [node(0, None, "Generate", 900_000), node(1, 0, "Range", 100_000)]
    assert explosions(generate) == []
    assert [e.factor for e in explosions(generate, least_factor=5)] == [9.0]
    small = [node(0, None, "CartesianProduct", 10_000), node(1, 0, "Range", 100)]
    assert explosions(small) == []


def test_only_the_operator_that_multiplied_is_named_and_the_largest_comes_first() -> None:
    plan = [
        node(0, None, "Filter", 40_000_000),
        node(1, 0, "BroadcastHashJoin", 40_000_000),
        node(2, 1, "GpuProject"),
        node(3, 2, "Expand", 2_000_000),
        node(4, 3, "Range", 100_000),
    ]
    assert [e.node_id for e in explosions(plan)] == [1, 3]
