from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, job, judged_with, samples, stack

from pyrometer.accounts.plan_schema import Node, Sql
from pyrometer.explain.catalogue.plan.expression_json_parsed_again import RULE, SPLITS, saves
from pyrometer.explain.evidence.expressions.json_calls import Parsed, json_calls, json_texts
from pyrometer.explain.evidence.pipelines import pipelines
from pyrometer.explain.evidence.plan_nodes import Plan
from pyrometer.explain.schema import Finding
from pyrometer.summary.schema import Summary

CATALYST = "org.apache.spark.sql.catalyst.expressions"
GET = f"{CATALYST}.json.GetJsonObjectEvaluator.evaluate"
FROM = f"{CATALYST}.JsonToStructs.nullSafeEval"
SCAN = "org.apache.spark.sql.catalyst.json.JacksonParser.parse"


def parts(*calls: str) -> str:
    return ", ".join(f"{call} AS c#{90 + place}" for place, call in enumerate(calls))


def get(text: str, *fields: str) -> list[str]:
    return [f"get_json_object({text}, $.{field})" for field in fields]


def from_json(text: str, *fields: str) -> list[str]:
    return [
        f"from_json(StructField({field},StringType,true), {text}, Some(Etc/UTC), false).{field}"
        for field in fields
    ]


def projected(text: str, *below: Node, rows: int = 1000) -> Callable[[Summary], None]:
    """A projection over what is given, over a scan: in one generated stage."""
    top = node(0, "WholeStageCodegen", None, [0])
    one = replace(node(1, "Project", 0, []), simple_string=f"Project [{text}]")
    scan = node(2 + len(below), "Scan parquet", 1 + len(below), [0], number_of_output_rows=rows)
    return plan(top, one, *below, scan)


def filtered(text: str, rows: int) -> Node:
    one = node(2, "Filter", 1, [0], number_of_output_rows=rows)
    return replace(one, simple_string=f"Filter ({text})")


def found(
    folder: Path, change: Callable[[Summary], None], frame: str = GET, operator: str | None = None
) -> list[Finding]:
    """Findings where 80 % of the CPU of a stage of 80 tasks of 1 s is below a frame."""
    world = job(tasks=80)
    parser = stack(world, f"{CATALYST}.GeneratedClass$Iterator.processNext", frame)
    samples(world, 0.8, java_stack=parser, operator=operator, node_id=None)
    return judged_with(folder, world, RULE, change).findings


# 80 s on two slots: 56 s of CPU, of which 44.8 s parse, and 8 s of waits for a CPU.
@pytest.mark.parametrize("operator", ["Project", "WholeStageCodegen", None])
def test_six_fields_of_one_text(tmp_path: Path, operator: str | None) -> None:
    (one,) = found(tmp_path, projected(parts(*get("t#4", *"abcdef"))), operator=operator)
    assert one.shown
    # Of six parses one remains, which costs 1.3 times as much.
    assert holds(one, 44.8 * (1 - 1.3 / 6) / 2)
    assert holds(one, 44.8 * (1 - 2.0 / 6) / 2)
    assert (one.place.stage_id, one.place.node_id, one.place.operator) == (0, 1, "Project")
    assert one.place.expression == "get_json_object(t#4, $.a)"
    assert "text t in 6 calls" in one.mechanism


def test_a_from_json_that_spark_split(tmp_path: Path) -> None:
    (one,) = found(tmp_path, projected(parts(*from_json("t#4", *"abc"))), FROM)
    assert one.shown
    assert holds(one, 44.8 * (1 - 1.3 / 3) / 2)
    assert (one.remedies[0].factor, one.remedies[0].level) == (SPLITS, "false")


def test_a_filter_that_was_pushed_below_the_parse(tmp_path: Path) -> None:
    below = filtered(f"{from_json('t#4', 'a')[0]} > 3", rows=1000)
    (one,) = found(tmp_path, projected(parts(*from_json("t#4", "b")), below), FROM)
    assert holds(one, 44.8 * (1 - 1.0 / 2) / 2)
    assert "Project and Filter parse" in one.mechanism
    assert "cache" in (one.remedies[0].after or "")


def test_a_filter_that_keeps_next_to_nothing(tmp_path: Path) -> None:
    below = filtered(f"{get('t#4', 'a')[0]} = x", rows=1)
    for one in found(tmp_path, projected(parts(*get("t#4", "b")), below)):
        assert not one.shown


def test_one_parse_for_all_fields(tmp_path: Path) -> None:
    text = "from_json(StructField(a,StringType,true), StructField(b,StringType,true), t#4, false)"
    assert found(tmp_path, projected(f"{text} AS p#5"), FROM) == []


def test_one_field_of_each_text(tmp_path: Path) -> None:
    assert found(tmp_path, projected(parts(*get("t#4", "a"), *get("u#5", "a")))) == []


def test_equal_calls_of_a_projection_are_evaluated_once(tmp_path: Path) -> None:
    call = get("t#4", "a")[0]
    assert found(tmp_path, projected(f"({call} = x) AS b#5, {call} AS c#6")) == []


def test_what_parses_is_the_scan(tmp_path: Path) -> None:
    assert found(tmp_path, projected(parts(*get("t#4", *"abcdef"))), SCAN) == []


def test_calls_in_branches_may_not_run() -> None:
    text = f"Project [CASE WHEN x#1 THEN {get('t#4', 'a')[0]} ELSE {get('t#4', 'b')[0]} END AS y#2]"
    assert [one.conditional for one in json_calls(text)] == [True, True]
    after = f"Project [CASE WHEN x#1 THEN 1 END AS y#2, {get('t#4', 'b')[0]}]"
    assert [one.conditional for one in json_calls(after)] == [False]


def test_of_a_branch_nothing_is_sure(tmp_path: Path) -> None:
    text = f"CASE WHEN x#1 THEN {get('t#4', 'a')[0]} ELSE {get('t#4', 'b')[0]} END AS y#2"
    for one in found(tmp_path, projected(text)):
        assert not one.shown


def test_final_aggregates_only_name_what_was_aggregated() -> None:
    sums = ", ".join(f"sum({call})" for call in get("t#4", "a", "b"))
    final = node(0, "HashAggregate", None, [1])
    first = node(2, "HashAggregate", 1, [0])
    nodes = [
        replace(final, simple_string=f"HashAggregate(keys=[], functions=[{sums}])"),
        node(1, "Exchange", 0, [0, 1]),
        replace(first, simple_string=f"HashAggregate(functions=[partial_{sums}])"),
    ]
    plan_ = Plan(_sql(nodes))
    above, below = pipelines(plan_)
    assert (above.stage_ids, below.stage_ids) == ({1}, {0})
    assert json_texts(plan_, above, once=True) == []
    (text,) = json_texts(plan_, below, once=True)
    assert (text.rows, text.low, text.high) == (1, 2, 2)


def test_what_a_plan_hides_counts_at_most() -> None:
    text = f"Project [{parts(*get('t#4', 'a', 'b'))}, ... 4 more fields]"
    top = replace(node(0, "Project", None, [0]), simple_string=text)
    plan_ = Plan(_sql([top]))
    (one,) = pipelines(plan_)
    (parsed,) = json_texts(plan_, one, once=True)
    assert (parsed.low, parsed.high) == (2, 6)


def test_a_short_parse_saves_less_while_code_is_compiled() -> None:
    call = json_calls("get_json_object(t#4, $.a)")[0]
    node_ = node(0, "Project", None, [0])
    six = [Parsed("t#4", 1.0, 6.0, 6.0, [(node_, call)])]
    short, long = saves(six, 2e9, jvms=1), saves(six, 2e11, jvms=1)
    assert short.low == pytest.approx(1 - 4.5 / 6)
    assert long.low == pytest.approx(1 - 2 / 6, abs=0.01)
    assert short.high == long.high == pytest.approx(0.9)
    two_texts = [*six, Parsed("u#5", 1.0, 1.0, 1.0, [(node_, call)])]
    assert saves(two_texts, 2e11, jvms=1).high == pytest.approx(1 - 1.6 / 7)


def _sql(nodes: list[Node]) -> Sql:
    return Sql(app_index=0, sql_id=0, plan_versions_count=1, nodes=nodes)
