"""Causes planted in clicks: by which settings, where, and which findings name them.

Written without a look at the rules: codes are chosen by their titles, places as an author of the
application would name them.
"""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import (
    DRIVER,
    MAIN_STAGE,
    PYTHON,
    expressions,
    operators,
    settings,
)

CASES: tuple[Case, ...] = (
    Case("one-task", ("partitioning.one-task", "partitioning.too-few"),
         places=(MAIN_STAGE, *operators("Generate"))),
    Case("gzip-input", ("scan.not-splittable",), places=(MAIN_STAGE, *operators("Scan")),
         also=("scan.text-format",)),
    Case("tiny-tasks", ("partitioning.too-many",),
         places=(MAIN_STAGE, *operators("InMemory", "Exchange", "Repartition"))),
    Case("skewed-key", ("skew.rows", "skew.bytes"),
         places=(MAIN_STAGE, *operators("Join", "Exchange", "Sort"))),
    Case("interval-join", ("join.nested-loop",),
         places=operators("NestedLoopJoin", "CartesianProduct")),
    Case("pair-expression", ("expression.per-pair",), places=expressions("parse_?url")),
    Case("costly-pattern", ("expression.per-row",), places=expressions("str_?to_?map")),
    Case("python-row", ("python.instead-of-builtin", "python.function"),
         places=(*expressions("path_of"), *PYTHON)),
    Case("not-cached", ("recompute.subtree",), places=(
        *operators("Aggregate", "Exchange", "Window", "Sort", "Scan"),
        {"source": r".*_causes\.py.*"},
    )),
    Case("driver-loop", ("driver.many-small-jobs",), places=DRIVER),
    Case("idle-driver", ("driver.gap",), places=DRIVER),
    Case("collected", ("driver.collect", "driver.gap"), places=DRIVER),
    Case("schema-inferred", ("scan.schema-inferred",),
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("small-files", ("scan.small-files-written",),
         places=(MAIN_STAGE, *operators("Insert", "Write"))),
    Case("spilling", ("spill.sort-and-aggregate",),
         {"spark.driver.memory": "2g", "spark.memory.offHeap.enabled": "true",
          "spark.memory.offHeap.size": "24m"},
         {"spark.driver.memory": "2g", "spark.memory.offHeap.enabled": "true",
          "spark.memory.offHeap.size": "2g"},
         places=(MAIN_STAGE, *operators("Aggregate", "Sort"), *settings("offHeap"))),
    Case("small-heap", ("gc.heap-too-small", "gc.full"), {"spark.driver.memory": "580m"},
         {"spark.driver.memory": "3g"},
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("interpreted-plan", ("codegen.method-too-large",),
         places=({"layer": "sql|stage"}, *operators("Project", "WholeStageCodegen"),
                 *expressions("case"), *settings("codegen"))),
    Case("no-broadcast", ("join.broadcast-missed",),
         places=operators("SortMergeJoin", "ShuffledHashJoin")),
    Case("text-format", ("scan.text-format",), places=operators("Scan")),
    Case("needless-shuffle", ("partitioning.needless-repartition", "partitioning.needless-sort"),
         places=operators("Exchange", "Repartition", "Sort")),
)  # fmt: skip
