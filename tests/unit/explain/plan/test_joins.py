from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.explain.catalogue.plan.join_broadcast_missed import RULE as BROADCAST
from pyrometer.explain.catalogue.plan.join_nested_loop import RULE as NESTED
from pyrometer.explain.catalogue.plan.join_nested_loop import kept_share
from pyrometer.explain.schema import Finding

MIB = 1 << 20


def shown(folder: Path, rule: object, change: object, world: object = None) -> list[Finding]:
    found = judged_with(folder, world or job(), rule, change)  # type: ignore[arg-type]
    return [one for one in found.findings if one.shown]


def pairs(left: int, right: int, out: int, seconds: float = 4.9) -> object:
    return plan(
        node(0, "BroadcastNestedLoopJoin", None, [0], number_of_output_rows=out),
        node(1, "Scan", 0, [0], number_of_output_rows=left),
        node(2, "BroadcastExchange", 0, [0], number_of_output_rows=right),
        operators=(operator("BroadcastNestedLoopJoin", 0, seconds),),
    )


def test_all_pairs_are_compared(tmp_path: Path) -> None:
    (found,) = shown(tmp_path, NESTED, pairs(100_000, 1_000, 100_000))
    # 7/8 of the CPU with its waits, 5.6 of 8 s on two slots; 70 to 98 % of it goes.
    assert holds(found, 5.6 / 2 * 0.85)
    assert found.place.operator == "BroadcastNestedLoopJoin"
    assert "100 000 × 1 000" in found.mechanism.replace("\u202f", " ").replace("\u00a0", " ")


def test_all_pairs_match(tmp_path: Path) -> None:
    assert shown(tmp_path, NESTED, pairs(10_000, 100, 1_000_000)) == []


def test_one_side_is_a_row(tmp_path: Path) -> None:
    assert shown(tmp_path, NESTED, pairs(1_000_000, 1, 10)) == []


def test_rows_are_not_known(tmp_path: Path) -> None:
    assert shown(tmp_path, NESTED, plan(node(0, "CartesianProduct", None, [0]))) == []


@pytest.mark.parametrize(("out", "kept"), [(0, 0.01), (500_000, 0.51), (1_000_000, 1.0)])
def test_what_has_to_be_compared_still(out: int, kept: float) -> None:
    assert kept_share(1000, 1000, out) == pytest.approx(kept)


def shuffled(small: int, large: int, sort_ms: int = 3000) -> object:
    return plan(
        node(0, "SortMergeJoin", None, [0]),
        node(1, "Sort", 0, [0], sort_time=sort_ms),
        node(2, "Exchange", 1, [0], data_size=large, fetch_wait_time=0),
        node(3, "Sort", 0, [0]),
        node(4, "Exchange", 3, [0], data_size=small),
    )


def test_a_small_side_could_be_broadcast(tmp_path: Path) -> None:
    (found,) = shown(tmp_path, BROADCAST, shuffled(MIB, 900 * MIB))
    assert holds(found, 3.0 / 2 * 0.75)
    assert found.remedies[0].factor == "spark.sql.autoBroadcastJoinThreshold"
    assert int(found.remedies[0].level or 0) >= MIB


def late(text: str, kind: str = "BuildRight") -> object:
    join = node(0, "BroadcastHashJoin", None, [0])
    join.simple_string = f"BroadcastHashJoin [k#1], [k#2], Inner, {kind}, false, false"
    large, small = (
        node(1, "Exchange", 0, [0], data_size=900 << 20),
        node(2, "BroadcastExchange", 0, [], data_size=1 << 20),
    )
    large.simple_string = text
    sides = (large, small) if kind == "BuildRight" else (
        small.model_copy(update={"node_id": 1}), large.model_copy(update={"node_id": 2})
    )  # fmt: skip
    at = large.node_id if kind == "BuildRight" else 2
    return plan(join, *sides, operators=(operator("Exchange", at, 2.1),))


@pytest.mark.parametrize("kind", ["BuildRight", "BuildLeft"])
def test_a_broadcast_that_comes_after_the_shuffle(tmp_path: Path, kind: str) -> None:
    text = "Exchange hashpartitioning(k#1, 8), ENSURE_REQUIREMENTS, [plan_id=1]"
    (one,) = shown(tmp_path, BROADCAST, late(text, kind))
    # 2.1 of 5.6 s of CPU with its waits on two slots.
    assert holds(one, 2.4 / 2 * 0.9)
    assert "900 MiB, had been shuffled" in one.mechanism
    assert one.remedies[0].after == 'large.join(broadcast(small), "k")'


def test_a_shuffle_that_the_user_asked_for_is_no_missed_broadcast(tmp_path: Path) -> None:
    text = "Exchange hashpartitioning(k#1, 8), REPARTITION_BY_COL, [plan_id=1]"
    assert not shown(tmp_path, BROADCAST, late(text))


@pytest.mark.parametrize("small", [200 * MIB, 900 * MIB])
def test_a_side_that_the_heap_does_not_hold(tmp_path: Path, small: int) -> None:
    assert shown(tmp_path, BROADCAST, shuffled(small, 900 * MIB)) == []


def test_a_shuffle_that_costs_nothing(tmp_path: Path) -> None:
    assert shown(tmp_path, BROADCAST, shuffled(MIB, 900 * MIB, sort_ms=1)) == []
