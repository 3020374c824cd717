"""The causes planted in the job on the grid: by which settings, where, and what names them.

Written without a look at the rules: codes are chosen by their titles.
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

CASES: tuple[Case, ...] = (
    Case("one-task", ("partitioning.one-task", "partitioning.too-few"),
         places=(MAIN_STAGE, *operators("Scan", "Generate"))),
    Case("gzip-input", ("scan.not-splittable",), also=("scan.text-format",),
         places=(MAIN_STAGE, *operators("Scan"))),
    Case("tiny-tasks", ("partitioning.too-many",), also=PYTHON_CODES, places=(MAIN_STAGE,)),
    Case("skewed-key", ("skew.rows", "skew.bytes"),
         places=(MAIN_STAGE, *operators("Join", "Exchange", "Generate"))),
    Case("interval-join", ("join.nested-loop",),
         places=operators("NestedLoopJoin", "CartesianProduct")),
    Case("pair-expression", ("expression.per-pair",), places=expressions("str_?to_?map")),
    Case("costly-pattern", ("expression.per-row",),
         places=expressions("rlike", "filter", "split")),
    Case("python-row", PYTHON_CODES, places=(*expressions("severity"), *PYTHON)),
    Case("not-cached", ("recompute.subtree",), places=(
        *operators("Aggregate", "Exchange", "Window", "Sort", "Scan"),
        {"source": r".*_causes\.py.*"},
    )),
    Case("driver-loop", ("driver.many-small-jobs",), places=DRIVER),
    Case("idle-driver", ("driver.gap",), places=DRIVER),
    Case("collected", ("driver.collect", "driver.gap"), {"spark.driver.memory": "2g"},
         {"spark.driver.memory": "2g"}, places=DRIVER),
    Case("schema-inferred", ("scan.schema-inferred",), also=PYTHON_CODES,
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("small-files", ("scan.small-files-written",),
         places=(MAIN_STAGE, *operators("Insert", "Write"))),
    Case("spilling", ("spill.sort-and-aggregate",),
         {"spark.driver.memory": "2g", "spark.memory.offHeap.enabled": "true",
          "spark.memory.offHeap.size": "32m"},
         {"spark.driver.memory": "2g", "spark.memory.offHeap.enabled": "true",
          "spark.memory.offHeap.size": "2g"},
         places=(MAIN_STAGE, *operators("Aggregate"), *settings("offHeap"))),
    Case("small-heap", ("gc.heap-too-small", "gc.full"), {"spark.driver.memory": "660m"},
         {"spark.driver.memory": "3g"},
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("interpreted-plan", ("codegen.method-too-large",),
         places=({"layer": "sql|stage"}, *operators("Project", "Aggregate"),
                 *expressions("case", "pressure"))),
    Case("no-broadcast", ("join.broadcast-missed",), {"spark.driver.memory": "2g"},
         {"spark.driver.memory": "2g"},
         places=operators("SortMergeJoin", "ShuffledHashJoin")),
    Case("text-format", ("scan.text-format", "expression.per-row"),
         places=(*operators("Scan"), *expressions("from_?csv", "csv_?to_?structs?"))),
    Case("needless-shuffle", ("partitioning.needless-repartition",), {"spark.driver.memory": "2g"},
         {"spark.driver.memory": "2g"},
         places=operators("Exchange", "Repartition")),
)  # fmt: skip
