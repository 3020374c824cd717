"""Causes planted in plays: by which settings, where, and which findings name them.

Written without a look at the rules: codes are chosen by their titles, places as an author of the
application would name them.
"""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import (
    DRIVER,
    MAIN_STAGE,
    PYTHON,
    PYTHON_CODES,
    expressions,
    operators,
    settings,
)

ROOMY = {"spark.driver.memory": "2g"}
SPLIT = {
    **ROOMY, "spark.sql.adaptive.advisoryPartitionSizeInBytes": "2m",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "2m",
}  # fmt: skip
"""Partitions of a size that suits this data, for joins with skew too."""

CASES: tuple[Case, ...] = (
    Case("codegen-off", ("codegen.method-too-large", "codegen.fallback"),
         {"spark.sql.codegen.aggregate.splitAggregateFunc.enabled": "false"},
         places=({"layer": "sql|stage"}, *operators("Aggregate", "WholeStageCodegen"),
                 *settings("codegen"))),
    Case("driver-loop", ("driver.many-small-jobs",), places=DRIVER),
    Case("failing-tasks", ("retries.failed-tasks",), ROOMY, ROOMY, also=PYTHON_CODES,
         master="local[2,4]",
         places=(MAIN_STAGE, {"layer": "stage|scheduling"}, *PYTHON,
                 *operators("Write", "Append"))),
    Case("json-again", ("expression.json-parsed-again",),
         places=(*expressions("from_?json"), *operators("Project"))),
    Case("nested-loop", ("join.nested-loop",),
         places=operators("NestedLoopJoin", "CartesianProduct")),
    Case("no-broadcast", ("join.broadcast-missed",), ROOMY, ROOMY,
         places=operators("SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin")),
    Case("not-cached", ("recompute.subtree",), ROOMY, ROOMY, places=(
        *operators("Aggregate", "Exchange", "Scan"), {"source": r".*_causes\.py.*"},
    )),
    Case("per-pair", ("expression.per-pair",), places=expressions("split")),
    Case("python-row", ("python.instead-of-builtin", "python.function"), ROOMY, ROOMY,
         places=(*expressions("rated"), *PYTHON)),
    Case("schema-inferred", ("scan.schema-inferred",), ROOMY, ROOMY,
         also=("scan.text-format", "scan.not-splittable"),
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"},
                 *settings("schemaInference"))),
    Case("skewed-key", ("skew.rows", "skew.bytes"),
         {**SPLIT, "spark.sql.adaptive.skewJoin.enabled": "false"}, SPLIT,
         places=(MAIN_STAGE, *operators("Join", "Exchange", "Generate"), *settings("skewJoin"))),
    Case("small-heap", ("gc.heap-too-small", "gc.full"), {"spark.driver.memory": "540m"},
         {"spark.driver.memory": "3g"},
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("spilling", ("spill.sort-and-aggregate",),
         {**ROOMY, "spark.shuffle.spill.maxSizeInBytesForSpillThreshold": "1m"}, ROOMY,
         places=(MAIN_STAGE, *operators("Sort", "Window"), *settings("shuffle.spill"))),
    Case("tiny-tasks", ("partitioning.too-many",),
         {**ROOMY, "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "800",
          "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16k"}, ROOMY,
         places=(MAIN_STAGE, *operators("Exchange", "AQEShuffleRead"),
                 *settings("adaptive", "PartitionNum", "advisory"))),
)  # fmt: skip
