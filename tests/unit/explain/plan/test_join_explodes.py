"""A join whose keys are duplicated on both sides: rows of the output against its inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.explain.catalogue.plan.join_explodes import RULE
from pyrometer.explain.schema import Finding


def found(
    folder: Path, out: int, groups: int, name: str = "SortMergeJoin", seconds: float = 4.2,
    keys: str = "a#2", functions: str = "partial_count(1)", further: str = "",
    above: str = "HashAggregate",
) -> list[Finding]:  # fmt: skip
    """A join of columns k#1, a#2 of 100 000 rows and j#3, b#4 of 10 000, 40 of them for each."""
    change: Any = plan(
        top := node(0, above, None, [0], number_of_output_rows=groups),
        join := node(1, name, 0, [0], number_of_output_rows=out),
        left := node(2, "Scan a", 1, [0], number_of_output_rows=100_000),
        right := node(3, "Scan b", 1, [0], number_of_output_rows=10_000),
        operators=(operator(name, 1, seconds),),
    )
    top.simple_string = f"{above}(keys=[{keys}], functions=[{functions}])"
    join.simple_string = f"{name} [k#1], [j#3], Inner{further}"
    left.simple_string, right.simple_string = "Scan a[k#1,a#2]", "Scan b[j#3,b#4]"
    return [one for one in judged_with(folder, job(), RULE, change).findings if one.shown]


def test_rows_multiply_and_are_aggregated(tmp_path: Path) -> None:
    # 4.2 of 5.6 s of CPU, with its waits 4.8 of 6.4 s on two slots; 39 of 40 rows go.
    (one,) = found(tmp_path, 4_000_000, 500)
    assert holds(one, 4.8 / 2 * 0.975 * 0.75)
    assert (one.place.node_id, one.place.operator) == (1, "SortMergeJoin")
    assert "HashAggregate reduces the rows to 500 again" in one.mechanism
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


@pytest.mark.parametrize(
    ("keys", "functions"),
    [("a#2", "partial_sum(b#4), partial_max(a#2)"), ("b#4", "partial_count(1)"),
     ("a#2", "partial_sum((cast(a#2 as decimal(20,2)) * b#4))"), ("a#2", "")],
)  # fmt: skip
def test_a_side_that_can_be_aggregated_before(tmp_path: Path, keys: str, functions: str) -> None:
    assert found(tmp_path, 4_000_000, 500, keys=keys, functions=functions)


def test_groups_of_both_sides_bound_what_remains(tmp_path: Path) -> None:
    # Of 4 000 000 rows 2 groups leave 100 000 * 2 at most, 39 of them nearly all.
    (one,) = found(tmp_path / "few", 4_000_000, 2, keys="a#2, b#4")
    assert holds(one, 4.8 / 2 * 0.95 * 0.75)
    assert not found(tmp_path / "many", 4_000_000, 500, keys="a#2, b#4")


@pytest.mark.parametrize(
    "functions",
    ["partial_sum((a#2 - b#4))", "partial_sum((a#2 * f(b#4, 1)))", "partial_max((a#2 * b#4))",
     "partial_collect_list(b#4)", "partial_sum(c#9)"],
)  # fmt: skip
def test_near_miss_pairs_are_what_is_computed(tmp_path: Path, functions: str) -> None:
    assert not found(tmp_path, 4_000_000, 500, functions=functions)


@pytest.mark.parametrize("further", [", (a#2 > b#4)", ", BuildRight, (a#2 > b#4), false"])
def test_near_miss_pairs_are_compared_further(tmp_path: Path, further: str) -> None:
    assert not found(tmp_path, 4_000_000, 500, further=further)


@pytest.mark.parametrize("above", ["Window", "Filter", "SortMergeJoin", "Generate"])
def test_near_miss_other_work_on_pairs_comes_first(tmp_path: Path, above: str) -> None:
    assert not found(tmp_path, 4_000_000, 500, above=above)
