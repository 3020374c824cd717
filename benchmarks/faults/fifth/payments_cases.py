"""Causes planted in payments: by which settings, where, and which findings name them.

Written without a look at the rules: codes are chosen by their titles, places as an author of the
application would name them.
"""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import DRIVER, MAIN_STAGE, PYTHON, expressions, operators, settings

CASES: tuple[Case, ...] = (
    Case("one-task", ("partitioning.one-task", "partitioning.too-few", "scan.not-splittable",
                      "skew.rows", "skew.bytes"),
         places=(MAIN_STAGE, *operators("Scan", "Generate"))),
    Case("tiny-tasks", ("partitioning.too-many",), {"spark.default.parallelism": "1200"},
         places=(MAIN_STAGE, *operators("Range", "Exchange"), *settings("default.parallelism"))),
    Case("skewed-key", ("skew.rows", "skew.bytes"),
         places=(MAIN_STAGE, *operators("Scan", "Window", "Sort"))),
    Case("no-broadcast", ("join.broadcast-missed",),
         places=operators("SortMergeJoin", "ShuffledHashJoin")),
    Case("small-files", ("scan.small-files-written",), {"spark.sql.files.maxRecordsPerFile": "400"},
         places=(MAIN_STAGE, *operators("Insert", "Write"), *settings("maxRecordsPerFile"))),
    Case("needless-shuffle", ("partitioning.needless-repartition",),
         places=operators("Exchange", "Repartition")),
    Case("schema-inferred", ("scan.schema-inferred",), also=("scan.text-format",),
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("costly-pattern", ("expression.per-row",),
         places=expressions("filter", "sequence", "week_?day")),
    Case("small-heap", ("gc.heap-too-small", "gc.full"), {"spark.driver.memory": "560m"},
         {"spark.driver.memory": "3g"},
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("spilling", ("spill.sort-and-aggregate",),
         {"spark.driver.memory": "2g",
          "spark.sql.windowExec.buffer.in.memory.threshold": "2000",
          "spark.sql.windowExec.buffer.spill.threshold": "2000"},
         {"spark.driver.memory": "2g"},
         places=(MAIN_STAGE, *operators("Window"), *settings("windowExec.buffer"))),
    Case("driver-loop", ("driver.many-small-jobs",), places=DRIVER),
    Case("collected", ("driver.collect", "driver.gap"), {"spark.driver.memory": "2g"},
         {"spark.driver.memory": "2g"}, places=DRIVER),
    Case("python-row", ("python.instead-of-builtin", "python.function"),
         places=(*expressions("weighted"), *PYTHON)),
    Case("not-cached", ("recompute.subtree",), places=(
        *operators("Aggregate", "Exchange", "Join", "Scan"), {"source": r".*_causes\.py.*"},
    )),
    Case("json-again", ("expression.json-parsed-again",),
         places=(*expressions("json_?tuple"), *operators("Generate"))),
    Case("pruning-defeated", ("scan.partition-pruning-defeated",),
         places=operators("Scan", "Window", "Filter")),
    Case("cached-once", ("cache.used-once",), {"spark.driver.memory": "2g"},
         {"spark.driver.memory": "2g"},
         places=(*operators("InMemory"), *DRIVER, {"layer": "sql|stage"})),
    Case("exploding-join", ("join.explodes",), places=operators("Join")),
)  # fmt: skip
