"""``--fail-if``: what a condition asks, and what is wrong with one that cannot be read."""

from __future__ import annotations

import pytest
from tests.support.explain.findings import S, a_finding, some_findings

from pyrometer.core.errors import UsageError
from pyrometer.explain.condition import MOST_DEPTH, because, parse
from pyrometer.explain.schema import Baseline

CODES = ("gc.heap", "gc.young", "skew.bytes", "spill.sort")
TWO = some_findings(
    a_finding("gc.heap", 2.0), a_finding("gc.young", 0.5), a_finding("skew.bytes", 0.1, shown=False)
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("finding(gc.heap)", True),
        ("finding(gc)", True),
        ("finding(gc.*)", True),
        ("finding(skew.bytes)", False),  # below the noise
        ("finding(skew)", False),
        ("saving > 10%", True),
        ("saving > 20%", False),
        ("saving >= 20 %", True),
        ("saving > 1.9s and saving < 2100 ms", True),
        ("saving(gc.young) > 0.4 s", True),
        ("saving(spill) > 0", False),
        ("joint > 24%", True),
        ("joint > 25%", False),
        ("joint == 2.5 s", True),
        ("count == 2", True),
        ("count(gc) == 2 and count(gc.heap) == 1", True),
        ("count(skew) != 0", False),
        ("elapsed > 9s", True),
        ("elapsed > 1 min", False),
        ("not finding(skew)", True),
        ("not (finding(gc) and saving > 50%)", True),
        # `and` binds closer than `or`
        ("finding(gc) or finding(skew) and finding(spill)", True),
        ("(finding(gc) or finding(skew)) and finding(spill)", False),
        ("  not  not finding ( gc )  ", True),
    ],
)
def test_a_condition_asks_what_it_says(text: str, holds: bool) -> None:
    assert parse(text, CODES).holds(TWO) is holds


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("", "expected finding(CODE)", "--fail-if 'finding("),
        ("finding", "expected `(`", "--fail-if"),
        ("finding(gc.heep)", "no rule or family 'gc.heep' at character 9", "did you mean gc.heap?"),
        ("finding(xyzzy)", "no rule or family 'xyzzy'", "pyrometer rules"),
        ("finding(gc", "expected `)`, found the end", "--fail-if"),
        ("saving", "expected one of > >= < <= == != after saving, found the end", "--fail-if"),
        ("saving > much", "expected a number, found 'much' at character 10", "--fail-if"),
        ("saving > 10", "saving is compared with % or a time", "--fail-if"),
        ("elapsed > 10%", "elapsed is compared with a time", "--fail-if"),
        ("count > 2%", "count is compared with a number without a unit", "--fail-if"),
        ("saving > 10% finding(gc)", "expected `and`, `or` or the end, found 'finding'", "--fail"),
        ("saving > 10% && count > 1", "cannot read '&& count > 1' at character 14", "--fail-if"),
        ("(saving > 10%", "expected `)`, found the end", "--fail-if"),
        ("regression(wall) > 3%", "expected finding(CODE)", "--fail-if"),
        ("(" * 500 + "count > 1" + ")" * 500, f"more than {MOST_DEPTH} conditions", "--fail-if"),
        ("not " * 400 + "count > 1", f"more than {MOST_DEPTH} conditions", "--fail-if"),
        ("count > 1 or " * 1000 + "count > 1", "longer than", "--fail-if"),
    ],
)
def test_one_message_says_where_it_cannot_be_read(text: str, said: str, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(text, CODES)
    assert said in raised.value.message
    assert remedy in (raised.value.remedy or "")


def test_what_is_muted_counts_for_nothing() -> None:
    found = some_findings(a_finding("gc.heap", 5.0, muted="known"), a_finding("gc.young", 0.5))
    assert parse("saving > 10%", CODES).holds(found) is False
    assert parse("finding(gc.heap)", CODES).holds(found) is False
    assert parse("count == 1", CODES).holds(found) is True


def test_what_was_not_judged_is_neither_true_nor_false() -> None:
    found = some_findings(a_finding("skew.bytes", 2.0), unjudged=("gc.heap",))
    asked = parse("finding(gc)", CODES)
    assert asked.holds(found) is None
    assert because(asked, found) == ["finding(gc): cannot tell, no data for gc.heap"]
    assert parse("saving(gc) > 1%", CODES).holds(found) is None
    assert parse("finding(gc.young)", CODES).holds(found) is False
    # What decides alone decides.
    assert parse("finding(gc) or finding(skew)", CODES).holds(found) is True
    assert parse("finding(gc) and finding(spill)", CODES).holds(found) is False
    assert parse("finding(gc) and finding(skew)", CODES).holds(found) is None
    # What was found is found, whatever else could not be judged.
    both = some_findings(a_finding("gc.young", 2.0), unjudged=("gc.heap",))
    assert asked.holds(both) is True


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("saving(gc) > 4%", True),
        ("saving(gc) > 10%", None),
        ("saving(gc) >= 5%", True),
        ("saving(gc) < 10%", None),
        ("saving(gc) < 4%", False),
        ("saving(gc) <= 5%", None),
        ("count(gc) == 0", False),
        ("count(gc) == 1", None),
        ("count(gc) == 2", None),
        ("count(gc) != 0", True),
        ("count(gc) != 1", None),
        ("count(gc) >= 1", True),
        ("saving(gc.young) < 10%", True),
    ],
)
def test_of_a_family_that_was_judged_in_part_the_value_is_a_lower_bound(
    text: str, holds: bool | None
) -> None:
    found = some_findings(a_finding("gc.young", 0.5), unjudged=("gc.heap",))
    assert parse(text, CODES).holds(found) is holds


def test_a_lower_bound_is_said_to_be_one() -> None:
    found = some_findings(a_finding("gc.young", 0.5), unjudged=("gc.heap",))
    asked = parse("saving(gc) > 4% or saving(gc) > 10% or count(gc) > 0", CODES)
    assert because(asked, found) == [
        "saving(gc) is at least 5.00 %", "saving(gc): cannot tell, no data for gc.heap",
        "count(gc) is at least 1",
    ]  # fmt: skip


def test_nothing_is_known_of_savings_where_nothing_could_be_simulated() -> None:
    found = some_findings(baseline=Baseline(elapsed_ns=10 * S))
    asked = parse("saving > 1%", CODES)
    assert asked.holds(found) is None
    assert because(asked, found) == ["saving: cannot tell, nothing could be simulated"]
    assert parse("elapsed > 9 s", CODES).holds(found) is True


def test_each_part_says_its_value() -> None:
    asked = parse("finding(gc) or saving > 50% or joint > 9s or count > 9 or elapsed > 1h", CODES)
    assert because(asked, TWO) == [
        "finding(gc) is true", "saving is 20.0 %", "joint is 2.50 s", "count is 2",
        "elapsed is 10.0 s",
    ]  # fmt: skip
