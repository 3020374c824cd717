"""What is planted in the sky survey's job, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import PYTHON, PYTHON_CODES, expressions, operators, settings
from benchmarks.faults.seventh.places import DRIVER, HOST, JVM, LARGEST

CASES = (
    Case("power", ("expression.boxing", "expression.per-row", "codegen.fallback"),
         places=(*expressions("aggregate", "lambda", "filter", "zip"), *operators("Aggregate"))),
    Case("paths", ("skew.", "straggler.tail", "partitioning.too-few"),
         places=(*LARGEST, *operators("Generate", "Scan", "Aggregate"))),
    Case("intervals", ("spill.",), {"spark.shuffle.spill.numElementsForceSpillThreshold": "5000"},
         places=(*settings("spill"), *operators("Sort", "Window"), *LARGEST)),
    Case("names", ("gc.",),
         {"spark.driver.extraJavaOptions": "-XX:+UseParallelGC -XX:NewSize=6m -XX:MaxNewSize=6m"},
         places=JVM),
    Case("mosaics", ("cache.evicted", "recompute.", "gc."), {"spark.driver.memory": "768m"},
         places=(*settings("memory"), *operators("InMemory", "Scan"), *JVM, *LARGEST)),
    Case("nights", ("gc.explicit", "gc."), {"spark.cleaner.periodicGC.interval": "1s"},
         places=(*JVM, *settings("periodicGC"))),
    Case("colours", ("contended.neighbour", "contended."), places=HOST),
    Case("brightness",
         ("contended.", "throttled.quota", "config.too-many-slots"), places=(*HOST, *JVM)),
    Case("photometry", ("python.worker-start",), {"spark.python.worker.reuse": "false"},
         places=(*settings("worker.reuse"), *PYTHON, *LARGEST),
         also=("python.function", "driver.many-small-jobs")),
    Case("aliases", ("serialisation.closure", "python."), places=(*PYTHON, *LARGEST),
         also=(*PYTHON_CODES, "driver.collect")),
    Case("neighbours", ("join.explodes",), places=operators("Join")),
    Case("spectra", ("codegen.fallback", "codegen."),
         {"spark.sql.codegen.maxFields": "6", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
         places=(*settings("codegen"), *operators("Project", "Aggregate", "Filter"))),
    Case("transits", ("jit.code-cache-full", "jit."),
         {"spark.driver.extraJavaOptions": "-XX:ReservedCodeCacheSize=16m"}, places=JVM),
    Case("recalibrated", ("recompute.", "cache."),
         places=(*operators("Aggregate", "Scan"), *DRIVER)),
    Case("separation", ("expression.per-pair", "join.explodes"),
         places=(*operators("Join"), *expressions("cos", "sin", "radians"))),
    Case("auditors", ("partitioning.one-task", "partitioning.too-few"),
         places=(*LARGEST, *operators("Coalesce", "Write", "Insert"))),
    Case("charts"),
)  # fmt: skip
