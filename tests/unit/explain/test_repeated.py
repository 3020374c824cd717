"""Iterations of a workload: what is the same in each is said once."""

from __future__ import annotations

from pyrometer.explain.change import Less
from pyrometer.explain.repeated import once
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place
from pyrometer.explain.what_if import Extent

RULE = Rule("join.x", "x", "x", lambda facts: [], "try it")


def suspect(stage: int, **place: object) -> Suspect:
    return Suspect(
        place=Place(layer="sql", stage_id=stage, sql_id=stage, stages_count=1, **place),  # type: ignore[arg-type]
        mechanism="It joins.", change=(Less("cpu", {stage: 0.5}),), evidence=[], remedies=[],
        extent=Extent(0.8, 0.6, 1.0, 10),
    )  # fmt: skip


def test_the_same_operator_in_three_iterations_is_one_finding() -> None:
    given = [(RULE, suspect(n, operator="SortMergeJoin", node_id=3)) for n in (7, 11, 15)]
    ((_, found),) = once(given)
    assert [edit.stages for edit in found.change] == [{7}, {11}, {15}]
    assert found.place.stages_count == 3
    assert (round(found.extent.low, 9), found.extent.n) == (0.6, 30)
    assert found.mechanism == "It joins. The same 2 more times."


def test_one_more_is_singular() -> None:
    ((_, found),) = once([(RULE, suspect(n, operator="Sort", node_id=3)) for n in (7, 11)])
    assert found.mechanism == "It joins. The same 1 more time."


def test_other_operators_are_other_findings() -> None:
    given = [(RULE, suspect(7, operator="SortMergeJoin", node_id=n)) for n in (3, 9)]
    assert once(given) == given


def test_causes_without_a_place_of_their_own_are_not_joined() -> None:
    given = [(RULE, suspect(n)) for n in (7, 11)]
    assert once(given) == given
