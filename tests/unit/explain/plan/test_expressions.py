from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.explain.planned import expression, node, operator, plan
from tests.support.explain.planted import holds, in_a_row, job, judged_with

from pyrometer.explain.catalogue.plan.expression_per_pair import RULE as PER_PAIR
from pyrometer.explain.catalogue.plan.expression_per_row import RULE as PER_ROW
from pyrometer.explain.schema import Finding
from pyrometer.summary.schema import Summary

# One stage of 8 tasks of 1 s on two slots: 5.6 s on a CPU, 0.8 s in the run queue.
CAST = "cast(t as decimal(20,6))"


def shown(folder: Path, rule: object, change: object) -> list[Finding]:
    found = judged_with(folder, job(), rule, change)  # type: ignore[arg-type]
    return [one for one in found.findings if one.shown]


def joined(name: str, *expressions: object) -> object:
    """A join that takes 4 s of CPU."""
    return plan(
        node(0, name, None, [0]),
        operators=(operator(name, 0, 4.0, *expressions),),  # type: ignore[arg-type]
    )


def test_a_conversion_for_each_pair(tmp_path: Path) -> None:
    change = joined("BroadcastNestedLoopJoin", expression(CAST, 2.8, 0.7, converting=0.7))
    (found,) = shown(tmp_path, PER_PAIR, change)
    # Half of the CPU, and of the wait for one: 3.2 of the 8 s of two slots.
    assert holds(found, 0.9 * 3.2 / 2)
    assert (found.place.operator, found.place.node_id) == ("BroadcastNestedLoopJoin", 0)
    assert found.place.expression == CAST
    assert "converts" in found.mechanism


def test_a_comparison_of_both_sides_cannot_be_moved(tmp_path: Path) -> None:
    change = joined("BroadcastNestedLoopJoin", expression("(t >= start)", 2.8, 0.7))
    assert shown(tmp_path, PER_PAIR, change) == []


@pytest.mark.parametrize("column", ["input[1, decimal(18,6), true]", "start#2", "val#12L"])
def test_a_column_that_is_read_cannot_be_moved(column: str, tmp_path: Path) -> None:
    change = joined("SortMergeJoin", expression(column, 2.8, 0.7))
    assert shown(tmp_path, PER_PAIR, change) == []


@pytest.mark.parametrize(("text", "count"), [("(k#1 + k#2)", 0), ("(k#1 + k#5)", 1)])
def test_what_reads_columns_of_both_sides_cannot_be_moved(
    text: str, count: int, tmp_path: Path
) -> None:
    below = replace(node(3, "Scan", 2, [0]), simple_string="Scan [k#1]")
    change = plan(
        node(0, "SortMergeJoin", None, [0]),
        node(1, "Scan", 0, [0]),
        node(2, "InMemoryTableScan", 0, [0]),
        below,  # what was cached: the same columns, which the join knows by other numbers
        operators=(operator("SortMergeJoin", 0, 4.0, expression(text, 2.8, 0.7)),),
    )
    assert len(judged_with(tmp_path, job(), PER_PAIR, change).findings) == count


def test_a_join_without_costly_expressions(tmp_path: Path) -> None:
    assert shown(tmp_path, PER_PAIR, joined("BroadcastNestedLoopJoin")) == []


def test_a_pattern_for_each_row(tmp_path: Path) -> None:
    change = joined("Filter", expression("rlike(s, ^(a+)+$)", 4.0, 1.0))
    (found,) = shown(tmp_path, PER_ROW, change)
    # 4 of 5.6 s of CPU with their waits: 4.57 of 8 s; a cheaper one saves 30 to 95 % of it.
    assert holds(found, 4.57 / 2 * 0.6)
    assert found.place.expression == "rlike(s, ^(a+)+$)"


def test_an_addition_has_no_cheaper_form(tmp_path: Path) -> None:
    change = joined("Project", expression("(a + b)", 4.0, 1.0))
    assert shown(tmp_path, PER_ROW, change) == []


def test_a_pattern_that_costs_nothing(tmp_path: Path) -> None:
    change = joined("Filter", expression("rlike(s, ^a)", 0.02, 0.005))
    assert shown(tmp_path, PER_ROW, change) == []


def test_of_a_join_it_is_said_once(tmp_path: Path) -> None:
    change = joined("SortMergeJoin", expression(CAST, 2.8, 0.7))
    assert shown(tmp_path, PER_ROW, change) == []


def test_nothing_is_known_of_another_application(tmp_path: Path) -> None:
    def other(summary: Summary) -> None:
        joined("Filter", expression("rlike(s, ^(a+)+$)", 4.0, 1.0))(summary)  # type: ignore[operator]
        for one in summary.operators:
            one.stage_ids = [99]

    assert shown(tmp_path, PER_ROW, other) == []


def test_conversions_of_one_join_are_one_finding(tmp_path: Path) -> None:
    change = joined(
        "BroadcastNestedLoopJoin",
        expression(CAST, 1.6, 0.4, converting=0.4),
        expression("cast(u as decimal(20,6))", 1.2, 0.3, converting=0.3),
        expression("(t >= start)", 0.4, 0.1),
    )
    (found,) = shown(tmp_path, PER_PAIR, change)
    assert holds(found, 0.9 * 3.2 / 2)
    assert found.place.expression == CAST
    assert f"converts {CAST} and 1 more expression for each pair" in found.mechanism
    assert "2.80 s of CPU, 70.0 %" in found.mechanism


def test_costly_expressions_of_one_operator_are_one_finding(tmp_path: Path) -> None:
    change = joined(
        "Project",
        expression("rlike(s, ^(a+)+$)", 2.0, 0.5),
        expression("(a + b)", 0.4, 0.1),
        expression("array_sort(v, f)", 2.0, 0.5),
    )
    (found,) = shown(tmp_path, PER_ROW, change)
    assert holds(found, 4.57 / 2 * 0.6)
    assert "and 1 more expression take 4.00 s" in found.mechanism


def test_a_comparison_holds_the_code_of_the_function_that_it_compares(tmp_path: Path) -> None:
    text = "((hour(from_utc_timestamp(t#1, Paris)) * 60) >= begins#2)"
    change = joined("BroadcastHashJoin", expression(text, 2.8, 0.7))
    assert shown(tmp_path, PER_PAIR, change)


def test_near_miss_a_comparison_of_functions_of_both_sides(tmp_path: Path) -> None:
    change = joined("BroadcastHashJoin", expression("(greatest(t#1, u#2) >= v#3)", 2.8, 0.7))
    assert shown(tmp_path, PER_PAIR, change) == []


def repeated(folder: Path, *patterns: str) -> list[Finding]:
    """Filter by a pattern in a stage of each, of 4 s on two slots."""
    change = plan(
        *(node(number, "Filter", None, [number]) for number in range(len(patterns))),
        operators=tuple(
            operator("Filter", number, 1.0, expression(f"rlike(s#{number}, {text})", 1.0, 1.0),
                     stages=(number,))
            for number, text in enumerate(patterns)
        ),
    )  # fmt: skip
    return judged_with(folder, in_a_row(len(patterns)), PER_ROW, change).findings


def test_the_same_expression_in_several_stages_is_one_cause(tmp_path: Path) -> None:
    (found,) = repeated(tmp_path, *["^(a+)+$"] * 6)
    # 6 of 33.6 s of CPU with their waits on two slots, of which a cheaper one saves 0.625.
    assert holds(found, 6 * 1.14 / 2 * 0.625)
    assert found.place.stages_count == 6
    assert found.place.expression == "rlike(s#0, ^(a+)+$)"


def test_near_miss_other_patterns_are_other_causes(tmp_path: Path) -> None:
    # Each is below the noise, and together they are not; one cause would be one place.
    (found,) = repeated(tmp_path, "^(a+)+$", "^(b+)+$")
    assert found.place.places_count == 2


def evaluated(
    text: str, each_ns: float, made: str = "", below: str = "", scanned: int = 2_000_000
) -> object:
    """A projection of two million rows of a join, and an expression with so much CPU for a row."""
    nodes = (
        top := node(0, "Project", None, [0]),
        node(1, "BroadcastHashJoin", 0, [0], number_of_output_rows=2_000_000),
        scan := node(2, "Scan parquet", 1, [0], number_of_output_rows=scanned),
        other := node(3, "Scan parquet", 1, [0], number_of_output_rows=2_000_000),
    )
    top.simple_string = f"Project [{made or text} AS y#9]"
    scan.simple_string = below or "FileScan parquet [u#1,t#2] ReadSchema: struct<u:string,t:int>"
    other.simple_string = "FileScan parquet [z#7]"
    seconds = each_ns * 2e6 / 1e9
    own = operator("Project", 0, seconds, expression(text, seconds, 1.0))
    return plan(*nodes, operators=(own,))


@pytest.mark.parametrize("made", ["str_to_map(u#1, &, =)[k]", "upper(str_to_map(u#1, &, =)[k])"])
def test_a_whole_is_built_for_a_part(tmp_path: Path, made: str) -> None:
    change = evaluated("str_to_map(u#1, &, =)", 1900, made)
    (found,) = shown(tmp_path, PER_ROW, change)
    # 3.8 of 5.6 s of CPU, with their waits 4.34 s; of 1.9 µs a row at most 1 remains.
    assert holds(found, 4.34 / 2 * 0.7)
    assert "instead of building" in found.remedies[0].text


def test_near_miss_all_of_what_is_built_is_needed(tmp_path: Path) -> None:
    assert not shown(tmp_path, PER_ROW, evaluated("str_to_map(u#1, &, =)", 1900))
    several = "concat(split(u#1, &)[0], split(u#1, &)[1], split(u#1, &)[2])"
    assert not shown(tmp_path, PER_ROW, evaluated("split(u#1, &)", 1900, several))


def test_what_rows_multiply_for_is_computed_before(tmp_path: Path) -> None:
    (found,) = shown(tmp_path, PER_ROW, evaluated("f(u#1)", 1900, scanned=1000))
    assert holds(found, 4.34 / 2 * 0.9)
    assert "before its rows multiply" in found.remedies[0].text


def test_near_miss_its_columns_are_of_both_sides(tmp_path: Path) -> None:
    assert not shown(tmp_path, PER_ROW, evaluated("f(u#1, z#7)", 1900, scanned=1000))


@pytest.mark.parametrize(
    ("text", "is_text"), [("cast(u#1 as date)", True), ("cast(t#2 as date)", False)]
)
def test_text_of_a_file_is_converted(tmp_path: Path, text: str, is_text: bool) -> None:
    found = shown(tmp_path, PER_ROW, evaluated(text, 1900))
    assert bool(found) is is_text


def test_near_miss_a_pattern_that_is_cheap_for_each_row(tmp_path: Path) -> None:
    assert shown(tmp_path / "dear", PER_ROW, evaluated("rlike(u#1, (a|b)+)", 1900))
    assert not shown(tmp_path / "cheap", PER_ROW, evaluated("rlike(u#1, ^a)", 150))


@pytest.mark.parametrize("text", ["sha2(u#1, 256)", "levenshtein(u#1, x)", "date_format(t#2, E)"])
def test_healthy_what_the_query_is_about(tmp_path: Path, text: str) -> None:
    assert not shown(tmp_path, PER_ROW, evaluated(text, 1900))


def test_lines_of_text_are_a_matter_of_their_format(tmp_path: Path) -> None:
    change = evaluated("rlike(u#1, (a|b)+)", 1900, below="FileScan text [u#1]")

    def lines(summary: Summary) -> None:
        change(summary)  # type: ignore[operator]
        summary.sql[0].nodes[2].name = "Scan text "

    assert not shown(tmp_path, PER_ROW, lines)


def test_a_value_is_formatted_and_parsed_again(tmp_path: Path) -> None:
    text = "cast(gettimestamp(date_format(t#2, EEEE dd MMMM), EEEE dd MMMM) as date)"
    (found,) = shown(tmp_path, PER_ROW, evaluated(text, 1900))
    assert "not by way of text" in found.remedies[0].text


@pytest.mark.parametrize(("bound", "is_bounded"), [(" = 0", True), (" + 1", False)])
def test_a_distance_that_is_compared_with_a_bound(
    tmp_path: Path, bound: str, is_bounded: bool
) -> None:
    text = "levenshtein(u#1, z#7, None)"
    found = shown(tmp_path, PER_ROW, evaluated(text, 1900, f"({text}{bound})"))
    assert bool(found) is is_bounded


@pytest.mark.parametrize("key", [9, 8])
def test_rows_are_grouped_by_what_it_formats(tmp_path: Path, key: int) -> None:
    def grouped(summary: Summary) -> None:
        evaluated("format_string(%s %s, u#1, t#2)", 1900)(summary)  # type: ignore[operator]
        over = node(5, "HashAggregate", None, [0], number_of_output_rows=500)
        over.simple_string = f"HashAggregate(keys=[y#{key}], functions=[partial_count(1)])"
        summary.sql[0].nodes[0].parent_node_id = 5
        summary.sql[0].nodes.insert(0, over)

    found = shown(tmp_path, PER_ROW, grouped)
    assert [one.remedies[0].text.split(":")[0] for one in found] == (
        ["group by what it formats, and format each group"] if key == 9 else []
    )


XPATH = pytest.mark.parametrize(
    "text",
    ["invoke(XPathStringEvaluator(/r/{}).evaluate(u#1))", "xpath_string(u#1, /r/{})"],
    ids=["spark-4", "spark-3"],
)


def parsed_for(text: str, *fields: str) -> object:
    made = ", ".join(f"{text.format(field)} AS {field}#7" for field in fields)
    return evaluated(text.format("a"), 1900, made)


@XPATH
def test_a_document_is_parsed_for_each_of_its_fields(tmp_path: Path, text: str) -> None:
    (found,) = shown(tmp_path, PER_ROW, parsed_for(text, *"abcde"))
    # 4.34 of 8 s of two slots, of which one parse remains where there were five.
    assert holds(found, 4.34 / 2 * 0.8)
    assert "from_xml" in found.remedies[0].text


@XPATH
def test_near_miss_one_parse_may_cost_as_much_as_two_fields(tmp_path: Path, text: str) -> None:
    assert shown(tmp_path, PER_ROW, parsed_for(text, "a", "b")) == []


@XPATH
def test_healthy_one_field_of_a_document(tmp_path: Path, text: str) -> None:
    assert shown(tmp_path, PER_ROW, parsed_for(text, "a")) == []
