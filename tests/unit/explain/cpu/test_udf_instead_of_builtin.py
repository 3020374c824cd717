from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, job, judged_with, stack
from tests.support.tables import World

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.catalogue.cpu.udf_instead_of_builtin import RULE
from pyrometer.explain.evidence.udf_work import is_typed, names_udf
from pyrometer.explain.schema import Finding

SQL = "org.apache.spark.sql"
GENERATED = f"{SQL}.catalyst.expressions.GeneratedClass$Iterator.processNext"
CONVERTER = f"{SQL}.catalyst.expressions.ScalaUDF.$anonfun$scalaConverter$2"
DATE = (CONVERTER, f"{SQL}.catalyst.util.DateTimeUtils$.toJavaDate")
TEXT = (CONVERTER, "org.apache.spark.unsafe.types.UTF8String.toString")
AROUND = (CONVERTER, f"{SQL}.catalyst.expressions.UnsafeRow.get")
JAVA_DATE = (
    f"{SQL}.catalyst.CatalystTypeConverters$DateConverter$.toScala",
    f"{SQL}.catalyst.util.DateTimeUtils$.toJavaDate",
)
JAVA_CALL = (f"{SQL}.internal.ToScalaUDF$.$anonfun$apply$13", "acme.Trim.call")
ROWS = (f"{SQL}.catalyst.CatalystTypeConverters$DateConverter$.toCatalyst",)
HIVE = (f"{SQL}.hive.HiveGenericUDF.eval", "com.acme.Year.evaluate")
HIVE_DATE = (
    f"{SQL}.hive.HiveGenericUDF.eval",
    f"{SQL}.hive.HiveInspectors.$anonfun$wrapperFor$9",
    "java.sql.Date.<init>",
)
USER = ("acme.Days$.$anonfun$year$1",)
BUILT_IN = (f"{SQL}.catalyst.util.DateTimeUtils$.getYear",)


def planned(world: World, shares: Mapping[tuple[str, ...], float]) -> None:
    """Give shares of the CPU samples of the stage stacks in generated code."""
    mine = [r for r in world.rows["samples"] if r["event"] == "cpu" and r["role"] == "task"]
    ends = [0.0]
    for frames, share in shares.items():
        number = stack(world, GENERATED, *frames)
        ends.append(ends[-1] + share)
        category = "udf" if frames is USER else "operator"
        for place, row in enumerate(mine):
            # Evenly over the tasks, whose samples are one after another.
            at = place * 0.618 % 1
            if ends[-2] <= at < ends[-1]:
                row.update(java_stack=number, category=category, operator="WholeStageCodegen")


def found(
    folder: Path, shares: Mapping[tuple[str, ...], float], text: str = "UDF(d#9) AS y#10"
) -> list[Finding]:
    world = job(tasks=80)
    planned(world, shares)
    top = node(0, "WholeStageCodegen", None, [0])
    one = replace(node(1, "Project", 0, []), simple_string=f"Project [{text}]")
    return judged_with(
        folder, world, RULE, plan(top, one, node(2, "Scan parquet", 1, [0]))
    ).findings


# 80 s on two slots: 56 s of CPU, and 8 s of waits for one. A half is of the function: 32 s.
def test_a_function_of_dates(tmp_path: Path) -> None:
    (one,) = found(tmp_path, {DATE: 0.3, AROUND: 0.1, USER: 0.1})
    assert one.shown
    assert holds(one, 32 * 0.8 / 2)  # what year() saves
    assert (one.place.stage_id, one.place.node_id, one.place.operator) == (0, 1, "Project")
    assert "80" in one.mechanism


def test_a_share_is_no_more_than_all(tmp_path: Path) -> None:
    (one,) = found(tmp_path, {DATE: 0.49, USER: 0.01})
    assert 0.97 < (one.evidence[1].estimate.value or 0) < (one.evidence[1].estimate.high or 0) <= 1


def test_a_java_function_that_has_a_name(tmp_path: Path) -> None:
    shares: dict[tuple[str, ...], float] = {JAVA_DATE: 0.4, JAVA_CALL: 0.1}
    (one,) = found(tmp_path, shares, "year_of(d#9) AS y#10")
    assert one.shown
    assert holds(one, 32 * 0.8 / 2)
    assert one.place.operator == "Project"


def test_a_hive_function(tmp_path: Path) -> None:
    shares: dict[tuple[str, ...], float] = {HIVE_DATE: 0.4, HIVE: 0.1}
    (one,) = found(tmp_path, shares, "HiveGenericUDF#com.acme.Year(d#9) AS y#10")
    assert one.shown
    assert holds(one, 32 * 0.8 / 2)


def test_of_text_nothing_is_sure(tmp_path: Path) -> None:
    (one,) = found(tmp_path, {TEXT: 0.3, AROUND: 0.1, USER: 0.1})
    assert not one.shown
    assert holds(one, 0)
    assert holds(one, 32 * 0.6 / 2)


def test_the_function_is_all_that_it_takes(tmp_path: Path) -> None:
    few: dict[tuple[str, ...], float] = {USER: 0.49, DATE: 0.01}
    for one in found(tmp_path, few):
        assert not one.shown


def test_built_ins(tmp_path: Path) -> None:
    assert found(tmp_path, {BUILT_IN: 0.5}, "year(d#9) AS y#10") == []


def test_rows_become_objects_without_a_function(tmp_path: Path) -> None:
    assert found(tmp_path, {ROWS: 0.5}, "d#9") == []


def test_what_a_plan_says() -> None:
    hive = Node(
        node_id=0, depth=0, name="Project", simple_string="Project [HiveSimpleUDF#a.B(x#1)]"
    )
    scan = Node(node_id=0, depth=0, name="Scan parquet", simple_string="DataFilters: [UDF(t#8)]")
    table = Node(node_id=0, depth=0, name="Generate", simple_string="HiveGenericUDTF#a.B(x#1)")
    assert [names_udf(one) for one in (hive, scan, table)] == [True, False, False]
    assert is_typed(Node(node_id=0, depth=0, name="MapElements"))
