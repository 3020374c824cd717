"""A sort whose order the next operator forgets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, in_a_row, job, judged_with
from tests.support.tables import StageSpec, World

from pyrometer.explain.catalogue.plan.partitioning_needless_sort import RULE
from pyrometer.explain.schema import Finding

EXCHANGE = "Exchange hashpartitioning(k#1, 8), REPARTITION_BY_COL, [plan_id=12]"
RANGES = "Exchange rangepartitioning(t#2 ASC NULLS FIRST, 4), ENSURE_REQUIREMENTS, [plan_id=1]"


def found(
    folder: Path, above: str = "Exchange", text: str = EXCHANGE, is_global: bool = True,
    seconds: float = 2.1, sort_ms: int = 3000,
    between: str = "Generate explode(array(a#1L)), [a#1], false, [y#2]",
) -> list[Finding]:  # fmt: skip
    over = node(0, above, None, [0])
    over.simple_string = text
    middle = node(1, between.split(" ")[0], 0, [0])
    middle.simple_string = between
    sort = node(2, "Sort", 1, [0], sort_time=sort_ms)
    sort.simple_string = f"Sort [t#2 ASC NULLS FIRST], {str(is_global).lower()}, 0"
    ranges = node(3, "Exchange", 2, [0])
    ranges.simple_string = RANGES
    change: Any = plan(
        over, middle, sort, ranges,
        operators=(operator("Sort", 2, seconds), operator("Exchange", 3, seconds)),
    )  # fmt: skip
    return [one for one in judged_with(folder, job(), RULE, change).findings if one.shown]


def test_a_shuffle_forgets_a_global_sort_and_its_ranges(tmp_path: Path) -> None:
    # 4.2 of 5.6 s of CPU, with its waits 4.8 of 6.4 s on two slots.
    (one,) = found(tmp_path)
    assert holds(one, 4.8 / 2 * 0.9)
    assert (one.place.node_id, one.place.operator) == (2, "Sort")
    assert "shuffle by ranges" in one.mechanism


def test_an_aggregate_may_use_the_ranges(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "HashAggregate", "HashAggregate(keys=[t#2], functions=[sum(v#3)])")
    assert holds(one, 2.4 / 2 * 0.9)
    saving = one.saving.elapsed_ns
    assert saving.high is not None
    assert saving.high < 1.6e9


def test_an_aggregate_with_a_shuffle_of_its_own_needs_no_ranges(tmp_path: Path) -> None:
    text = "HashAggregate(keys=[k#2], functions=[partial_sum(v#3)])"
    (one,) = found(tmp_path, "HashAggregate", text)
    assert holds(one, 4.8 / 2 * 0.9)
    assert "shuffle by ranges" in one.mechanism


def test_the_tasks_that_look_for_the_ranges_go_too(tmp_path: Path) -> None:
    over, sort = node(0, "Exchange", None, [1]), node(1, "Sort", 0, [1])
    over.simple_string, sort.simple_string = EXCHANGE, "Sort [t#2 ASC NULLS FIRST], true, 0"
    ranges, scan = node(2, "Exchange", 1, [1]), node(3, "Scan", 2, [0, 1])
    ranges.simple_string = RANGES
    world = World([StageSpec([1000] * 4), StageSpec([1000] * 4)], slots=2)
    for task in world.rows["tasks"]:
        task["shuffle_written_bytes"] = 0 if task["stage_id"] == 0 else 100
    change: Any = plan(over, sort, ranges, scan, operators=(operator("Sort", 1, 1.0, stages=(1,)),))
    (one,) = judged_with(tmp_path, world, RULE, change).findings
    assert "A job before it read the rows for 4.0" in one.mechanism
    # 4 s of tasks, and 1 s of CPU with its waits.
    cores = one.saving.core_ns
    assert cores.low is not None
    assert cores.high is not None
    assert cores.low <= (4 + 1.14) * 0.9e9 <= cores.high


def test_of_a_sort_within_partitions_the_sort_is_gone(tmp_path: Path) -> None:
    (one,) = found(tmp_path, is_global=False)
    assert holds(one, 2.4 / 2 * 0.9)


@pytest.mark.parametrize(
    ("above", "text"),
    [
        ("SortMergeJoin", "SortMergeJoin [k#1], [k#2], Inner"),
        ("Window", "Window [row_number() windowspecdefinition(k#1)]"),
        ("Execute InsertIntoHadoopFsRelationCommand", "Execute Insert"),
        ("HashAggregate", "HashAggregate(keys=[k#1], functions=[first(v#2, false)])"),
        ("ObjectHashAggregate", "ObjectHashAggregate(keys=[k#1], functions=[collect_list(v#2)])"),
        ("TakeOrderedAndProject", "TakeOrderedAndProject(limit=10)"),
    ],
)
def test_near_miss_the_order_is_needed(tmp_path: Path, above: str, text: str) -> None:
    assert not found(tmp_path, above, text)


def test_near_miss_a_function_may_count_on_the_order(tmp_path: Path) -> None:
    assert not found(tmp_path, between="MapPartitions org.example.Main$f")


def test_without_samples_of_it_the_metrics_count(tmp_path: Path) -> None:
    # 3 s of sorting on two slots: the interval is as wide as metrics are off.
    (one,) = found(tmp_path, seconds=0.001)
    saving = one.saving.elapsed_ns
    assert saving.low is not None
    assert saving.low < 3 / 2 * 1e9 < (saving.high or 0)


def test_healthy_the_sort_takes_no_time(tmp_path: Path) -> None:
    assert not found(tmp_path, seconds=0.001, sort_ms=1)


def several(folder: Path, *orders: str, seconds: float = 0.75) -> list[Finding]:
    """Sort so often, each in a stage of its own that takes 4 s on two slots, and shuffle."""
    nodes, operators = [node(0, "Execute", None, [])], []
    for number, order in enumerate(orders):
        over, sort = node(2 * number + 1, "Exchange", 0, [number]), node(
            2 * number + 2, "Sort", 2 * number + 1, [number]
        )  # fmt: skip
        over.simple_string, sort.simple_string = EXCHANGE, f"Sort [{order}#{number} ASC], false, 0"
        nodes += [over, sort]
        operators.append(operator("Sort", sort.node_id, seconds, stages=(number,)))
    change: Any = plan(*nodes, operators=tuple(operators))
    return judged_with(folder, in_a_row(len(orders)), RULE, change).findings


def test_sorts_by_the_same_columns_are_one_cause(tmp_path: Path) -> None:
    (one,) = several(tmp_path, "t", "t", "t")
    # 0.75 s of CPU with its waits, 0.86 s, on two slots, three times.
    assert holds(one, 3 * 0.86 / 2 * 0.9)
    assert one.shown
    assert one.place.stages_count == 3
    assert "The same in 2 more places: 2.25 s in all." in one.mechanism
    assert len(one.evidence) == 3


def test_near_miss_sorts_by_other_columns_are_places_of_their_own(tmp_path: Path) -> None:
    # Each is below the noise, and together they are not; one order would be one place.
    (found,) = several(tmp_path, "t", "u", "v")
    assert found.place.places_count == 3
