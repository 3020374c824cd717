"""Causes planted in parcels: by which settings, where, and which findings name them.

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

LISTS = {"spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "5000000"}
SPLIT = {
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "3m",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "4m",
}
FORCED = "spark.shuffle.spill.numElementsForceSpillThreshold"
CASES: tuple[Case, ...] = (
    Case("codegen-off", ("codegen.fallback",),
         places=({"layer": "sql|stage"}, *operators("Filter"), *expressions("exists"))),
    Case("driver-loop", ("driver.many-small-jobs",), places=DRIVER),
    Case("failing-tasks", ("retries.failed-tasks",), master="local[2,4]",
         also=(*PYTHON_CODES, "scan.text-format"),
         places=(MAIN_STAGE, *PYTHON, *operators("Scan"))),
    Case("json-again", ("expression.json-parsed-again",),
         places=(*expressions("json_?object"), *operators("Project"))),
    Case("nested-loop", ("join.nested-loop",),
         places=operators("NestedLoopJoin", "CartesianProduct")),
    Case("no-broadcast", ("join.broadcast-missed",), {"spark.driver.memory": "3g"},
         {"spark.driver.memory": "3g"}, places=(
             *operators("SortMergeJoin", "ShuffledHashJoin"),
             *settings("autoBroadcastJoinThreshold"),
         )),
    Case("not-cached", ("recompute.subtree",), {"spark.driver.memory": "2g"},
         {"spark.driver.memory": "2g"}, places=(
             *operators("Aggregate", "Exchange", "Scan"), {"source": r".*_causes\.py.*"},
         )),
    Case("per-pair", ("expression.per-pair",),
         places=(*expressions("sha2", "conv"), *operators("Join"))),
    Case("python-row", ("python.instead-of-builtin", "python.function"),
         places=(MAIN_STAGE, *PYTHON, {"source": r".*_causes\.py.*"})),
    Case("schema-inferred", ("scan.schema-inferred",), also=("scan.text-format",),
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("skewed-key", ("skew.rows", "skew.bytes"), {"spark.driver.memory": "2g"},
         {"spark.driver.memory": "2g", **SPLIT},
         places=(MAIN_STAGE, *operators("Join", "Exchange", "Sort", "Generate"),
                 *settings("skewJoin"))),
    Case("small-heap", ("gc.heap-too-small", "gc.full"), {"spark.driver.memory": "560m", **LISTS},
         {"spark.driver.memory": "3g", **LISTS},
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("spilling", ("spill.sort-and-aggregate",),
         {"spark.driver.memory": "3g", FORCED: "4000"}, {"spark.driver.memory": "3g"},
         places=(MAIN_STAGE, *operators("Sort", "Window"), *settings("ForceSpillThreshold"))),
    Case("tiny-tasks", ("partitioning.too-many",), also=PYTHON_CODES,
         places=(MAIN_STAGE, *operators("ExistingRDD", "Scan"))),
)  # fmt: skip
