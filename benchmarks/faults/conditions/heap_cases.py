"""Conditions of the heap: which settings plant them, and which findings name them."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import settings
from benchmarks.faults.seventh.places import JVM

MEMORY, OPTIONS = "spark.driver.memory", "spark.driver.extraJavaOptions"
SMALL_REGIONS = {MEMORY: "512m", OPTIONS: "-XX:+UseG1GC -XX:G1HeapRegionSize=1m"}
LARGE_REGIONS = {MEMORY: "512m", OPTIONS: "-XX:+UseG1GC -XX:G1HeapRegionSize=16m"}
SMALL_YOUNG, USUAL_YOUNG = {MEMORY: "2g", OPTIONS: "-Xmn12m"}, {MEMORY: "2g"}
SERIAL = {MEMORY: "1g", OPTIONS: "-XX:+UseSerialGC -Xmn400m"}
ROOMY = {MEMORY: "3g"}
SHELF = {
    "spark.executor.metrics.pollingInterval": "500ms",
    "spark.rdd.compress": "false",
    "spark.sql.inMemoryColumnarStorage.batchSize": "2000",
}
"""What is cached is as large as its rows, and seen within a run that a heartbeat would miss."""
OFF_HEAP = {MEMORY: "1g", "spark.memory.offHeap.enabled": "true"}

CASES = (
    Case("large-arrays", ("gc.humongous",), SMALL_REGIONS, LARGE_REGIONS, places=JVM),
    Case("few-arrays", on=SMALL_REGIONS, off=LARGE_REGIONS),
    Case("small-young", ("gc.young-too-small",), SMALL_YOUNG, USUAL_YOUNG,
         places=(*JVM, *settings("jvm.young"))),
    Case("little-garbage", on=SMALL_YOUNG, off=USUAL_YOUNG),
    Case("object-per-row", ("gc.allocation-site",), SERIAL, SERIAL,
         places=({"source": r"shop\..*"},)),
    Case("objects-in-room", on=ROOMY, off=ROOMY),
    Case("large-heap", ("heap.oversized",), {MEMORY: "8g", **SHELF}, {MEMORY: "1300m", **SHELF},
         places=settings("memory")),
    Case("large-off-heap", ("heap.off-heap",),
         {**OFF_HEAP, **SHELF, "spark.memory.offHeap.size": "4g"},
         {**OFF_HEAP, **SHELF, "spark.memory.offHeap.size": "512m"}, places=settings("offHeap")),
    Case("off-heap-unseen",
         on={**OFF_HEAP, "spark.memory.offHeap.size": "512m"},
         off={**OFF_HEAP, "spark.memory.offHeap.size": "500m"}),
)  # fmt: skip
