"""Stacks with what they worked for, for whatever folds them."""

from __future__ import annotations

import pytest
from tests.support.generated import add_plan, add_samples, add_source
from tests.support.simulation.contexts import two_contexts
from tests.support.tables import StageSpec, World

from pyrometer.accounts.window import open_scope
from pyrometer.attribution.plan_match import unnumbered
from pyrometer.attribution.samples import KEY, attribution, define_stack_labels
from pyrometer.report.page import page_data
from pyrometer.store import Run
from pyrometer.summary.summary import summarise


def test_stacks_bear_the_operator_and_expression_that_the_account_of_operators_has(tmp_path):
    world = World([StageSpec([1000] * 2)])
    add_plan(world, 40)
    add_samples(
        world,
        [
            (10, "cast", "WholeStageCodegen"),
            (11, "cast", "WholeStageCodegen"),
            (13, "operator", "WholeStageCodegen"),
        ],
    )
    add_source(world, 0)
    with Run.open(world.write(tmp_path)) as run:
        scope = open_scope(run, None)
        define_stack_labels(scope)
        keys = " AND ".join(
            f"t.{key} IS NOT DISTINCT FROM "
            + ("(w.category = 'cast')" if key == "converts" else f"w.{key}")
            for key in KEY
        )
        found = scope.tables.query(
            "SELECT t.operator, t.expression, sum(w.hits)::BIGINT FROM w_samples w"
            " JOIN attributed_stacks t"
            f" ON {keys} WHERE w.event = 'cpu' GROUP BY ALL"
        )
        wanted = {
            (owner.operator, unnumbered(text)): n
            for owner, bucket in attribution(scope).buckets.items()
            for text, n in bucket.by_expression.items()
        }
    assert {(operator, text): n for operator, text, n in found} == wanted
    assert {text for _, text in wanted} == {
        "cast(lo as timestamp)",
        "cast(hi as timestamp)",
        "(input[0, bigint, true] + input[1, bigint, true])",
    }


def test_a_stack_has_one_label_where_a_jvm_ran_two_applications(tmp_path):
    with Run.open(two_contexts().write(tmp_path)) as run:
        scope = open_scope(run, "application")
        define_stack_labels(scope)
        ((labels, stacks),) = scope.tables.query(
            f"SELECT count(*), count(DISTINCT ({', '.join(KEY)})) FROM attributed_stacks"
        )
    assert labels == stacks > 0


@pytest.mark.parametrize("operator", ["WholeStageCodegen", "Scan", None])
def test_where_nothing_tells_an_expression_the_page_has_none(tmp_path, operator):
    world = World([StageSpec([1000] * 2)])
    add_plan(world, 40)
    add_samples(world, [(None, "operator", operator)])
    for row in world.rows["samples"]:
        row["codegen_stage_id"] = None
    with Run.open(world.write(tmp_path)) as run:
        scope = open_scope(run, None)
        made = page_data(scope, summarise(scope)).content["flame"]
    assert made["dimensions"]["expression"] == [None]
    assert operator in made["dimensions"]["operator"]


def test_a_run_without_samples_has_a_page(tmp_path):
    world = World([StageSpec([1000] * 2)])
    world.rows["samples"] = []
    with Run.open(world.write(tmp_path)) as run:
        scope = open_scope(run, None)
        assert (
            "no profiler samples" in page_data(scope, summarise(scope)).content["flame"]["reason"]
        )
