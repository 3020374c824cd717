"""Arrays that are exploded and grouped back: what their rows cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.explain.catalogue.plan.expression_explode_regrouped import RULE
from pyrometer.explain.schema import Finding

EXPLODE = "Generate explode(items#3), [id#1L], false, [e#9]"
PARTIAL = "HashAggregate(keys=[id#1L], functions=[partial_sum(price#10)])"
FINAL = "HashAggregate(keys=[id#1L], functions=[sum(price#10)])"
PROJECT = "Project [id#1L, e#9.price AS price#10]"


def found(
    folder: Path, explode: str = EXPLODE, partial: str = PARTIAL, final: str = FINAL,
    between: str = PROJECT, before: int = 100_000, first: int = 100_000, last: int = 100_000,
    seconds: float = 1.4, below: str = "Project [id#1L, items#3]", shown: bool = True,
) -> list[Finding]:  # fmt: skip
    texts = {1: final, 3: partial, 4: between, 5: explode, 6: below}
    nodes = [
        node(0, "WholeStageCodegen (2)", None, [0]),
        node(1, "HashAggregate", 0, [0], number_of_output_rows=last),
        node(2, "Exchange", 1, [0]),
        node(3, "HashAggregate", 2, [0], number_of_output_rows=first),
        node(4, between.split(" ")[0], 3, [0]),
        node(5, "Generate", 4, [0], number_of_output_rows=1_000_000),
        node(6, below.split(" [")[0], 5, [0]),
        node(7, "Scan parquet", 6, [0], number_of_output_rows=before),
    ]
    for one in nodes:
        one.simple_string = texts.get(one.node_id, one.simple_string)
    change: Any = plan(
        *nodes,
        operators=(
            operator("HashAggregate", 1, seconds), operator("HashAggregate", 3, seconds),
            operator("Generate", 5, seconds), operator("Scan parquet", 7, 0.7),
        ),
    )  # fmt: skip
    every = judged_with(folder, job(), RULE, change).findings
    return [one for one in every if one.shown or not shown]


def test_elements_are_grouped_back_into_the_rows_they_came_from(tmp_path: Path) -> None:
    # 4.2 of 5.6 s of CPU, with its waits 4.8 of 6.4 s on two slots.
    (one,) = found(tmp_path)
    assert holds(one, 4.8 / 2 * 0.6)
    saving = one.saving.elapsed_ns
    assert saving.high is not None
    assert saving.high < 2.5e9
    assert (one.place.node_id, one.place.operator) == (5, "Generate")
    assert "100 000 rows are exploded into 1 000 000" in one.mechanism
    assert 'explode("items")' in str(one.remedies[0])


def test_the_array_has_the_name_that_the_query_gives_it(tmp_path: Path) -> None:
    (one,) = found(
        tmp_path,
        explode="Generate explode(_extract_price#41), [id#1L], false, [e#9]",
        below="Project [id#1L, items#3.price AS _extract_price#41]",
    )
    assert 'aggregate("items.price", lit(0.0)' in str(one.remedies[0])


def test_elements_that_a_filter_leaves_out_are_not_shuffled_either_way(tmp_path: Path) -> None:
    (one,) = found(tmp_path, between="Filter (e#9 > 3)", shown=False)
    assert holds(one, 4.8 / 2 * 0.1)
    assert holds(one, 4.8 / 2 * 0.6)


def test_a_key_that_was_renamed_is_the_rows_own(tmp_path: Path) -> None:
    assert found(
        tmp_path,
        between="Project [id#1L AS order#7L, e#9.price AS price#10]",
        partial=PARTIAL.replace("id#1L", "order#7L"),
        final=FINAL.replace("id#1L", "order#7L"),
    )


def test_rows_with_empty_arrays_have_no_group(tmp_path: Path) -> None:
    assert found(tmp_path, first=92_000, last=92_000)


@pytest.mark.parametrize(
    "said",
    [
        # The sum of each product: elements of many rows come together.
        {"partial": PARTIAL.replace("id#1L", "price#10"), "final": FINAL.replace("id#1L", "e#9")},
        {"partial": PARTIAL.replace("id#1L", "id#1L, e#9"), "final": FINAL},
        # Of each customer, who has several rows, in several tasks or in one.
        {"first": 100_000, "last": 60_000},
        {"first": 60_000, "last": 60_000},
        {"partial": "HashAggregate(keys=[], functions=[partial_sum(price#10)])"},
        {"explode": "Generate json_tuple(text#3, a), [id#1L], false, [c0#9]"},
        {"between": "BroadcastHashJoin [e#9], [k#4], Inner, BuildRight"},
        {"between": "Window [row_number() windowspecdefinition(id#1L)]"},
    ],
)
def test_near_miss_groups_need_more_than_one_row(tmp_path: Path, said: dict[str, Any]) -> None:
    assert not found(tmp_path, **said)


def test_healthy_exploding_takes_no_time(tmp_path: Path) -> None:
    assert not found(tmp_path, seconds=0.001)
