from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import (
    holds,
    job,
    judged,
    judged_with,
    only,
    samples,
    stack,
)

from pyrometer.explain.catalogue.cpu.expression_decimal import RULE

DECIMAL = "org.apache.spark.sql.types.Decimal.$plus"


@pytest.mark.parametrize(
    "frame",
    ["java.math.BigDecimal.multiply", "java.math.BigInteger.add", "scala.math.BigDecimal.*"],
)
def test_half_of_the_cpu_is_arbitrary_precision(tmp_path: Path, frame: str) -> None:
    world = job()
    samples(world, 0.5, java_stack=stack(world, "a.Task.run", DECIMAL, frame),
            operator="HashAggregate")  # fmt: skip
    found = only(world.write(tmp_path), RULE)
    # Half of 80 % of 8 s of two slots, and 60 to 97 % of it.
    assert holds(found, 4 * 0.8 * 0.5 * 0.785)
    assert (found.place.stage_id, found.place.operator) == (0, "HashAggregate")


def test_the_operator_that_makes_the_decimals_is_named(tmp_path: Path) -> None:
    world = job()
    samples(world, 0.5, java_stack=stack(world, "a.Task.run", "java.math.BigDecimal.add"),
            operator="Generate")  # fmt: skip
    project = node(4, "Project", 3, [])
    project.simple_string = "Project [cast(x#1 as decimal(38,6)) AS y#2]"
    change = plan(node(3, "HashAggregate", None, [0]), project)
    (found,) = judged_with(tmp_path, world, RULE, change).findings
    assert (found.place.operator, found.place.node_id, found.place.sql_id) == ("Project", 4, 0)


def test_near_miss_decimals_of_18_digits(tmp_path: Path) -> None:
    world = job()
    samples(world, 0.5, java_stack=stack(world, "a.Task.run", DECIMAL))
    assert judged(world.write(tmp_path), RULE).findings == []


@pytest.mark.parametrize(
    "parser",
    ["com.fasterxml.jackson.core.JsonParser.getDecimalValue",
     "org.apache.spark.sql.catalyst.csv.UnivocityParser.makeConverter",
     "org.apache.spark.api.python.SerDeUtil.toJava"],
)  # fmt: skip
def test_near_miss_numbers_of_a_text(tmp_path: Path, parser: str) -> None:
    world = job()
    number = stack(world, "a.Task.run", parser, "java.math.BigDecimal.<init>")
    samples(world, 0.5, java_stack=number)
    assert judged(world.write(tmp_path), RULE).findings == []


@pytest.mark.parametrize("kind", ["Double", "Float"])
def test_near_miss_a_short_decimal_is_cast_to_floating_point(tmp_path: Path, kind: str) -> None:
    world = job()
    cast = f"org.apache.spark.sql.types.Decimal.to{kind}"
    number = stack(world, "a.Task.run", cast, "scala.math.BigDecimal$.apply")
    samples(world, 0.5, java_stack=number)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(job().write(tmp_path), RULE).findings == []
