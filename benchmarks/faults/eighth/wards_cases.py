"""What is planted in the hospital's job, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import PYTHON, PYTHON_CODES, expressions, operators, settings
from benchmarks.faults.seventh.places import DRIVER, HOST, JVM, LARGEST

COLLECTOR = "-XX:+UseParallelGC"
STEPS = "-XX:MinMetaspaceFreeRatio=1 -XX:MaxMetaspaceFreeRatio=2 -XX:MinMetaspaceExpansion=2m"
CASES = (
    Case("codes", ("join.nested-loop",), places=operators("NestedLoop", "Cartesian")),
    Case("referrals", ("expression.per-row",),
         places=(*expressions("xpath"), *operators("Project", "Aggregate"))),
    Case("pseudonyms", ("codec.encryption", "expression.per-row"),
         places=(*expressions("aes", "encrypt"), *operators("Project", "Aggregate"))),
    Case("charts", ("scan.pushdown-defeated",),
         places=(*operators("Scan", "Filter"), *expressions("date_?format"))),
    Case("letters", ("scan.columns-unused",), places=(*operators("Scan"), *LARGEST),
         also=PYTHON_CODES),
    Case("rounds", ("serialisation.java", "recompute.", "cache.used-once"),
         places=(*DRIVER, *operators("Scan", "Join", "Aggregate"), *LARGEST)),
    Case("beds", ("partitioning.one-task", "partitioning.too-few"),
         places=(*LARGEST, *operators("Window", "Exchange", "Sort"))),
    Case("dosing", ("lock.contended", "straggler.waits"), places=(*PYTHON, *LARGEST),
         also=PYTHON_CODES),
    Case("alarms", ("contended.neighbour", "contended."), places=(*HOST, *DRIVER)),
    Case("transfers", ("driver.planning", "driver.listing", "partitioning.too-many"),
         places=(*DRIVER, *operators("Scan", "Union"), *LARGEST),
         also=("scan.small-files-read",)),
    Case("admissions", ("gc.metadata-threshold",),
         {"spark.driver.extraJavaOptions": f"{COLLECTOR} {STEPS}"},
         {"spark.driver.extraJavaOptions": COLLECTOR}, places=JVM),
    Case("census", ("cache.evicted", "recompute."), {"spark.memory.fraction": "0.03"},
         places=(*settings("memory"), *operators("InMemory", "Scan"), *LARGEST)),
    Case("discharges"),
    Case("handbook"),
)  # fmt: skip
