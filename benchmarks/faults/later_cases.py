"""Causes planted after the rules were frozen: by which settings, where, which findings name them.

Written without a look at the rules: codes are chosen by their titles, places as an author of the
application would name them. Each cause has another form in each shape of data.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults.cases import BOTH, Case, Set
from benchmarks.faults.places import (
    DRIVER,
    MAIN_STAGE,
    PYTHON,
    PYTHON_CODES,
    expressions,
    operators,
    settings,
)

CASES = (
    Case("one-task", ("partitioning.one-task", "partitioning.too-few"), by_shape={
        "orders": Case("one-task", places=(MAIN_STAGE, *operators("Coalesce"))),
        "events": Case("one-task", places=(MAIN_STAGE, *operators("Window"))),
        "readings": Case("one-task", places=(MAIN_STAGE, *operators("Window", "Exchange"))),
    }),
    Case("gzip-input", ("scan.not-splittable",), also=("scan.text-format",),
         places=(MAIN_STAGE, *operators("Scan"))),
    Case("tiny-tasks", ("partitioning.too-many",), places=(MAIN_STAGE,), by_shape={
        "orders": Case("tiny-tasks", places=(MAIN_STAGE, *operators("Exchange", "Repartition"))),
        "events": Case(
            "tiny-tasks", ("partitioning.too-many", "config.adaptive-off"),
            {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "2000"},
            places=(*operators("Exchange"), *settings("shuffle.partitions", "adaptive")),
        ),
        "readings": Case(
            "tiny-tasks", on={"spark.sql.files.maxPartitionBytes": "24576"},
            places=(*operators("Scan"), *settings("maxPartitionBytes")),
        ),
    }),
    Case("skewed-key", ("skew.",), by_shape={
        "orders": Case("skewed-key", places=(MAIN_STAGE, *operators("Join"))),
        "events": Case("skewed-key", places=(MAIN_STAGE, *operators("Window", "Sort"))),
        "readings": Case("skewed-key", places=(MAIN_STAGE, *operators("Exchange", "Generate"))),
    }),
    Case("interval-join", ("join.nested-loop",),
         places=operators("NestedLoopJoin", "CartesianProduct")),
    Case("pair-expression", ("expression.per-pair",), by_shape={
        "orders": Case("pair-expression", places=expressions("regexp", "conv")),
        "events": Case("pair-expression", places=expressions("timestamp")),
        "readings": Case("pair-expression", places=expressions("array_?sort")),
    }),
    Case("costly-pattern", ("expression.per-row",), by_shape={
        "orders": Case("costly-pattern", places=expressions("rlike")),
        "events": Case("costly-pattern", places=expressions("date", "timestamp")),
        "readings": Case("costly-pattern", places=expressions("array_?sort")),
    }),
    Case("python-row",
         PYTHON_CODES,
         by_shape={
             "orders": Case("python-row", places=(*expressions("tidy"), *PYTHON)),
             "events": Case("python-row", places=(*PYTHON, MAIN_STAGE)),
             "readings": Case("python-row", places=(*expressions("energy"), *PYTHON)),
         }),
    Case("not-cached", ("recompute.subtree",), places=(
        *operators("Aggregate", "Exchange", "Window", "Join", "Scan"),
        {"source": r".*_causes\.py.*"},
    )),
    Case("driver-loop", ("driver.many-small-jobs",), places=DRIVER),
    Case("idle-driver", ("driver.gap",), places=DRIVER),
    Case("collected", ("driver.collect", "driver.gap"), places=DRIVER),
    Case("schema-inferred", ("scan.schema-inferred",), also=("scan.text-format",),
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("small-files", ("scan.small-files-read", "driver.listing"),
         places=(*operators("Scan"), *DRIVER)),
    Case("spilling", ("spill.sort-and-aggregate",), {"spark.memory.fraction": "0.02"}, by_shape={
        "orders": Case("spilling", places=(MAIN_STAGE, *operators("Sort", "Window"))),
        "events": Case("spilling", places=(MAIN_STAGE, *operators("Aggregate", "Sort"))),
        "readings": Case("spilling", places=(MAIN_STAGE, *operators("Sort"))),
    }),
    Case("small-heap", ("gc.heap-too-small", "gc.full"), {"spark.driver.memory": "600m"},
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("interpreted-plan", ("codegen.fallback",), {"spark.sql.codegen.wholeStage": "false"},
         places=({"layer": "sql|stage"}, *settings("codegen")), by_shape={
             "events": Case("interpreted-plan", on={
                 "spark.sql.codegen.wholeStage": "false",
                 "spark.sql.codegen.factoryMode": "NO_CODEGEN",
             }),
             "readings": Case("interpreted-plan", on={"spark.sql.codegen.maxFields": "10"}),
         }),
    Case("no-broadcast", ("join.broadcast-missed",),
         places=operators("SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin"), by_shape={
             "orders": Case(
                 "no-broadcast", on={"spark.sql.autoBroadcastJoinThreshold": "-1"},
                 places=(*operators("SortMergeJoin"), *settings("autoBroadcastJoinThreshold")),
             ),
         }),
    Case("failing-tasks", ("retries.failed-tasks",), master="local[2,4]", also=PYTHON_CODES,
         places=(MAIN_STAGE, *PYTHON)),
    Case("costly-codec", ("codec.compression",), by_shape={
        "orders": Case(
            "costly-codec",
            places=(*operators("Insert", "Write"), MAIN_STAGE, *settings("parquet.compression")),
        ),
        "events": Case(
            "costly-codec",
            on={"spark.io.compression.codec": "zstd", "spark.io.compression.zstd.level": "12"},
            places=(*operators("Exchange"), MAIN_STAGE, *settings("io.compression")),
        ),
        "readings": Case(
            "costly-codec",
            places=(*operators("Insert", "Write"), MAIN_STAGE, *settings("compress")),
        ),
    }),
    Case("text-format", ("scan.text-format",), places=operators("Scan"), by_shape={
        "readings": Case(
            "text-format", ("scan.text-format", "expression.per-row"),
            places=(*operators("Scan"), *expressions("split")),
        ),
    }),
    Case("pruning-defeated", ("scan.partition-pruning-defeated",), places=operators("Scan"),
         by_shape={
             "readings": Case(
                 "pruning-defeated",
                 on={"spark.sql.optimizer.dynamicPartitionPruning.enabled": "false"},
                 places=(*operators("Scan"), *settings("dynamicPartitionPruning")),
             ),
         }),
    Case("needless-shuffle", ("partitioning.needless-repartition",), by_shape={
        "orders": Case("needless-shuffle", places=operators("Exchange", "Repartition")),
        "events": Case(
            "needless-shuffle", ("partitioning.needless-sort",),
            places=operators("Sort", "Exchange"),
        ),
        "readings": Case("needless-shuffle", places=operators("Exchange", "Repartition")),
    }),
    Case("several-distinct", ("join.distinct-blow-up",),
         places=(*operators("Expand", "Aggregate"), *expressions("distinct"))),
    Case("join-explodes", ("join.explodes",), places=operators("Join")),
    Case("parsed-again", ("expression.per-row",), also=("expression.per-row",), by_shape={
        "orders": Case("parsed-again", places=expressions("json_?object")),
        "events": Case("parsed-again", places=expressions("from_?json", "json_?to_?structs?")),
        "readings": Case("parsed-again", places=expressions("json_?object")),
    }),
)  # fmt: skip

LATER = Set(
    "later", Path(__file__).with_name("later_app.py"), CASES,
    {**BOTH, "spark.driver.memory": "3g"},
)  # fmt: skip
