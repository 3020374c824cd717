"""Causes planted in tickets: by which settings, where, and which findings name them.

Written without a look at the rules: codes are chosen by their titles, places as an author of the
application would name them. Each cause has another form than in the sets before.
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

CASES: tuple[Case, ...] = (
    Case("one-task", ("partitioning.one-task", "scan.not-splittable"), also=("expression.per-row",),
         places=(MAIN_STAGE, *operators("Scan", "Generate"))),
    Case("tiny-tasks", ("partitioning.too-many",), {"spark.default.parallelism": "1000"},
         places=(MAIN_STAGE, *operators("Range"), *settings("default.parallelism"))),
    Case("skewed-key", ("skew.rows", "skew.bytes"), also=("expression.per-row",),
         places=(MAIN_STAGE, *operators("Sort", "Exchange", "Insert", "Write"))),
    Case("no-broadcast", ("join.broadcast-missed",),
         places=operators("SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin")),
    Case("small-files", ("scan.small-files-written",),
         {"spark.sql.files.maxRecordsPerFile": "400"},
         places=(MAIN_STAGE, *operators("Insert", "Write"), *settings("maxRecordsPerFile"))),
    Case("needless-shuffle", ("partitioning.needless-sort",), HEAP, HEAP,
         places=operators("Sort", "Exchange", "InMemory")),
    Case("schema-inferred", ("scan.schema-inferred",), also=("scan.text-format",),
         places=(*operators("Scan"), *DRIVER, {"layer": "sql|stage"})),
    Case("costly-pattern", ("expression.per-row",), places=expressions("sentences")),
    Case("small-heap", ("gc.heap-too-small", "gc.full"),
         {"spark.driver.memory": "490m"}, {"spark.driver.memory": "3g"},
         also=("expression.per-row",),
         places=({"layer": "jvm"}, *settings("memory", "heap", "Xmx"))),
    Case("spilling", ("spill.sort-and-aggregate",),
         {"spark.sql.windowExec.buffer.in.memory.threshold": "400",
          "spark.sql.windowExec.buffer.spill.threshold": "400"},
         places=(MAIN_STAGE, *operators("Window"), *settings("windowExec"))),
    Case("driver-loop", ("driver.many-small-jobs",), places=(
        *DRIVER, *operators("MicroBatchScan", "Scan"), *settings("maxFilesPerTrigger"),
    )),
    Case("collected", ("driver.collect", "driver.gap"), HEAP, HEAP, places=DRIVER),
    Case("python-row", PYTHON_CODES, places=(*expressions("of_form"), *PYTHON)),
    Case("not-cached", ("recompute.subtree",), also=("expression.per-row",), places=(
        *operators("Aggregate", "Exchange", "Project", "Scan"),
        {"source": r".*_causes\.py.*"},
    )),
    Case("json-again", ("expression.json-parsed-again",), also=("expression.per-row",),
         places=(*expressions("json_?tuple"), *operators("Generate"))),
    Case("pruning-defeated", ("scan.partition-pruning-defeated",),
         places=(*operators("Scan"), *expressions("week"))),
    Case("cached-once", ("cache.used-once",), HEAP, HEAP, places=(
        *operators("InMemory"), {"source": r".*_causes\.py.*"},
    )),
    Case("exploding-join", ("join.explodes",), places=operators("Join")),
)  # fmt: skip
