"""What is planted in the job of auctions, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import PYTHON, expressions, operators, settings
from benchmarks.faults.seventh.places import DRIVER, HOST, JVM, LARGEST

NUMPY = ("python.function", "python.instead-of-builtin")
USUAL = {"spark.sql.shuffle.partitions": "200"}
COLLECTOR = "-XX:+UseParallelGC"
CASES = (
    Case("devices", ("scan.columns-unused", "shuffle.heavy"),
         {"spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
          "spark.sql.optimizer.expression.nestedPruning.enabled": "false"},
         places=(*operators("Scan", "Exchange", "Join"), *settings("nested.*Pruning"))),
    Case("attribution", ("shuffle.heavy", "join.order"),
         places=operators("Generate", "Exchange", "Join")),
    Case("bidders", ("join.broadcast-missed",), places=operators("Join", "Exchange")),
    Case("floors", ("expression.per-row", "expression.decimal"),
         places=(*expressions("decimal", "fee"), *operators("Project", "Aggregate"))),
    Case("pacing", ("driver.gap",), places=DRIVER, also=("driver.many-small-jobs",)),
    Case("creatives", ("python.function", "python."),
         {"spark.sql.execution.arrow.maxRecordsPerBatch": "100"},
         places=(*settings("maxRecordsPerBatch"), *PYTHON, *LARGEST), also=NUMPY),
    Case("models", ("python.function", "python.worker-start"),
         places=(*PYTHON, *expressions("likely"), *LARGEST), also=NUMPY),
    Case("holdout", ("recompute.", "cache."), places=(*operators("Aggregate", "Scan"), *DRIVER)),
    Case("publishers", ("contended.jvm-threads-from-host", "gc."),
         {"spark.driver.memory": "1g",
          "spark.driver.extraJavaOptions": f"{COLLECTOR} -XX:ParallelGCThreads=64"},
         {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": COLLECTOR},
         places=(*JVM, *HOST)),
    Case("frequency", ("gc.explicit", "gc."), places=(*JVM, *DRIVER),
         also=("driver.many-small-jobs",)),
    Case("latency", ("skew.", "straggler.tail"),
         places=(*LARGEST, *operators("Exchange", "Generate", "Aggregate"))),
    Case("ledgers", ("shuffle.write-slow", "disk."),
         {"spark.shuffle.sync": "true", **USUAL}, USUAL,
         places=(*settings("shuffle.sync"), *operators("Exchange"), *LARGEST)),
    Case("shares"),
    Case("reach"),
)  # fmt: skip
