"""A repartition below another shuffle: the stage between them, or the shuffle alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, in_a_row, judged_with
from tests.support.tables import StageSpec, World

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.catalogue.plan.partitioning_needless_repartition import RULE
from pyrometer.explain.catalogue.plan.partitioning_needless_sort import RULE as SORT
from pyrometer.explain.schema import Finding

NUMBER = "Exchange RoundRobinPartitioning(8), REPARTITION_BY_NUM, [plan_id=12]"
JOIN = "Exchange hashpartitioning(k#1, 8), ENSURE_REQUIREMENTS, [plan_id=12]"


def found(
    folder: Path, lower: str = NUMBER, between: str = "Project", ms: int = 1000, text: str = ""
) -> list[Finding]:
    exchange, middle = node(2, "Exchange", 1, [0, 1]), node(1, between, 0, [1])
    exchange.simple_string = lower
    middle.simple_string = text or "Project [k#1, v#2]"
    change: Any = plan(
        node(0, "Exchange", None, [1, 2]), middle, exchange, node(3, "Scan parquet", 2, [0])
    )
    world = World([StageSpec([500] * 8), StageSpec([ms] * 8), StageSpec([500] * 8)])
    for number, row in enumerate(world.rows["stages"]):
        row["parent_ids"] = [number - 1] if number else []
    return [one for one in judged_with(folder, world, RULE, change).findings if one.shown]


@pytest.mark.parametrize(
    "lower",
    [
        NUMBER,
        "Exchange hashpartitioning(v#2, 8), REPARTITION_BY_COL, [plan_id=12]",
        "Exchange RoundRobinPartitioning(8)",
    ],
)
def test_the_stage_between_is_gone(tmp_path: Path, lower: str) -> None:
    (one,) = found(tmp_path, lower)
    assert holds(one, 8 / 2 * 0.85)
    saving = one.saving.elapsed_ns
    assert saving.high is not None
    assert saving.high < 4.5e9
    assert (one.place.node_id, one.place.stage_id) == (2, 1)


def test_near_miss_spark_asked_for_the_shuffle(tmp_path: Path) -> None:
    assert not found(tmp_path, JOIN)


def test_near_miss_work_between_is_what_it_spreads(tmp_path: Path) -> None:
    assert not found(tmp_path, between="ArrowEvalPython")


def test_near_miss_a_function_between_is_what_it_spreads(tmp_path: Path) -> None:
    assert not found(tmp_path, text="Project [k#1, UDF(v#2) AS w#3]")


def test_healthy_the_stage_between_takes_no_time(tmp_path: Path) -> None:
    assert not found(tmp_path, ms=1)


UPPER = "Exchange hashpartitioning(k#1, 8), ENSURE_REQUIREMENTS, [plan_id=20]"
CLUSTERED = "Exchange hashpartitioning(s#3, 8), REPARTITION_BY_COL, [plan_id=12]"
SORTED = "Sort [s#3 ASC NULLS FIRST], false, 0"
ADDS = "HashAggregate(keys=[k#1], functions=[partial_sum(v#2)])"
READ = "AQEShuffleRead coalesced"


def chain(*texts: str, under: int = 0, stages: list[list[int]] | None = None) -> list[Node]:
    """Give operators by their texts, each the child of the last, the first of a node."""
    found = []
    for place, text in enumerate(texts):
        number = under + 1 + place
        where = (stages or [])[place] if stages else [1]
        one = node(number, text.split(" ")[0].split("(")[0], number - 1 if place else under, where)
        one.simple_string = text
        found.append(one)
    return found


def asked(
    folder: Path, *between: str, lower: str = CLUSTERED, tasks: int = 8, rule: Any = RULE,
    seconds: float = 1.4, more: tuple[Node, ...] = (),
) -> list[Finding]:  # fmt: skip
    """Three stages in a row, of 4 s on two slots: one writes what another puts in other places.

    The lower shuffle takes so much CPU in the two that it is of, and a sort in the second as much.
    """
    (upper,) = chain(UPPER, under=-1, stages=[[1, 2]])
    upper.parent_node_id = None
    middle = chain(*between)
    (exchange,) = chain(lower, under=len(between), stages=[[0, 1]])
    nodes = [upper, *middle, exchange, *more]
    operators = [operator("Exchange", exchange.node_id, seconds, stages=(0, 1))]
    operators += [operator("Sort", one.node_id, seconds) for one in middle if one.name == "Sort"]
    for one in operators[1:]:
        one.stage_ids = [1]
    counts = [tasks, 8, 8]
    world = World([StageSpec([8000 // count] * count) for count in counts])
    for number, row in enumerate(world.rows["stages"]):
        row["parent_ids"] = [number - 1] if number else []
    change: Any = plan(*nodes, operators=tuple(operators))
    return judged_with(folder, world, rule, change).findings


@pytest.mark.parametrize(
    "between",
    [
        (SORTED, READ),
        ("Filter (v#2 > 3)", "Project [k#1, v#2]", READ),
        ("Union", READ),
        ("Project [k#1, length(v#2) AS l#4]",),
    ],
)
def test_sorts_filters_and_unions_need_no_distribution(
    tmp_path: Path, between: tuple[str, ...]
) -> None:
    (one,) = asked(tmp_path, *between)
    assert one.shown
    assert holds(one, 8 / 2 * 0.85)
    assert "the stage between, 8 tasks" in one.mechanism


def test_what_is_added_up_in_part_is_added_up_below(tmp_path: Path) -> None:
    (one,) = asked(tmp_path, ADDS, "Project [k#1, v#2]", READ, seconds=2.8)
    # 2.8 s of CPU with its waits, 3.2 s on two slots.
    assert one.shown
    assert holds(one, 3.2 / 2 * 0.9)
    assert (one.saving.elapsed_ns.high or 0) < 2.5e9
    assert one.place.expression == "Exchange hashpartitioning(s, 8), REPARTITION_BY_COL"
    assert one.place.stages_count == 2


def test_a_sort_between_goes_too(tmp_path: Path) -> None:
    (one,) = asked(tmp_path, ADDS, SORTED, READ)
    assert holds(one, 3.2 / 2 * 0.9)
    assert "the sort after it" in one.mechanism
    (sort,) = asked(tmp_path / "sort", ADDS, SORTED, READ, rule=SORT)
    assert holds(sort, 1.6 / 2 * 0.9)


def test_the_same_view_in_both_parts_of_a_union(tmp_path: Path) -> None:
    other = chain(SORTED, CLUSTERED, under=10, stages=[[1], [0, 1]])
    other[0].parent_node_id = 2
    (one,) = asked(tmp_path, ADDS, "Union", SORTED, READ, more=tuple(other))
    assert "2 shuffles of it, and the sort after it," in one.mechanism


def test_rows_from_elsewhere_in_a_union_keep_the_stage(tmp_path: Path) -> None:
    other = chain("Scan parquet", under=10)
    other[0].parent_node_id = 1
    (one,) = asked(tmp_path, "Union", READ, more=tuple(other))
    assert holds(one, 1.6 / 2 * 0.9)


@pytest.mark.parametrize(
    "between",
    [
        ("HashAggregate(keys=[k#1], functions=[sum(v#2)])", ADDS),
        ("HashAggregate(keys=[k#1], functions=[merge_sum(v#2), partial_count(distinct d#4)])",),
        ("HashAggregate(keys=[s#3], functions=[])", "HashAggregate(keys=[s#3], functions=[])"),
        ("Window [row_number() windowspecdefinition(s#3)]", SORTED),
        ("Generate explode(a#5), [k#1], false, [y#6]",),
        ("SortMergeJoin [s#3], [s#7], Inner",),
        ("InMemoryTableScan [k#1]",),
        ("Project [k#1, get_json_object(v#2, $.a) AS j#8]",),
        ("HashAggregate(keys=[k#1], functions=[partial_first(v#2, false)])", SORTED),
    ],
)
def test_near_miss_something_between_needs_it(tmp_path: Path, between: tuple[str, ...]) -> None:
    assert not asked(tmp_path, *between, READ)


def test_values_that_are_told_apart_in_part_are_told_apart_below(tmp_path: Path) -> None:
    assert asked(tmp_path, "HashAggregate(keys=[k#1], functions=[])", READ)


def test_near_miss_it_gives_the_work_of_one_task_to_several(tmp_path: Path) -> None:
    assert not asked(tmp_path, ADDS, READ, tasks=1)


def test_near_miss_a_shuffle_that_spark_asked_for(tmp_path: Path) -> None:
    assert not asked(tmp_path, ADDS, READ, lower=JOIN)


def test_healthy_the_shuffle_takes_no_time(tmp_path: Path) -> None:
    assert not [one for one in asked(tmp_path, ADDS, READ, seconds=0.01) if one.shown]


def test_repartitions_by_the_same_columns_are_one_cause(tmp_path: Path) -> None:
    nodes, operators = [node(0, "Execute", None, [])], []
    for first in (0, 3):
        under = 10 * (first + 1)
        own = chain(UPPER, ADDS, CLUSTERED, under=under,
                    stages=[[first + 1, first + 2], [first + 1], [first, first + 1]])  # fmt: skip
        own[0].parent_node_id = 0
        nodes += own
        operators.append(operator("Exchange", under + 3, 0.7, stages=(first, first + 1)))
    change: Any = plan(*nodes, operators=tuple(operators))
    (one,) = judged_with(tmp_path, in_a_row(6), RULE, change).findings
    assert one.place.stages_count == 4
    assert holds(one, 2 * 0.8 / 2 * 0.9)


BY_SORT = "SortAggregate(key=[k#1], functions=[partial_max(v#2)])"
BY_KEY = "Sort [k#1 ASC NULLS FIRST], false, 0"


def test_what_is_added_up_in_part_by_sort_keeps_its_sort(tmp_path: Path) -> None:
    (one,) = asked(tmp_path, BY_SORT, BY_KEY, "Project [k#1, v#2]", READ, seconds=2.8)
    assert one.shown
    assert holds(one, 3.2 / 2 * 0.9)
    assert (one.saving.elapsed_ns.high or 0) < 2.5e9
    assert "the sort after it" not in one.mechanism


def test_a_sort_below_that_of_an_aggregate_goes_too(tmp_path: Path) -> None:
    (one,) = asked(tmp_path, BY_SORT, BY_KEY, "Project [k#1, v#2]", SORTED, READ)
    assert holds(one, 3.2 / 2 * 0.9)
    assert "the sort after it" in one.mechanism


@pytest.mark.parametrize(
    "text",
    [
        "SortAggregate(key=[k#1], functions=[max(v#2)])",
        "SortAggregate(key=[k#1], functions=[merge_max(v#2), partial_count(distinct d#4)])",
        "SortAggregate(key=[k#1], functions=[partial_first(v#2, false)])",
    ],
)
def test_near_miss_an_aggregate_by_sort_needs_it(tmp_path: Path, text: str) -> None:
    assert not asked(tmp_path, text, BY_KEY, READ)


RANGES = "Exchange rangepartitioning(s#3 ASC NULLS FIRST, 8), REPARTITION_BY_NUM, [plan_id=12]"


def ranged(
    folder: Path, *between: str, scan_of: str = "Scan parquet", lower: str = RANGES
) -> Finding:
    """Four stages in a row, of 4 s on two slots, of which the first writes no shuffle."""
    (upper,) = chain(UPPER, under=-1, stages=[[2, 3]])
    upper.parent_node_id = None
    under = 1 + len(between)
    middle = chain(*between, stages=[[2]] * len(between))
    exchange, scan = chain(lower, scan_of, under=under - 1, stages=[[1, 2], [0, 1]])
    other = chain("Scan parquet", under=under + 1, stages=[[0]])
    world = World([StageSpec([1000] * 8) for _ in range(4)])
    for number, row in enumerate(world.rows["stages"]):
        row["parent_ids"] = [number - 1] if number else []
    for task in world.rows["tasks"]:
        task["shuffle_written_bytes"] = 100 if task["stage_id"] in (1, 2) else 0
    used = (operator("Exchange", exchange.node_id, 1.4, stages=(1, 2)),)
    change: Any = plan(upper, *middle, exchange, scan, *other, operators=used)
    (one,) = judged_with(folder, world, RULE, change).findings
    return one


@pytest.mark.parametrize(("between", "gone"), [((BY_SORT, BY_KEY), 1.6), ((), 8.0)])
def test_the_job_that_looks_for_the_ranges_goes_too(
    tmp_path: Path, between: tuple[str, ...], gone: float
) -> None:
    one = ranged(tmp_path, *between, "Project [k#1, v#2]")
    assert one.shown
    assert holds(one, (8 + gone) / 2 * 0.85)
    assert "A job before it read the rows for 8.0" in one.mechanism
    assert one.place.stages_count == (3 if between else 2)


@pytest.mark.parametrize(
    "other",
    [
        {"scan_of": "BroadcastExchange HashedRelationBroadcastMode"},
        {"lower": CLUSTERED},
    ],
    ids=["it makes a table to join", "rows are not put into ranges"],
)
def test_near_miss_a_stage_before_that_does_something_else(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    one = ranged(tmp_path, BY_SORT, BY_KEY, "Project [k#1, v#2]", **other)
    assert "to find the ranges" not in one.mechanism
    assert holds(one, 1.6 / 2 * 0.9)
