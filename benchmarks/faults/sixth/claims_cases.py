"""Causes planted in claims: by which settings, where, and which findings name them.

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

HEAP = {"spark.driver.memory": "2g"}
LARGE = {"spark.driver.memory": "3g"}
OBJECTS = {"spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "10000000"}

CASES: tuple[Case, ...] = (
    Case("codegen-off", ("codegen.fallback",), places=(
        MAIN_STAGE, {"layer": "sql|stage"}, *operators("Generate", "Filter", "Project", "Agg"),
        *settings("codegen"), {"source": r".*_causes\.py.*"},
    )),
    Case("driver-loop", ("driver.many-small-jobs",), places=DRIVER),
    Case("failing-tasks", ("retries.failed-tasks",), master="local[2,4]", also=PYTHON_CODES,
         places=(MAIN_STAGE, *PYTHON, *operators("Scan"))),
    Case("json-again", ("expression.json-parsed-again",), also=("expression.per-row",),
         places=(*expressions("json_?object"), *operators("Project"))),
    Case("nested-loop", ("join.nested-loop",),
         places=operators("NestedLoopJoin", "CartesianProduct")),
    Case("no-broadcast", ("join.broadcast-missed",), {"spark.sql.sources.fileCompressionFactor":
         "40"}, places=(*operators("SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin"),
                        *settings("fileCompressionFactor", "autoBroadcastJoinThreshold"))),
    Case("not-cached", ("recompute.subtree",), HEAP, HEAP, places=(
        *operators("Aggregate", "Exchange", "Join", "Scan"), {"source": r".*_causes\.py.*"},
    )),
    Case("per-pair", ("expression.per-pair",), places=expressions("date_?format")),
    Case("python-row", PYTHON_CODES, places=(*expressions("is_valid"), *PYTHON)),
    Case("schema-inferred", ("scan.schema-inferred",), HEAP, HEAP, also=("scan.text-format",),
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("skewed-key", ("skew.rows", "skew.bytes"), also=("expression.per-row",),
         places=(MAIN_STAGE, *operators("Exchange", "Repartition", "Generate", "Aggregate"))),
    Case("small-heap", ("gc.heap-too-small", "gc.full"),
         {"spark.driver.memory": "640m", **OBJECTS}, {"spark.driver.memory": "3g", **OBJECTS},
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("spilling", ("spill.sort-and-aggregate",),
         {**LARGE, "spark.shuffle.spill.numElementsForceSpillThreshold": "4000"}, LARGE,
         places=(MAIN_STAGE, *operators("Sort", "Window"),
                 *settings("numElementsForceSpillThreshold"))),
    Case("tiny-tasks", ("partitioning.too-many",), also=("scan.small-files-read",),
         places=(MAIN_STAGE, *operators("Scan", "Aggregate"))),
)  # fmt: skip
