"""What is planted in the job of one process, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import operators, settings
from benchmarks.faults.seventh.places import DRIVER, HOST, LARGEST

CROWD, FEW = {"layout.tasks": "8"}, {"layout.tasks": "2"}
SMALL_HEAP = {"spark.driver.memory": "1g", "spark.memory.fraction": "0.3"}
LITTLE = {
    "spark.driver.memory": "600m",
    "spark.driver.extraJavaOptions": "-Xms600m -XX:+AlwaysPreTouch",
}
FAR = {"spark.sql.sources.ignoreDataLocality": "true"}
"""The store has no hosts near which tasks could run."""
LOOPS = ("expression.boxing", "codegen.fallback", "expression.per-row")
STORED = {"cgroup.read_bps": str(250 << 20)}
CASES = (
    Case("bakery", ("contended.more-tasks-than-cpus",), places=settings("layout.tasks"),
         also=("skew.time", "skew.rows", "straggler.tail", "partitioning.too-few"),
         treatment_on=CROWD, treatment_off=FEW),
    Case("rolls", treatment_on=CROWD, treatment_off=FEW),
    Case("cellar", ("contended.more-tasks-than-cpus",), SMALL_HEAP, SMALL_HEAP,
         places=settings("layout.tasks"),
         also=("spill.sort-and-aggregate", "gc.heap-too-small", "gc.young-too-small",
               "shuffle.heavy"),
         treatment_on=CROWD, treatment_off=FEW),
    Case("archive", ("disk.slow",), places=HOST,
         treatment_on={"cgroup.read_bps": str(12 << 20)}),
    Case("drawers"),
    Case("atlas", ("disk.page-cache-lost",), LITTLE, LITTLE, places=HOST,
         also=("disk.slow", "heap.reclaim"),
         treatment_on={**STORED, "cgroup.memory": "1400m"}, treatment_off=STORED),
    Case("minutes", ("disk.write-back-stall",), places=HOST, also=("disk.slow",)),
    Case("post", ("scan.remote-storage-latency",), FAR, FAR,
         places=(*operators("Scan"), {"layer": "data"})),
    Case("kiosk", (), FAR, FAR),
    Case("ticker", ("contended.driver",), places=(*HOST, *DRIVER)),
    Case("clock"),
    Case("soil", ("skew.time",), places=(*LARGEST, {"layer": "data"}), also=LOOPS),
    Case("plots", (), {"spark.sql.files.minPartitionNum": "64"},
         {"spark.sql.files.minPartitionNum": "64"}, also=LOOPS),
    Case("orders", ("expression.explode-regrouped",),
         places=(*operators("Generate"), {"layer": "sql"})),
    Case("shelves"),
)  # fmt: skip
