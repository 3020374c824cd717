"""The third set of causes: by which settings, where, and which findings name them.

Written without a look at the rules, as the second set, of which each cause here has another form.
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
        "trips": Case("one-task", places=(MAIN_STAGE, *operators("Limit", "Exchange"))),
        "ledger": Case(
            "one-task",
            on={
                "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
                "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1g",
            },
            places=(
                MAIN_STAGE, *operators("Window", "Exchange", "AQEShuffleRead"),
                *settings("coalescePartitions", "advisoryPartitionSize"),
            ),
        ),
        "texts": Case(
            "one-task",
            on={
                "spark.sql.files.minPartitionNum": "1", "spark.sql.files.maxPartitionBytes": "1g",
            },
            places=(MAIN_STAGE, *operators("Scan"), *settings("minPartitionNum",
                                                                "maxPartitionBytes")),
        ),
    }),
    Case("gzip-input", ("scan.not-splittable",), places=(MAIN_STAGE, *operators("Scan")),
         also=("scan.text-format",)),
    Case("tiny-tasks", ("partitioning.too-many",), places=(MAIN_STAGE,), by_shape={
        "trips": Case("tiny-tasks", places=(MAIN_STAGE, *operators("Range", "Exchange"))),
        "ledger": Case(
            "tiny-tasks",
            on={
                "spark.sql.adaptive.coalescePartitions.enabled": "false",
                "spark.sql.shuffle.partitions": "1500",
            },
            places=(
                MAIN_STAGE, *operators("Exchange"),
                *settings("shuffle.partitions", "coalescePartitions"),
            ),
        ),
        "texts": Case("tiny-tasks", places=(MAIN_STAGE, *operators("Exchange", "Repartition"))),
    }),
    Case("skewed-key", ("skew.",), by_shape={
        "trips": Case(
            "skewed-key", places=(MAIN_STAGE, *operators("Sort", "Exchange", "Insert", "Write")),
        ),
        "ledger": Case(
            "skewed-key", places=(MAIN_STAGE, *operators("Exchange", "Insert", "Write", "Sort")),
        ),
        "texts": Case(
            "skewed-key", places=(MAIN_STAGE, *operators("Exchange", "Generate", "Aggregate")),
        ),
    }),
    Case("interval-join", ("join.nested-loop",),
         places=operators("NestedLoopJoin", "CartesianProduct")),
    Case("pair-expression", ("expression.per-pair",), by_shape={
        "trips": Case(
            "pair-expression", places=expressions("from_?utc_?timestamp", "hour", "minute"),
        ),
        "ledger": Case("pair-expression", places=expressions("split")),
        "texts": Case("pair-expression", places=expressions("regexp_?replace", "lower")),
    }),
    Case("costly-pattern", ("expression.per-row",), by_shape={
        "trips": Case("costly-pattern", places=expressions("format_?string")),
        "ledger": Case("costly-pattern", places=expressions("regexp_?extract")),
        "texts": Case("costly-pattern", places=expressions("levenshtein")),
    }),
    Case("python-row",
         PYTHON_CODES,
         by_shape={
             "trips": Case("python-row", places=(*expressions("way"), *PYTHON)),
             "ledger": Case("python-row", places=(*expressions("close"), *PYTHON)),
             "texts": Case("python-row", places=(*expressions("words"), *PYTHON)),
         }),
    Case("not-cached", ("recompute.subtree",), places=(
        *operators("Aggregate", "Exchange", "Window", "Generate", "Union", "Scan"),
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
        "trips": Case(
            "spilling", on={"spark.shuffle.spill.numElementsForceSpillThreshold": "60000"},
            places=(
                MAIN_STAGE, *operators("Sort", "Join"),
                *settings("numElementsForceSpillThreshold"),
            ),
        ),
        "ledger": Case(
            "spilling",
            places=(MAIN_STAGE, *operators("Aggregate"), *settings("memory.fraction")),
        ),
        "texts": Case(
            "spilling", on={"spark.memory.fraction": "0.01"},
            places=(MAIN_STAGE, *operators("Sort", "Aggregate"), *settings("memory.fraction")),
        ),
    }),
    Case("small-heap", ("gc.heap-too-small", "gc.full"), {"spark.driver.memory": "520m"},
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx")), by_shape={
             "texts": Case("small-heap", on={"spark.driver.memory": "560m"}),
         }),
    Case("interpreted-plan", ("codegen.fallback",),
         places=({"layer": "sql|stage"}, *settings("codegen")), by_shape={
             "trips": Case(
                 "interpreted-plan", ("codegen.fallback", "codegen.method-too-large"),
                 {"spark.sql.codegen.hugeMethodLimit": "300"},
             ),
             "texts": Case("interpreted-plan", on={"spark.sql.codegen.maxFields": "1"}),
         }),
    Case("no-broadcast", ("join.broadcast-missed",),
         places=operators("SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin")),
    Case("failing-tasks", ("retries.failed-tasks",), master="local[2,4]", also=PYTHON_CODES,
         places=(MAIN_STAGE, *PYTHON)),
    Case("text-format", ("scan.text-format",), places=operators("Scan"), by_shape={
        "ledger": Case(
            "text-format", ("scan.text-format", "expression.per-row"),
            places=(*operators("Scan"), *expressions("substr", "to_?date", "timestamp", "cast")),
        ),
    }),
)  # fmt: skip

THIRD = Set(
    "third", Path(__file__).with_name("later_app.py"), CASES,
    {**BOTH, "spark.driver.memory": "3g"},
)  # fmt: skip
