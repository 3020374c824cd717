"""Causes planted after the rules were frozen: by which settings, where, which findings name them.

Written without a look at the rules: codes are chosen by their titles, places as an author of the
application would name them. Each cause has another form in each shape of data.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults.cases import BOTH, Case, Set

MAIN_STAGE = {"stage_id": "main"}
DRIVER = ({"layer": "driver"}, {"source": r".*_causes\.py.*"})
PYTHON = ({"layer": "python"}, {"operator": ".*Python.*"})

PYTHON_CODES = ("python.instead-of-builtin", "python.function", "python.instead-of-arrow")


def _operators(*names: str) -> tuple[dict[str, str], ...]:
    return tuple({"operator": f".*{name}.*"} for name in names)


def _expressions(*names: str) -> tuple[dict[str, str], ...]:
    return tuple({"expression": f"(?i).*{name}.*"} for name in names)


def _settings(*names: str) -> tuple[dict[str, str], ...]:
    return tuple({"setting": f".*{name}.*"} for name in names)


CASES = (
    Case("one-task", ("partitioning.one-task", "partitioning.too-few"), by_shape={
        "orders": Case("one-task", places=(MAIN_STAGE, *_operators("Coalesce"))),
        "events": Case("one-task", places=(MAIN_STAGE, *_operators("Window"))),
        "readings": Case("one-task", places=(MAIN_STAGE, *_operators("Window", "Exchange"))),
    }),
    Case("gzip-input", ("scan.not-splittable",), also=("scan.text-format",),
         places=(MAIN_STAGE, *_operators("Scan"))),
    Case("tiny-tasks", ("partitioning.too-many",), places=(MAIN_STAGE,), by_shape={
        "orders": Case("tiny-tasks", places=(MAIN_STAGE, *_operators("Exchange", "Repartition"))),
        "events": Case(
            "tiny-tasks", ("partitioning.too-many", "config.adaptive-off"),
            {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "2000"},
            places=(*_operators("Exchange"), *_settings("shuffle.partitions", "adaptive")),
        ),
        "readings": Case(
            "tiny-tasks", on={"spark.sql.files.maxPartitionBytes": "24576"},
            places=(*_operators("Scan"), *_settings("maxPartitionBytes")),
        ),
    }),
    Case("skewed-key", ("skew.",), by_shape={
        "orders": Case("skewed-key", places=(MAIN_STAGE, *_operators("Join"))),
        "events": Case("skewed-key", places=(MAIN_STAGE, *_operators("Window", "Sort"))),
        "readings": Case("skewed-key", places=(MAIN_STAGE, *_operators("Exchange", "Generate"))),
    }),
    Case("interval-join", ("join.nested-loop",),
         places=_operators("NestedLoopJoin", "CartesianProduct")),
    Case("pair-expression", ("expression.per-pair",), by_shape={
        "orders": Case("pair-expression", places=_expressions("regexp", "conv")),
        "events": Case("pair-expression", places=_expressions("timestamp")),
        "readings": Case("pair-expression", places=_expressions("array_?sort")),
    }),
    Case("costly-pattern", ("expression.per-row",), by_shape={
        "orders": Case("costly-pattern", places=_expressions("rlike")),
        "events": Case("costly-pattern", places=_expressions("date", "timestamp")),
        "readings": Case("costly-pattern", places=_expressions("array_?sort")),
    }),
    Case("python-row",
         PYTHON_CODES,
         by_shape={
             "orders": Case("python-row", places=(*_expressions("tidy"), *PYTHON)),
             "events": Case("python-row", places=(*PYTHON, MAIN_STAGE)),
             "readings": Case("python-row", places=(*_expressions("energy"), *PYTHON)),
         }),
    Case("not-cached", ("recompute.subtree",), places=(
        *_operators("Aggregate", "Exchange", "Window", "Join", "Scan"),
        {"source": r".*_causes\.py.*"},
    )),
    Case("driver-loop", ("driver.many-small-jobs",), places=DRIVER),
    Case("idle-driver", ("driver.gap",), places=DRIVER),
    Case("collected", ("driver.collect", "driver.gap"), places=DRIVER),
    Case("schema-inferred", ("scan.schema-inferred",), also=("scan.text-format",),
         places=(*_operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("small-files", ("scan.small-files-read", "driver.listing"),
         places=(*_operators("Scan"), *DRIVER)),
    Case("spilling", ("spill.sort-and-aggregate",), {"spark.memory.fraction": "0.02"}, by_shape={
        "orders": Case("spilling", places=(MAIN_STAGE, *_operators("Sort", "Window"))),
        "events": Case("spilling", places=(MAIN_STAGE, *_operators("Aggregate", "Sort"))),
        "readings": Case("spilling", places=(MAIN_STAGE, *_operators("Sort"))),
    }),
    Case("small-heap", ("gc.heap-too-small", "gc.full"), {"spark.driver.memory": "600m"},
         places=({"layer": "jvm"}, *_settings("memory", "heap", "Xmx"))),
    Case("interpreted-plan", ("codegen.fallback",), {"spark.sql.codegen.wholeStage": "false"},
         places=({"layer": "sql|stage"}, *_settings("codegen")), by_shape={
             "events": Case("interpreted-plan", on={
                 "spark.sql.codegen.wholeStage": "false",
                 "spark.sql.codegen.factoryMode": "NO_CODEGEN",
             }),
             "readings": Case("interpreted-plan", on={"spark.sql.codegen.maxFields": "10"}),
         }),
    Case("no-broadcast", ("join.broadcast-missed",),
         places=_operators("SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin"), by_shape={
             "orders": Case(
                 "no-broadcast", on={"spark.sql.autoBroadcastJoinThreshold": "-1"},
                 places=(*_operators("SortMergeJoin"), *_settings("autoBroadcastJoinThreshold")),
             ),
         }),
    Case("failing-tasks", ("retries.failed-tasks",), master="local[2,4]", also=PYTHON_CODES,
         places=(MAIN_STAGE, *PYTHON)),
    Case("costly-codec", ("codec.compression",), by_shape={
        "orders": Case(
            "costly-codec",
            places=(*_operators("Insert", "Write"), MAIN_STAGE, *_settings("parquet.compression")),
        ),
        "events": Case(
            "costly-codec",
            on={"spark.io.compression.codec": "zstd", "spark.io.compression.zstd.level": "12"},
            places=(*_operators("Exchange"), MAIN_STAGE, *_settings("io.compression")),
        ),
        "readings": Case(
            "costly-codec",
            places=(*_operators("Insert", "Write"), MAIN_STAGE, *_settings("compress")),
        ),
    }),
    Case("text-format", ("scan.text-format",), places=_operators("Scan"), by_shape={
        "readings": Case(
            "text-format", ("scan.text-format", "expression.per-row"),
            places=(*_operators("Scan"), *_expressions("split")),
        ),
    }),
    Case("pruning-defeated", ("scan.partition-pruning-defeated",), places=_operators("Scan"),
         by_shape={
             "readings": Case(
                 "pruning-defeated",
                 on={"spark.sql.optimizer.dynamicPartitionPruning.enabled": "false"},
                 places=(*_operators("Scan"), *_settings("dynamicPartitionPruning")),
             ),
         }),
    Case("needless-shuffle", ("partitioning.needless-repartition",), by_shape={
        "orders": Case("needless-shuffle", places=_operators("Exchange", "Repartition")),
        "events": Case(
            "needless-shuffle", ("partitioning.needless-sort",),
            places=_operators("Sort", "Exchange"),
        ),
        "readings": Case("needless-shuffle", places=_operators("Exchange", "Repartition")),
    }),
    Case("several-distinct", ("join.distinct-blow-up",),
         places=(*_operators("Expand", "Aggregate"), *_expressions("distinct"))),
    Case("join-explodes", ("join.explodes",), places=_operators("Join")),
    Case("parsed-again", ("expression.per-row",), also=("expression.per-row",), by_shape={
        "orders": Case("parsed-again", places=_expressions("json_?object")),
        "events": Case("parsed-again", places=_expressions("from_?json", "json_?to_?structs?")),
        "readings": Case("parsed-again", places=_expressions("json_?object")),
    }),
)  # fmt: skip

LATER = Set(
    "later", Path(__file__).with_name("later_app.py"), CASES,
    {**BOTH, "spark.driver.memory": "3g"},
)  # fmt: skip
