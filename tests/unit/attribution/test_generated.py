"""Samples in generated code: which source, which line, which operator, which expression."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.support.generated import (
    HIGH,
    LINES,
    LOW,
    TREE,
    add_plan,
    add_samples,
    add_source,
    numbered,
)
from tests.support.tables import StageSpec, World

from pyrometer.accounts.window import open_scope
from pyrometer.attribution.generated import (
    Line,
    Source,
    Sources,
    agreed_line,
    cluster_nodes,
    comparable,
    conversion_of,
)
from pyrometer.attribution.operators import (
    across_executions,
    attribution_shares,
    operators,
    too_large_to_compile,
)
from pyrometer.attribution.plan_columns import PlanColumns
from pyrometer.attribution.plan_match import PlanNode
from pyrometer.attribution.samples import attribution
from pyrometer.attribution.schema import AttributionShares, HugeMethod, Operator
from pyrometer.store import Run
from pyrometer.summary.hot_source import show_source, source_report
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary

FUSED = "WholeStageCodegen"
# Of ten samples: four convert the lower bound, two the upper, one compares, one sums, one is the
# loop's, and one is in the reader that the loop calls.
KINDS = [
    *[(10, "cast", FUSED)] * 4,
    *[(11, "cast", FUSED)] * 2,
    (12, "operator", FUSED),
    (13, "operator", FUSED),
    (15, "operator", FUSED),
    (15, "cast", "Scan"),
]


def make(**source: object) -> World:
    world = World([StageSpec([1000] * 2)])
    add_plan(world, 40)
    add_samples(world, KINDS)
    if source.pop("captured", True):
        add_source(world, 0, **source)
    return world


@dataclass
class Shown:
    """The parts of a summary that this is about."""

    operators: list[Operator]
    told: AttributionShares
    too_large_to_compile: list[HugeMethod]


def shown(world: World, folder: Path) -> Shown:
    with Run.open(world.write(folder)) as run:
        scope = open_scope(run, None)
        return Shown(
            operators(scope)[0], attribution_shares(attribution(scope)), too_large_to_compile(scope)
        )


def by_name(made: Shown | Summary) -> dict[str, Operator]:
    return {o.operator: o for o in made.operators}


def test_a_line_tells_operator_and_expression_in_the_executions_own_numbers(tmp_path: Path) -> None:
    made = shown(make(), tmp_path)
    found = by_name(made)
    join = found["BroadcastNestedLoopJoin"]
    assert (join.node_id, join.share_of_task_cpu) == (3, pytest.approx(0.7, abs=0.01))
    assert [(e.expression, e.by) for e in join.expressions] == [
        ("cast(lo#41 as timestamp)", "line"),
        ("cast(hi#42 as timestamp)", "line"),
    ]
    low = join.expressions[0]
    assert (low.share, low.converting_share) == (pytest.approx(4 / 7, abs=0.01),) * 2
    assert low.on_cpu is not None
    assert low.on_cpu.low < low.on_cpu_ns < low.on_cpu.high  # type: ignore[operator]
    assert (low.samples_count, low.on_cpu.n) == (56, 140)
    # What cannot be named for certain stays as Spark has it.
    summed = found["HashAggregate"].expressions[0]
    assert summed.expression == "(input[0, bigint, true] + input[1, bigint, true])"
    assert summed.converting_share == 0


def test_what_a_reader_converts_stays_with_its_scan_and_the_loop_with_its_cluster(
    tmp_path: Path,
) -> None:
    with Run.open(make().write(tmp_path)) as run:
        made = summary(run)
    found = by_name(made)
    assert found["Scan"].samples_by.keys() == {"frames"}
    assert found[FUSED].samples_by.keys() == {"method"}
    assert made.told.line_ratio == pytest.approx(0.8, abs=0.01)
    assert made.told.method_ratio == pytest.approx(0.1, abs=0.01)
    assert made.told.frames_ratio == pytest.approx(0.1, abs=0.01)
    assert made.told.none_ratio == 0
    assert "60 % converting cast(lo as timestamp), cast(hi as timestamp)" in made.verdict


@pytest.mark.parametrize(
    "changes",
    [
        {"captured": False},
        # A literal differs: another query's source.
        {"tree": numbered(TREE, 20).replace("Inner", "LeftOuter")},
        {"codegen_stage_id": 2},
        {"tree": None},
        # Its lines are in another method than the frames say.
        {"lines": [(14, "HashAggregate", 0, None)], "source_method": True},
    ],
)
def test_without_the_source_the_names_of_methods_decide(
    changes: dict[str, object], tmp_path: Path
) -> None:
    changes.pop("source_method", None)
    made = shown(make(**changes), tmp_path)
    found = by_name(made)
    assert made.told.line_ratio == 0
    # Only the join of this cluster converts by calling a method.
    join = found["BroadcastNestedLoopJoin"]
    assert join.share_of_task_cpu == pytest.approx(0.6, abs=0.01)
    assert [(e.expression, e.by) for e in join.expressions] == [
        ("cast(lo#41 as timestamp), cast(hi#42 as timestamp)", "plan")
    ]
    assert found[FUSED].share_of_task_cpu == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("operator", "node_id"),
    [("WholeStageCodegen", 0), ("InputAdapter", None), ("Project", 2), ("Sort", None)],
)
def test_lines_of_no_node_in_the_tree_belong_to_the_cluster_or_its_input(
    operator: str, node_id: int | None, tmp_path: Path
) -> None:
    made = shown(make(lines=[(15, operator, None, None)]), tmp_path)
    found = by_name(made)[operator]
    # The join has two inputs: which one is not said.
    assert (found.node_id, found.samples_by["line"]) == (node_id, 14)


def test_several_sources_that_agree_tell_and_those_that_do_not_do_not(tmp_path: Path) -> None:
    same, other = make(), make()
    add_source(same, 1, tree=numbered(TREE, 60))
    moved = [(line, operator, index, HIGH if e == LOW else e) for line, operator, index, e in LINES]
    add_source(other, 1, lines=moved)
    agreed = shown(same, tmp_path / "same")
    assert agreed.told.line_ratio == pytest.approx(0.8, abs=0.01)
    divided = shown(other, tmp_path / "other")
    # Line 10 is in doubt, the others are not.
    assert divided.told.line_ratio == pytest.approx(0.4, abs=0.01)


def test_a_source_whose_lines_lie_in_other_methods_is_not_that_of_the_samples() -> None:
    nodes = ("Filter a#1",)
    mine = Source(0, 1, nodes, {5: Line("Filter", 0, "processNext", None)})
    alike = Source(1, 1, nodes, {5: Line("Project", 0, "project_doConsume_0", None)})
    plan = [PlanNode(1, "Filter", 1, "Filter a#9", frozenset())]
    sources = Sources([mine, alike])
    assert sources.of(1, plan, [("processNext", 5)]) == (mine,)
    both = sources.of(1, plan, [("processNext", 6)])
    assert both == (mine, alike)
    assert agreed_line(both, ("processNext", 5)) is None
    assert agreed_line((), ("processNext", 5)) is None
    # Constructors bear no name of their own.
    assert sources.of(1, plan, [("<init>", 5)]) == both


def test_a_cluster_of_one_operator_is_that_operator(tmp_path: Path) -> None:
    world = World([StageSpec([1000] * 2)])
    add_plan(world, 40)
    world.rows["plan_nodes"] = [
        {**row, "codegen_stage_id": 1 if row["node_id"] < 2 else None}
        for row in world.rows["plan_nodes"]
    ]
    add_samples(world, [(15, "operator", FUSED)], method="processNext")
    (found,) = shown(world, tmp_path).operators
    assert (found.operator, found.node_id, found.samples_by) == (
        "HashAggregate",
        1,
        {"method": 140},
    )


def test_equal_code_over_other_columns_tells_operators_and_no_expressions(tmp_path: Path) -> None:
    # Spark compiled it for another query, whose comments it keeps.
    other = numbered(TREE, 20).replace("lo#", "from#").replace("ts#", "at#")
    made = shown(make(tree=other), tmp_path)
    join = by_name(made)["BroadcastNestedLoopJoin"]
    assert (join.node_id, join.samples_by) == (3, {"line": 98})
    assert [(e.expression, e.by) for e in join.expressions] == [
        ("cast(lo#41 as timestamp), cast(hi#42 as timestamp)", "plan")
    ]
    # Where samples contradict it, it is not that code.
    elsewhere = World([StageSpec([1000] * 2)])
    add_plan(elsewhere, 40)
    add_samples(elsewhere, KINDS, method="processNext")
    add_source(elsewhere, 0, tree=other)
    assert shown(elsewhere, tmp_path / "elsewhere").told.line_ratio == 0


def test_one_line_in_another_method_is_not_told_and_does_not_undo_the_rest() -> None:
    lines = {n: Line("Filter", 0, "processNext", None) for n in range(3)}
    source = Source(0, 1, ("Filter a#1",), lines)
    plan = [PlanNode(1, "Filter", 1, "Filter a#9", frozenset())]
    seen = [("processNext", 0), ("processNext", 1), ("other", 2)]
    assert Sources([source]).of(1, plan, seen) == (source,)
    assert agreed_line((source,), seen[0]) == lines[0]
    assert agreed_line((source,), seen[2]) is None
    assert Sources([source]).of(1, plan, [*seen[1:], ("other", 0)]) == ()


def test_executions_are_added_up_without_their_numbers(tmp_path: Path) -> None:
    join = by_name(shown(make(), tmp_path))["BroadcastNestedLoopJoin"]
    later = join.model_copy(deep=True)
    for e in later.expressions:
        e.expression = e.expression.replace("#4", "#9")
    added = across_executions([join, later])[0]
    assert [e.expression for e in added.expressions] == [
        "cast(lo as timestamp)",
        "cast(hi as timestamp)",
    ]
    assert added.expressions[0].share == pytest.approx(join.expressions[0].share)
    assert added.expressions[0].converting_share == pytest.approx(join.expressions[0].share)
    assert added.samples_by == {"line": 2 * join.samples_by["line"]}


def test_the_same_node_of_other_queries_is_not_added_up(tmp_path: Path) -> None:
    join = by_name(shown(make(), tmp_path))["BroadcastNestedLoopJoin"]
    assert join.node_text is not None
    assert "ts >= cast(lo as timestamp)" in join.node_text
    other = join.model_copy(update={"node_text": "BroadcastNestedLoopJoin BuildLeft", "sql_id": 7})
    again = join.model_copy(update={"sql_id": 8})
    assert sorted(o.samples_count for o in across_executions([join, other, again])) == [98, 196]


def test_nodes_of_subqueries_that_bear_the_same_number_are_not_of_the_cluster() -> None:
    nodes, positions = cluster_nodes(numbered(TREE, 1), 1)
    assert [text.split()[0].split("(")[0] for text in nodes] == [
        "HashAggregate",
        "Project",
        "BroadcastNestedLoopJoin",
    ]
    assert positions == {0: 0, 1: 1, 2: 2}
    assert comparable(nodes[0]) == "HashAggregate(keys=[], functions=[partial_sum(v)])"


SCAN = PlanNode(3, "Scan parquet t", None, "FileScan parquet t[a#1,b#2L] Batched", frozenset(), 2)
OTHER = PlanNode(5, "Scan parquet u", None, "FileScan parquet u[c#3] Batched", frozenset(), 2)


@pytest.mark.parametrize(
    ("name", "text", "expression", "said"),
    [
        ("Filter", "Filter (a#1 > 5)", "(input[0, int, true] > 5)", "(a#1 > 5)"),
        ("Filter", "Filter (a#1 > 5)", "(input[1, bigint, true] > 5)", None),
        ("Project", "Project [b#2L]", "input[1, bigint, true]", "b#2L"),
        ("Project", "Project [b#2L]", "input[7, bigint, true]", None),
        ("Sort", "Sort [b#2L ASC]", "input[1, bigint, true]", None),
        (
            "HashAggregate",
            "HashAggregate(keys=[a#1], functions=[partial_sum((b#2L * 2))])",
            "(input[4, bigint, true] * 2)",
            "(b#2L * 2)",
        ),
        (
            "Filter",
            "Filter ((a#1 > 5) AND startswith(b#2L, x))",
            "((input[0, int, true] > 5) AND starts...",
            "((a#1 > 5) AND startswith(b#2L, x))",
        ),
    ],
)
def test_columns_are_named_only_where_the_plan_is_certain(
    name: str, text: str, expression: str, said: str | None
) -> None:
    node = PlanNode(2, name, 1, text, frozenset(), 1)
    assert PlanColumns([node, SCAN], {}).named(expression, node) == (said or expression)


@pytest.mark.parametrize(("build", "number"), [("BuildRight", 2), ("BuildLeft", 0)])
def test_a_joins_columns_are_those_of_the_streamed_side_first(build: str, number: int) -> None:
    text = f"BroadcastHashJoin [a#1], [c#3], Inner, {build}, (c#3 > 5), false"
    node = PlanNode(2, "BroadcastHashJoin", 1, text, frozenset(), 1)
    columns = PlanColumns([node, SCAN, OTHER], {})
    assert columns.named(f"(input[{number}, int, true] > 5)", node) == "(c#3 > 5)"
    assert columns.named("(input[1, int, true] > 5)", node) == "(input[1, int, true] > 5)"
    # Alone, it is a column of the rows that were built.
    built = "c#3" if build == "BuildRight" else "a#1"
    assert columns.named("input[0, int, true]", node) == built


def test_fields_that_spark_cut_have_no_name() -> None:
    scan = PlanNode(3, "Scan", None, "FileScan parquet t[a#1,... 2 more fields]", frozenset(), 2)
    node = PlanNode(2, "Project", 1, "Project [z#9]", frozenset(), 1)
    columns = PlanColumns([node, scan], {})
    assert columns.named("input[0, int, true]", node) == "a#1"
    assert columns.named("input[2, int, true]", node) == "input[2, int, true]"


def test_a_method_too_large_to_compile_is_named(tmp_path: Path) -> None:
    huge = shown(make(max_method_bytes=9001), tmp_path / "huge").too_large_to_compile
    assert [(h.node_id, h.node_ids, h.max_method_bytes, h.limit_bytes) for h in huge] == [
        (0, [1, 2, 3], 9001, 8000)
    ]
    assert shown(make(max_method_bytes=8000), tmp_path / "fine").too_large_to_compile == []
    compiled = make(max_method_bytes=9001)
    facts = {"cpus_count": 4, "input_arguments": ["-XX:-DontCompileHugeMethods"]}
    compiled.rows["processes"][0]["facts"] = json.dumps(facts)
    assert shown(compiled, tmp_path / "compiled").too_large_to_compile == []


def call(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pyrometer", *words], capture_output=True, text=True, timeout=60
    )


def printed(run: Path) -> str:
    console = Console(file=StringIO(), width=80, highlight=False)
    with Run.open(run) as opened:
        show_source(console, source_report(opened))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_hottest_lines_are_shown_with_the_code_around_them(tmp_path: Path) -> None:
    run = make().write(tmp_path)
    done = call("show", str(run), "--source", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout.splitlines()[-1])
    assert made["schema"] == "pyrometer/source/1"
    (source,) = made["sources"]
    assert (source["samples_count"], source["sql_ids"]) == (140, [0])
    assert source["on_cpu_ns"] == pytest.approx(1_400_000_000, rel=1e-6)
    (excerpt,) = source["excerpts"]
    assert [line["line"] for line in excerpt] == list(range(8, 18))
    lines = {line["line"]: line for line in excerpt}
    assert (lines[10]["text"], lines[10]["node_id"]) == ("line_10();", 3)
    assert lines[10]["expression"] == "cast(lo#41 as timestamp)"
    # What a line calls counts as its own: the reader below the loop, too.
    assert (lines[15]["samples_count"], lines[15]["operator"]) == (28, None)
    assert lines[14]["samples_count"] == 0
    assert sum(line["samples_count"] for line in excerpt) == 140
    text = printed(run)
    assert "→ BroadcastNestedLoopJoin (node 3): cast(lo#41 as timestamp)" in text
    assert max(map(len, text.splitlines())) <= 80


def test_only_the_hottest_lines_are_shown(tmp_path: Path) -> None:
    world = World([StageSpec([1000] * 2)])
    add_plan(world, 40)
    spread = [(line, "operator", FUSED) for line in (1, 4, 7, 10, 13, 16, 19, 22, 25, 28)]
    add_samples(world, spread)
    add_source(world, 0, source="\n".join("x();" for _ in range(30)), lines_count=30)
    with Run.open(world.write(tmp_path)) as run:
        (source,) = source_report(run).sources
    shown_lines = [line.line for part in source.excerpts for line in part]
    assert shown_lines == sorted(set(shown_lines))
    assert 28 not in shown_lines
    assert source.hidden_lines_count == 2
    assert shown_lines[0] == 1


def test_without_captured_source_the_reason_is_said(tmp_path: Path) -> None:
    assert "no generated source was captured" in printed(make(captured=False).write(tmp_path))


def test_a_conversion_below_the_comment_of_the_whole_is_told_by_the_other_parts(
    tmp_path: Path,
) -> None:
    # As Spark writes it: the comments of the first part are left out, since the whole's holds
    # them; the second part has its own.
    first = f"(input[0, timestamp, true] >= {LOW})"
    second = f"(input[0, timestamp, true] <= {HIGH})"
    whole = f"({first} AND {second})"
    join = "BroadcastNestedLoopJoin"
    lines = [(10, join, 2, whole), (11, join, 2, second), (12, join, 2, whole)]
    found = by_name(shown(make(lines=lines), tmp_path))[join]
    assert [(e.expression, e.samples_count, e.converting_share > 0) for e in found.expressions] == [
        ("cast(lo#41 as timestamp)", 56, True),
        ("cast(hi#42 as timestamp)", 28, True),
        (
            "((ts#40 >= cast(lo#41 as timestamp)) AND (ts#40 <= cast(hi#42 as timestamp)))",
            14,
            False,
        ),
    ]


def test_two_conversions_below_one_comment_are_not_told_apart() -> None:
    both = f"({LOW} <= {HIGH})"
    assert conversion_of(both, [both]) is None
    assert conversion_of(both, [both, HIGH]) == LOW
    widened = "cast(input[3, int, true] as bigint)"
    assert conversion_of(f"({LOW} + {widened})", []) == LOW
    assert conversion_of(widened, []) is None


@given(st.lists(st.text(alphabet="*( )1:+-Filtera#9\n[],=output", max_size=30), max_size=8))
def test_any_tree_is_read_and_its_positions_are_those_of_its_nodes(parts: list[str]) -> None:
    nodes, positions = cluster_nodes("\n".join(parts), 1)
    assert sorted(positions.values()) == list(range(len(nodes)))
    for text in nodes:
        assert comparable(comparable(text)) == comparable(text)


@given(
    st.text(alphabet="cast(input[0, 1true]) as int...#", max_size=80),
    st.text(alphabet="Project [a#1,b#2L]( AS c#3)", max_size=60),
)
def test_any_expression_is_said_without_a_fault(expression: str, text: str) -> None:
    conversion = conversion_of(expression, [text])
    assert conversion is None or (conversion in expression and conversion.endswith(")"))
    node = PlanNode(2, "Project", 1, text, frozenset(), 1)
    child = PlanNode(3, "Project", 1, text, frozenset(), 2)
    said = PlanColumns([node, child], {}).named(expression, node)
    assert said == expression or said in text


COLUMNS = ("a#1", "b#2L", "c#3")
FORMS = ("cast({} as date)", "({} + 1)", "length({})")


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(COLUMNS) - 1),
            st.sampled_from(["int", "string", "decimal(18,6)"]),
            st.sampled_from(FORMS),
        ),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_numbered_columns_are_named_exactly_where_the_operators_text_holds_the_result(
    parts: list[tuple[int, str, str]], held: bool
) -> None:
    numbered = " AND ".join(form.format(f"input[{n}, {kind}, true]") for n, kind, form in parts)
    meant = " AND ".join(form.format(COLUMNS[n]) for n, _, form in parts)
    text = f"Filter ({meant} > 2)" if held else "Filter (isnotnull(x#9))"
    node = PlanNode(2, "Filter", 1, text, frozenset(), 1)
    child = PlanNode(3, "Project", 1, f"Project [{', '.join(COLUMNS)}]", frozenset(), 2)
    said = PlanColumns([node, child], {}).named(numbered, node)
    assert said == (meant if held else numbered)
