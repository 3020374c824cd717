"""Conditions of the memory that the machine, or a container, grants."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import settings
from benchmarks.faults.seventh.places import HOST

CLUSTER = "local-cluster[2,1,1536]"
ALL = {"spark.scheduler.minRegisteredResourcesRatio": "1.0"}
"""Tasks wait for both executors."""
SMALL_CONTAINER = {**ALL, "spark.executor.memory": "600m", "spark.executor.memoryOverhead": "200m"}
LARGE_CONTAINER = {**SMALL_CONTAINER, "spark.executor.memoryOverhead": "1000m"}
SMALL_HEAP = {**ALL, "spark.executor.memory": "700m"}
LARGE_HEAP = {**ALL, "spark.executor.memory": "1500m"}
WRITER = {"spark.driver.memory": "700m"}
SHELF = {
    "spark.driver.memory": "600m",
    "spark.memory.offHeap.enabled": "true",
    "spark.memory.offHeap.size": "512m",
    "spark.rdd.compress": "false",
}
MEMORY = settings("memory")

CASES = (
    Case("killed", ("heap.container-limit",), SMALL_CONTAINER, LARGE_CONTAINER, MEMORY, CLUSTER),
    Case("just-fits", on=SMALL_CONTAINER, off=LARGE_CONTAINER, master=CLUSTER),
    Case("heap-full", ("retries.out-of-memory",), SMALL_HEAP, LARGE_HEAP, MEMORY, CLUSTER),
    Case("does-without", on=SMALL_HEAP, off=LARGE_HEAP, master=CLUSTER),
    Case("dirty-pages", ("heap.reclaim",), WRITER, WRITER, HOST,
         treatment_on={"cgroup.memory": "1500m"}),
    Case("clean-pages", on=WRITER, off=WRITER, treatment_on={"cgroup.memory": "1500m"}),
    Case("swapped", ("heap.swap",), SHELF, SHELF, HOST,
         treatment_on={"cgroup.memory": "1200m", "cgroup.swap": "2g"}),
    Case("could-swap", on=SHELF, off=SHELF,
         treatment_on={"cgroup.memory": "2500m", "cgroup.swap": "2g"}),
)  # fmt: skip
