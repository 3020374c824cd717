"""A lambda that compares a value with each of some constants, and what it resembles."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.planned import expression, node, operator, plan
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.explain.catalogue.plan.expression_per_row import RULE
from pyrometer.explain.evidence.expressions.each_constant import compared_with_each
from pyrometer.explain.schema import Finding

LAMBDA = "lambdafunction((lambda x_1#9 = {}), lambda x_1#9, false)"
HOUR = "hour(sent_at#3, Some(UTC))"


def found(folder: Path, condition: str) -> list[Finding]:
    """Let a filter use 4 s of 5.6 s of CPU, of which a function has 1.6 s."""
    text = "hour(input[3, timestamp, true], Some(UTC))"
    own = operator("Filter", 0, 4.0, expression(text, 1.6, 0.4))
    filters = node(0, "Filter", None, [0], number_of_output_rows=1_000_000)
    filters.simple_string = f"Filter {condition}"
    change: Any = plan(filters, operators=(own,))
    return [one for one in judged_with(folder, job(), RULE, change).findings if one.shown]


@pytest.mark.parametrize(
    "condition",
    [
        f"exists([7,8,16], {LAMBDA.format(HOUR)})",
        f"(isnotnull(sent_at#3) AND exists([7,8,16], {LAMBDA.format(HOUR)}))",
        f"exists([7,8], lambdafunction(({HOUR} = lambda x_1#9), lambda x_1#9, false))",
    ],
)
def test_a_value_that_is_computed_for_each_of_some_constants(
    tmp_path: Path, condition: str
) -> None:
    (one,) = found(tmp_path, condition)
    assert holds(one, 4.0 / 2 * 0.7)
    assert one.place.operator == "Filter"
    assert "hour(sent_at, Some(UTC)) for each of the constants" in one.mechanism
    assert "IN (7, 8)" in (one.remedies[0].after or "")


@pytest.mark.parametrize(
    "condition",
    [
        f"{HOUR} IN (7,8,16)",
        f"exists(peaks#4, {LAMBDA.format(HOUR)})",
        f"exists([7,8,16], {LAMBDA.format('(lambda x_1#9 * hour(sent_at#3, Some(UTC)))')})",
        f"exists([7], {LAMBDA.format(HOUR)})",
        f"(sentences(note#5) AND exists([7,8,16], {LAMBDA.format(HOUR)}))",
        f"(note#5 LIKE %a%b% AND exists([7,8,16], {LAMBDA.format(HOUR)}))",
        f"exists([7,8,16], {LAMBDA.format(HOUR).replace('=', '<=')})",
        f"exists([7,8,16], {LAMBDA.format(HOUR).replace('=', '>=')})",
        f"exists([7,8], lambdafunction(({HOUR} <= lambda x_1#9), lambda x_1#9, false))",
    ],
)
def test_near_miss_no_list_of_constants_says_the_same(tmp_path: Path, condition: str) -> None:
    assert not found(tmp_path, condition)


def test_a_long_list_that_is_compared_otherwise_is_read_once() -> None:
    def spent_s(count: int) -> float:
        constants = ",".join(map(str, range(count)))
        filters = node(0, "Filter", None, [0])
        filters.simple_string = f"Filter exists([{constants}], lambdafunction(lambda x_1#9))"
        spent = []
        for _ in range(5):
            begun = time.process_time()
            assert compared_with_each(filters) is None
            spent.append(time.process_time() - begun)
        return min(spent)

    # Of twenty times as many: about twenty times as long, not four hundred times.
    assert spent_s(40_000) < 100 * spent_s(2_000)
