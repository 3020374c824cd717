"""The causes planted in the job on genes: by which settings, where, and what names them.

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

ROOMY = {"spark.driver.memory": "3g"}

CASES: tuple[Case, ...] = (
    Case("one-task", ("partitioning.one-task", "partitioning.too-few"), ROOMY, ROOMY,
         places=(MAIN_STAGE, *operators("Range"))),
    Case("tiny-tasks", ("partitioning.too-many",),
         {**ROOMY, "spark.sql.shuffle.partitions": "200"}, ROOMY,
         places=(MAIN_STAGE, *operators("Exchange", "StateStore"),
                 *settings("shuffle.partitions"))),
    Case("skewed-key", ("skew.",), ROOMY, ROOMY, also=PYTHON_CODES,
         places=(MAIN_STAGE, *operators("Exchange", "Pandas"))),
    Case("no-broadcast", ("join.broadcast-missed",), ROOMY, ROOMY,
         places=operators("SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin")),
    Case("small-files", ("scan.small-files-written",),
         {**ROOMY, "spark.sql.files.maxRecordsPerFile": "500"}, ROOMY,
         places=(MAIN_STAGE, *operators("Insert", "Write"), *settings("maxRecordsPerFile"))),
    Case("needless-shuffle", ("partitioning.needless-repartition",), ROOMY, ROOMY,
         places=operators("Exchange", "Rebalance", "Repartition")),
    Case("schema-inferred", ("scan.schema-inferred",), ROOMY, ROOMY, also=("scan.text-format",),
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("costly-pattern", ("expression.per-row",), ROOMY, ROOMY,
         places=expressions("split", "transform", "array_?join", "reverse")),
    Case("small-heap", ("gc.heap-too-small", "gc.full"), {"spark.driver.memory": "560m"}, ROOMY,
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("spilling", ("spill.sort-and-aggregate",),
         {**ROOMY, "spark.sql.windowExec.buffer.in.memory.threshold": "200",
          "spark.sql.windowExec.buffer.spill.threshold": "400"},
         ROOMY,
         places=(MAIN_STAGE, *operators("Window"), *settings("windowExec"))),
    Case("driver-loop", ("driver.many-small-jobs",), ROOMY, ROOMY, places=DRIVER),
    Case("collected", ("driver.collect", "driver.gap"), ROOMY, ROOMY, places=DRIVER),
    Case("python-row", PYTHON_CODES, ROOMY, ROOMY,
         places=(*expressions("shares"), *PYTHON)),
    Case("not-cached", ("recompute.subtree",), ROOMY, ROOMY, places=(
        *operators("Aggregate", "Exchange", "Join", "Generate", "Scan"),
        {"source": r".*_causes\.py.*"},
    )),
    Case("json-again", ("expression.json-parsed-again", "expression.per-row"), ROOMY, ROOMY,
         places=(*expressions("json_?tuple"), *operators("Generate"))),
    Case("pruning-defeated", ("scan.partition-pruning-defeated", "scan.pushdown-defeated"),
         ROOMY, ROOMY, places=operators("Scan", "Filter")),
    Case("cached-once", ("cache.used-once",), ROOMY, ROOMY,
         places=(*operators("InMemory", "Generate", "Scan"), {"source": r".*_causes\.py.*"})),
    Case("exploding-join", ("join.explodes",), ROOMY, ROOMY, places=operators("Join")),
)  # fmt: skip
