"""The rules as data: what each looks for, its manual, and how its findings fared when tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from pydantic import BaseModel, Field

from pyrometer.core.errors import UsageError
from pyrometer.explain.manual import manual_of
from pyrometer.explain.rule import Rule
from pyrometer.explain.schema import Record


class RuleFacts(BaseModel):
    """A rule.

    Attributes
    ----------
    manual : dict of str to str
        Text below each heading.
    needs : list of str
        What gives the rule what it looks at, where that is not always there.
    explains : list of str
        Codes, or families (``spill.``), that are symptoms of this cause.
    """

    code: str
    family: str
    title: str
    cause: str
    summary: str
    manual: dict[str, str] = Field(default_factory=dict)
    needs: list[str] = Field(default_factory=list)
    explains: list[str] = Field(default_factory=list)
    refute: str
    record: Record = Field(default_factory=Record)


class RuleList(BaseModel):
    """The whole of ``rules --json`` (``pyrometer/rules/1``)."""

    schema_name: str = Field(default="pyrometer/rules/1", alias="schema")
    rules: list[RuleFacts] = Field(default_factory=list)

    model_config = {"populate_by_name": True}


def rule_list(
    rules: Sequence[Rule], records: Mapping[str, Record], name: str | None = None
) -> RuleList:
    """Describe rules: all, one, or those of a family.

    Raises
    ------
    UsageError
        If there is no rule or family of that name.
    """
    family = (name or "").removesuffix("*").removesuffix(".")
    asked = [rule for rule in rules if name is None or family in (rule.code, rule.family)]
    if not asked:
        known = [name for rule in rules for name in (rule.code, rule.family)]
        near = get_close_matches(family, known, 1)
        raise UsageError(
            f"no rule or family {name!r}",
            f"did you mean {near[0]}?" if near else "pyrometer rules lists them",
        )
    return RuleList(rules=[_described(rule, records.get(rule.code)) for rule in asked])


def _described(rule: Rule, record: Record | None) -> RuleFacts:
    manual = manual_of(rule.manual)
    return RuleFacts(
        code=rule.code,
        family=rule.family,
        title=rule.title,
        cause=rule.cause,
        summary=manual.summary,
        manual=manual.parts,
        needs=[need.remedy for need in rule.needs],
        explains=list(rule.explains),
        refute=rule.refute,
        record=record or Record(),
    )
