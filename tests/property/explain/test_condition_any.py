"""Any condition of ``--fail-if`` is read as it is written, and any text ends in one message."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.explain.findings import a_finding, some_findings

from pyrometer.core.errors import UsageError
from pyrometer.explain.condition import (
    Asked,
    Compared,
    Condition,
    Found,
    Not,
    Several,
    because,
    parse,
)

CODES = ("gc.heap", "gc.young", "skew.bytes", "memory-bandwidth.ceiling")
# One found, one found and muted, one not judged, one absent.
FINDINGS = some_findings(
    a_finding("gc.heap", 2.0), a_finding("skew.bytes", 5.0, muted="known"),
    unjudged=("memory-bandwidth.ceiling",),
)  # fmt: skip

rules = st.sampled_from([*CODES, "gc", "skew", "memory-bandwidth"]).map(Asked)
signs = st.sampled_from([">", ">=", "<", "<=", "==", "!="])
numbers = st.floats(0.0, 1000.0, allow_nan=False).map(lambda x: round(x, 3))
leaves: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Found, rules),
    st.builds(Compared, st.just("saving"), st.none() | rules, signs, numbers,
              st.sampled_from(["%", "ms", "s", "min", "h"])),
    st.builds(Compared, st.just("joint"), st.none(), signs, numbers, st.sampled_from(["%", "s"])),
    st.builds(Compared, st.just("count"), st.none() | rules, signs, numbers, st.just("")),
    st.builds(Compared, st.just("elapsed"), st.none(), signs, numbers, st.just("s")),
)  # fmt: skip


def deeper(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.builds(Not, inner) | st.builds(
        Several, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3).map(tuple)
    )


conditions = st.recursive(leaves, deeper, max_leaves=8)


def truth(one: Any) -> float:
    """Kleene's logic in numbers: 0 is false, 1 true, a half neither."""
    if isinstance(one, Not):
        return 1.0 - truth(one.one)
    if isinstance(one, Several):
        return (min if one.word == "and" else max)(map(truth, one.those))
    return {True: 1.0, False: 0.0, None: 0.5}[one.holds(FINDINGS)]


@given(conditions)
def test_what_is_written_is_read_again(condition: Condition) -> None:
    again = parse(str(condition), CODES)
    assert again.holds(FINDINGS) is condition.holds(FINDINGS)
    assert str(again) == str(condition)


@given(conditions)
def test_a_condition_is_true_false_or_neither(condition: Condition) -> None:
    expected = {1.0: True, 0.0: False, 0.5: None}[truth(condition)]
    assert condition.holds(FINDINGS) is expected
    assert Not(condition).holds(FINDINGS) is (None if expected is None else not expected)


@given(conditions)
def test_each_part_is_said_once_in_one_line(condition: Condition) -> None:
    said = because(condition, FINDINGS)
    assert said
    assert len(said) == len(set(said))
    assert all("\n" not in one for one in said)


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from([*"()<>=!%", "and", "or", "not", "finding", "saving", "gc", "5", " ", "s"]),
        max_size=14,
    ).map("".join)
)
def test_any_text_is_a_condition_or_one_message(text: str) -> None:
    said: UsageError | None = None
    try:
        parse(text, CODES).holds(FINDINGS)
    except UsageError as error:
        said = error
    if said is not None:
        assert said.exit_code == 2
        assert "\n" not in said.message
        assert said.remedy
