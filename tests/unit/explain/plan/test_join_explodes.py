"""A join whose keys are duplicated on both sides: rows of the output against its inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.explain.catalogue.plan.join_explodes import RULE
from pyrometer.explain.schema import Finding


def found(
    folder: Path, out: int, groups: int, name: str = "SortMergeJoin", seconds: float = 4.2
) -> list[Finding]:
    change: Any = plan(
        node(0, "HashAggregate", None, [0], number_of_output_rows=groups),
        node(1, name, 0, [0], number_of_output_rows=out),
        node(2, "Scan a", 1, [0], number_of_output_rows=100_000),
        node(3, "Scan b", 1, [0], number_of_output_rows=10_000),
        operators=(operator(name, 1, seconds),),
    )
    return [one for one in judged_with(folder, job(), RULE, change).findings if one.shown]


def test_rows_multiply_and_are_aggregated(tmp_path: Path) -> None:
    # 4.2 of 5.6 s of CPU, with its waits 4.8 of 6.4 s on two slots; 39 of 40 rows go.
    (one,) = found(tmp_path, 4_000_000, 500)
    assert holds(one, 4.8 / 2 * 0.975 * 0.75)
    assert (one.place.node_id, one.place.operator) == (1, "SortMergeJoin")
    assert "reduces the rows again" in one.mechanism
    assert one.saving.elapsed_ns.low is not None
    assert one.saving.elapsed_ns.low > 0.5e9


def test_near_miss_a_key_is_unique_on_one_side(tmp_path: Path) -> None:
    assert not found(tmp_path, 100_000, 500)


def test_near_miss_hardly_more_than_its_inputs(tmp_path: Path) -> None:
    saved = [one.saving.elapsed_ns.value or 0 for one in found(tmp_path, 111_000, 500)]
    assert sum(saved) < 0.2e9


def test_a_product_is_the_business_of_another_rule(tmp_path: Path) -> None:
    assert not found(tmp_path, 4_000_000, 500, name="BroadcastNestedLoopJoin")


def test_healthy_the_join_takes_no_time(tmp_path: Path) -> None:
    assert not found(tmp_path, 4_000_000, 500, seconds=0.001)


def test_pairs_that_nothing_reduces_may_be_wanted(tmp_path: Path) -> None:
    assert not found(tmp_path, 4_000_000, 4_000_000)
