from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import job, judged, judged_with, only, samples, settings
from tests.support.tables import World

from pyrometer.accounts.plan_schema import Node, NodeMetric, Sql
from pyrometer.explain.catalogue.cpu.codegen_fallback import RULE, unfused

LOG = {"apps", "stages", "tasks", "executors", "sql_executions", "plan_nodes", "node_metrics"}


def world(fused: bool, name: str = "Filter") -> World:
    made = job()
    for row in made.rows["plan_nodes"]:
        if row["node_id"] == 1:
            row.update(name=name, simple_string=f"{name} (x#1 > 0)")
        if not fused:
            row["codegen_stage_id"] = None
            if row["node_id"] == 0:
                row.update(name="CollectLimit", simple_string="CollectLimit 5")
    made.add(
        "node_metrics", app_index=0, sql_id=0, plan_version=0, node_id=1, accumulator_id=9,
        metric="number of output rows", metric_type="sum", stage_id=0, stage_attempt=0,
        updates_count=8, value_sum=8,
    )  # fmt: skip
    samples(made, 1.0, codegen_stage_id=None if not fused else 1, operator=name, category=None)
    return made


def test_a_filter_outside_whole_stage_code(tmp_path: Path) -> None:
    made = world(fused=False)
    settings(made, spark__sql__codegen__wholeStage="false")
    found = only(made.write(tmp_path), RULE)
    saving = found.saving.elapsed_ns
    # All of the CPU, 80 % of 4 s; fused filters are 2.4 times as fast, or more.
    assert saving.low is not None
    assert saving.high is not None
    assert saving.low / 1e9 <= 3.2 * 0.58 * 1.01
    assert saving.high / 1e9 >= 3.2 * 0.98 * 0.99
    assert (found.place.operator, found.place.node_id, found.place.stage_id) == ("Filter", 1, 0)
    assert found.remedies[0].factor == "spark.sql.codegen.wholeStage"


def test_from_the_event_log_alone_the_low_end_is_nothing(tmp_path: Path) -> None:
    made = world(fused=False)
    settings(made, spark__sql__codegen__wholeStage="false")
    (found,) = judged(made.write(tmp_path, only=LOG), RULE).findings
    assert found.saving.elapsed_ns.low is not None
    assert found.saving.elapsed_ns.low <= 0
    assert "at most" in found.mechanism
    assert not found.shown


def test_an_operator_that_has_no_generated_code(tmp_path: Path) -> None:
    made = world(fused=False, name="ObjectHashAggregate")
    assert judged(made.write(tmp_path), RULE).findings == []


def test_near_miss_an_expression_that_has_no_generated_code(tmp_path: Path) -> None:
    made = world(fused=False)
    assert judged(made.write(tmp_path / "plain"), RULE).findings
    for row in made.rows["plan_nodes"]:
        if row["node_id"] == 1:
            row["simple_string"] = (
                "Filter exists(a#1, lambdafunction((lambda x#2 > 0), lambda x#2, false))"
            )
    assert judged(made.write(tmp_path / "lambda"), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(world(fused=True).write(tmp_path), RULE).findings == []


def test_code_that_is_too_long_to_be_used_never_counted_its_time() -> None:
    def sql(*metrics: NodeMetric) -> Sql:
        cluster = Node(node_id=0, depth=0, name="WholeStageCodegen (1)", codegen_stage_id=1,
                       stage_ids=[0], metrics=list(metrics))  # fmt: skip
        inner = Node(node_id=1, parent_node_id=0, depth=1, name="Filter", codegen_stage_id=1,
                     stage_ids=[0])  # fmt: skip
        return Sql(app_index=0, sql_id=0, plan_versions_count=1, nodes=[cluster, inner])

    used = NodeMetric(metric="duration", value_sum=5)
    assert [node.name for node in unfused(sql(), limited=True)] == ["Filter"]
    assert unfused(sql(used), limited=True) == []
    assert unfused(sql()) == []


def test_a_limit_of_spark_is_named_with_its_remedy(tmp_path: Path) -> None:
    made = world(fused=False)
    settings(made, spark__sql__codegen__hugeMethodLimit="300")
    found = only(made.write(tmp_path), RULE)
    assert "longer than spark.sql.codegen.hugeMethodLimit=300" in found.mechanism
    assert (found.remedies[0].factor, found.remedies[0].level) == (
        "spark.sql.codegen.hugeMethodLimit", "65535",
    )  # fmt: skip


def _twice(folder: Path, fused: bool) -> float:
    """Give what is saved where samples are of one of two Generates, and nobody knows of which."""
    lower = node(3, "Generate", 2, [0])
    lower.codegen_stage_id = 1 if fused else None
    of_both = operator("Generate", 1, 4.0).model_copy(update={"node_id": None})
    change = plan(
        node(0, "HashAggregate", None, [0]), node(1, "Generate", 0, [0]),
        node(2, "CollectLimit", 1, [0]), lower,
        operators=(operator("HashAggregate", 0, 0.8), of_both),
    )  # fmt: skip
    (found,) = judged_with(folder, job(), RULE, change).findings
    return (found.saving.elapsed_ns.value or 0.0) / 1e9


def test_samples_of_either_of_two_nodes_count_where_both_are_meant(tmp_path: Path) -> None:
    # Of 560 samples, 80 are the aggregate's and 400 of either; 80 % of 4 s goes with the CPU.
    expected = 3.2 * (80 / 560 * (0.44 + 0.98) / 2 + 400 / 560 * (0.58 + 0.98) / 2)
    assert _twice(tmp_path, fused=False) == pytest.approx(expected, rel=0.05)


def test_near_miss_one_of_the_two_is_fused(tmp_path: Path) -> None:
    expected = 3.2 * 80 / 560 * (0.44 + 0.98) / 2
    assert _twice(tmp_path, fused=True) == pytest.approx(expected, rel=0.05)
