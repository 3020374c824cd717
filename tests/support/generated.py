"""A join whose generated source is known, for a ``World``: which lines its samples lie on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.tables import World

CLASS = "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage"
JOIN = (
    "BroadcastNestedLoopJoin BuildRight, Inner, ((ts#{0} >= cast(lo#{1} as timestamp)) AND"
    " (ts#{0} <= cast(hi#{2} as timestamp)))"
)
# name, codegen stage, parent, text
PLAN: tuple[tuple[str, int | None, int | None, str], ...] = (
    ("WholeStageCodegen (1)", 1, None, "WholeStageCodegen (1)"),
    ("HashAggregate", 1, 0, "HashAggregate(keys=[], functions=[partial_sum(v#{3})])"),
    ("Project", 1, 1, "Project [v#{3}]"),
    ("BroadcastNestedLoopJoin", 1, 2, JOIN),
    ("InputAdapter", None, 3, "InputAdapter"),
    ("Scan parquet ", None, 4, "FileScan parquet [ts#{0},v#{3}] Batched: false"),
    ("InputAdapter", None, 3, "InputAdapter"),
    ("BroadcastExchange", None, 6, "BroadcastExchange IdentityBroadcastMode, [plan_id=9]"),
    ("Scan parquet ", None, 7, "FileScan parquet [lo#{1},hi#{2}] Batched: false"),
)
TREE = (
    "*(1) HashAggregate(keys=[], functions=[partial_sum(v#{3})], output=[sum#77])\n"
    "+- *(1) Project [v#{3}]\n"
    "   +- *(1) " + JOIN + "\n"
    "      :- FileScan parquet [ts#{0},v#{3}] Batched: false\n"
    "      +- BroadcastExchange IdentityBroadcastMode, [plan_id=4]\n"
    "         +- *(1) Project [cached#5]"
)
LOW = "cast(input[2, decimal(18,6), true] as timestamp)"
HIGH = "cast(input[3, decimal(18,6), true] as timestamp)"
METHOD = "hashAgg_doAggregateWithoutKey_0"
# line, operator, which node of the tree, expression; line 15 is the loop's own.
LINES: tuple[tuple[int, str, int, str | None], ...] = (
    (10, "BroadcastNestedLoopJoin", 2, LOW),
    (11, "BroadcastNestedLoopJoin", 2, HIGH),
    (12, "BroadcastNestedLoopJoin", 2, None),
    (13, "HashAggregate", 0, "(input[0, bigint, true] + input[1, bigint, true])"),
)


def numbered(text: str, first: int) -> str:
    """Give the columns of a text the numbers of one execution."""
    return text.format(*range(first, first + 4))


def add_plan(world: World, first: int) -> None:
    """Put the join's plan, as one execution numbers it, in place of the world's."""
    world.rows["plan_nodes"] = [
        {
            "app_index": 0, "sql_id": 0, "plan_version": 0, "is_final": True, "node_id": node,
            "parent_node_id": parent, "depth": node, "name": name, "codegen_stage_id": codegen,
            "simple_string": numbered(text, first),
        }
        for node, (name, codegen, parent, text) in enumerate(PLAN)
    ]  # fmt: skip
    world.rows["node_metrics"] = []


def add_source(world: World, source_id: int, **changes: Any) -> None:
    """Add the join's source; ``tree``, ``lines`` and other columns can be told."""
    tree = changes.pop("tree", numbered(TREE, 20))
    lines = changes.pop("lines", LINES)
    text = "\n".join(f"line_{n}();" for n in range(1, 21))
    world.add(
        "codegen_sources",
        **{
            "source_id": source_id, "pid": 1, "class_name": CLASS + "1", "codegen_stage_id": 1,
            "tree": tree, "source": text, "lines_count": 20, "max_method_bytes": 900, **changes,
        },
    )  # fmt: skip
    for line, operator, index, expression in lines:
        world.add(
            "codegen_lines", source_id=source_id, line=line, method=METHOD, operator=operator,
            node_text=operator, node_index=index, expression=expression,
        )  # fmt: skip


def add_samples(
    world: World, kinds: Sequence[tuple[int | None, str, str | None]], method: str = METHOD + "$"
) -> None:
    """Let CPU samples lie on lines in turn: (line, category, operator that their frames tell)."""
    cpu = [row for row in world.rows["samples"] if row["event"] == "cpu"]
    for number, row in enumerate(cpu):
        line, category, operator = kinds[number % len(kinds)]
        row.update(
            category=category,
            operator=operator,
            codegen_stage_id=1,
            java_stack=number % len(kinds),
        )
    for number, (line, _, _) in enumerate(kinds):
        world.add("frames", frame_id=number, class_name=CLASS + "1", method=method, line=line,
                  kind="c2")  # fmt: skip
        world.add("stacks", stack_id=number, frame_ids=[90, number, 91], truncated=False)
    for frame_id, name in ((90, "processNext"), (91, "helper")):
        class_name = CLASS + "1" if frame_id == 90 else "java.math.BigDecimal"
        world.add("frames", frame_id=frame_id, class_name=class_name, method=name, line=1,
                  kind="c2")  # fmt: skip
