"""Every rule of the catalogue has a manual, and pages and verbs print it whole."""

from __future__ import annotations

import re

import pytest
from tools.generate_rules import PAGE, anchor, page

from pyrometer.core.errors import UsageError
from pyrometer.explain.every_rule import every_rule
from pyrometer.explain.manual import HEADINGS, manual_of
from pyrometer.explain.rule import Rule
from pyrometer.explain.rule_list import rule_list
from pyrometer.explain.schema import Record

RULES = every_rule()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_manual_has_every_part(rule: Rule) -> None:
    manual = manual_of(rule.manual)
    assert tuple(manual.parts) == HEADINGS
    assert manual.summary.endswith(".")
    assert all(len(part) > 10 for part in manual.parts.values())
    assert rule.title
    assert not rule.title.endswith(".")
    assert rule.refute.endswith(".")
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*\.[a-z0-9]+(-[a-z0-9]+)*", rule.code)


def test_no_two_rules_have_the_same_code_or_anchor() -> None:
    codes = [rule.code for rule in RULES]
    assert len(set(codes)) == len(codes)
    assert len({anchor(code) for code in codes}) == len(codes)


def test_the_reference_has_every_rule() -> None:
    text = page(RULES)
    assert text == PAGE.read_text(encoding="utf-8"), "make docs"
    for rule in RULES:
        assert f"\n### {rule.code}\n" in text
        assert f"(#{anchor(rule.code)})" in text
    assert text.count("**When it is wrong.**") == len(RULES)


def test_a_code_gives_one_rule_and_a_family_its_rules() -> None:
    assert [one.code for one in rule_list(RULES, {}).rules] == [rule.code for rule in RULES]
    first = RULES[0]
    assert [one.code for one in rule_list(RULES, {}, first.code).rules] == [first.code]
    family = rule_list(RULES, {}, f"{first.family}.*").rules
    assert {one.family for one in family} == {first.family}
    assert rule_list(RULES, {}, first.family).rules == family


def test_a_rule_brings_its_record() -> None:
    record = Record(tried_count=3, proven_count=2, error_ratio=0.2)
    (one,) = rule_list(RULES, {RULES[0].code: record}, RULES[0].code).rules
    assert one.record == record
    assert set(one.manual) == set(HEADINGS)


def test_an_unknown_rule_brings_the_nearest() -> None:
    with pytest.raises(UsageError) as raised:
        rule_list(RULES, {}, f"{RULES[0].code}x")
    assert RULES[0].code in (raised.value.remedy or "")
