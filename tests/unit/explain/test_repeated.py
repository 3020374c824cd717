"""Iterations of a workload: what is the same in each is said once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.support.tables import MS, StageSpec, World

from pyrometer.explain.change import Less
from pyrometer.explain.facts import Facts
from pyrometer.explain.findings import explain
from pyrometer.explain.repeated import once
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Finding, Place
from pyrometer.explain.what_if import Extent
from pyrometer.store import Run

RULE = Rule("join.x", "x", "x", lambda facts: [], "try it")


def same_query(place: Place) -> None:
    return None


def suspect(stage: int, **place: object) -> Suspect:
    return Suspect(
        place=Place(layer="sql", stage_id=stage, sql_id=stage, stages_count=1, **place),  # type: ignore[arg-type]
        mechanism="It joins.", change=(Less("cpu", {stage: 0.5}),), evidence=[], remedies=[],
        extent=Extent(0.8, 0.6, 1.0, 10),
    )  # fmt: skip


def test_the_same_operator_in_three_iterations_is_one_finding() -> None:
    given = [(RULE, suspect(n, operator="SortMergeJoin", node_id=3)) for n in (7, 11, 15)]
    ((_, found),) = once(given, same_query)
    assert [edit.stages for edit in found.change] == [{7}, {11}, {15}]
    assert found.place.stages_count == 3
    assert (round(found.extent.low, 9), found.extent.n) == (0.6, 30)
    assert found.mechanism == "It joins. The same 2 more times."


def test_one_more_is_singular() -> None:
    given = [(RULE, suspect(n, operator="Sort", node_id=3)) for n in (7, 11)]
    ((_, found),) = once(given, same_query)
    assert found.mechanism == "It joins. The same 1 more time."


def test_other_operators_are_other_findings() -> None:
    given = [(RULE, suspect(7, operator="SortMergeJoin", node_id=n)) for n in (3, 9)]
    assert once(given, same_query) == given


def test_causes_without_a_place_of_their_own_are_not_joined() -> None:
    given = [(RULE, suspect(n)) for n in (7, 11)]
    assert once(given, same_query) == given


def queries(folder: Path, *of_iteration: tuple[str, str]) -> Path:
    """Write a run of three iterations, one to warm up, with queries of one stage each."""
    each = [
        (iteration, description, plan.format(iteration))
        for iteration in range(3)
        for description, plan in of_iteration
    ]
    world = World(
        [StageSpec([1000] * 4, iteration=n, sql_id=sql) for sql, (n, _, _) in enumerate(each)]
    )
    world.rows["plan_nodes"] = []
    world.rows["sql_executions"] = []
    for sql, (_, description, plan) in enumerate(each):
        stage = world.rows["stages"][sql]
        stage["parent_ids"] = [sql - 1] if sql else []
        world.add("sql_executions", app_index=0, sql_id=sql, description=description,
                  start_wall_ns=stage["submit_wall_ns"] - 5 * MS,
                  end_wall_ns=stage["complete_wall_ns"], plan_versions_count=1)  # fmt: skip
        world.add("plan_nodes", app_index=0, sql_id=sql, plan_version=0, is_final=True, node_id=4,
                  depth=0, name="SortMergeJoin", simple_string=plan)  # fmt: skip
    return world.write(folder)


def found(folder: Path) -> list[Finding]:
    """Ask a rule that suspects a node of each query that ran."""

    def suspects(facts: Facts) -> Iterable[Suspect]:
        for stage in facts.stages:
            yield Suspect(
                place=Place(layer="sql", stage_id=stage.stage_id, operator="SortMergeJoin",
                            node_id=4),
                mechanism="It joins.", change=(Less("cpu", {stage.number: 0.5}),), evidence=[],
                remedies=[],
            )  # fmt: skip

    with Run.open(folder) as run:
        return explain(run, rules=[Rule("join.x", "x", "x", suspects, "try it")]).findings


TWICE = ["It joins. The same 1 more time."] * 2


def test_queries_with_names_are_joined_with_their_like_alone(tmp_path: Path) -> None:
    plan = "SortMergeJoin [k#{}], [k#7]"
    made = queries(tmp_path, ("q3", plan), ("q9", plan))
    assert [one.mechanism for one in found(made)] == TWICE


def test_queries_of_one_line_are_told_apart_by_their_plans(tmp_path: Path) -> None:
    line = "collect at run.py:30"
    made = queries(tmp_path, (line, "SortMergeJoin [a#1], file:/out/{}"),
                   (line, "SortMergeJoin [b#1], file:/out/{}"))  # fmt: skip
    assert [one.mechanism for one in found(made)] == TWICE


def test_a_query_that_an_iteration_repeats_is_one(tmp_path: Path) -> None:
    query = ("collect at run.py:30", "SortMergeJoin [a#1], [b#2]")
    made = queries(tmp_path, query, query)
    assert [one.mechanism for one in found(made)] == ["It joins. The same 3 more times."]
