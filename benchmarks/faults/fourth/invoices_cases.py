"""The fourth set's causes in the job on invoices: by which settings, where, and what names them.

Written without a look at the rules; each cause has another form than in the sets before.
"""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import DRIVER, MAIN_STAGE, PYTHON, expressions, operators, settings

CASES: tuple[Case, ...] = (
    Case("one-task", ("partitioning.one-task", "partitioning.too-few"), also=("join.explodes",),
         places=(MAIN_STAGE, *operators("Generate", "OneRowRelation", "BroadcastHashJoin"))),
    Case("gzip-input", ("scan.not-splittable",), also=("scan.text-format",),
         places=(MAIN_STAGE, *operators("Scan", "Union"))),
    Case("tiny-tasks", ("partitioning.too-many",),
         places=(MAIN_STAGE, *operators("ExistingRDD", "Scan"))),
    Case("skewed-key", ("skew.rows", "skew.bytes"),
         places=(MAIN_STAGE, *operators("Join", "Exchange", "Generate"))),
    Case("interval-join", ("join.nested-loop",),
         places=operators("NestedLoopJoin", "CartesianProduct")),
    Case("pair-expression", ("expression.per-pair",),
         places=expressions("quantity", "price", "discount")),
    Case("costly-pattern", ("expression.per-row",), places=expressions("regexp_?replace")),
    Case("python-row", ("python.instead-of-builtin", "python.function"),
         places=(*expressions("gross"), *PYTHON)),
    Case("not-cached", ("recompute.subtree",), places=(
        *operators("Aggregate", "Exchange", "Join", "Scan"), {"source": r".*_causes\.py.*"},
    )),
    Case("driver-loop", ("driver.many-small-jobs",), places=DRIVER),
    Case("idle-driver", ("driver.gap",), places=DRIVER),
    Case("collected", ("driver.collect", "driver.gap"), places=DRIVER),
    Case("schema-inferred", ("scan.schema-inferred",), also=("scan.text-format",),
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("small-files", ("scan.small-files-written",),
         places=(MAIN_STAGE, *operators("Insert", "Write"))),
    Case("spilling", ("spill.sort-and-aggregate",),
         {"spark.driver.memory": "2g", "spark.memory.offHeap.enabled": "true",
          "spark.memory.offHeap.size": "5m"},
         {"spark.driver.memory": "2g", "spark.memory.offHeap.enabled": "true",
          "spark.memory.offHeap.size": "1g"},
         places=(MAIN_STAGE, *operators("Sort", "Aggregate"), *settings("offHeap"))),
    Case("small-heap", ("gc.heap-too-small", "gc.full"),
         {"spark.driver.memory": "500m"}, {"spark.driver.memory": "3g"},
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("no-broadcast", ("join.broadcast-missed",),
         places=operators("SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin")),
    Case("interpreted-plan", ("codegen.fallback",),
         off={"spark.sql.codegen.maxFields": "400"},
         places=({"layer": "sql|stage"}, *operators("Aggregate", "Filter", "Join", "Scan"),
                 *settings("codegen"))),
    Case("text-format", ("scan.text-format",), places=operators("Scan", "Union")),
    Case("needless-shuffle", ("partitioning.needless-sort",),
         places=operators("Sort", "Exchange")),
)  # fmt: skip
