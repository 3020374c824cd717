"""A repartition right below another shuffle: the stage between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, judged_with
from tests.support.tables import StageSpec, World

from pyrometer.explain.catalogue.plan.partitioning_needless_repartition import RULE
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
