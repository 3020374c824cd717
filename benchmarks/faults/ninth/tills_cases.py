"""What is planted in the tills' job, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import expressions, operators
from benchmarks.faults.seventh.places import DRIVER, HOST, LARGEST, writes

CASES = (
    Case("cash-book", ("partitioning.one-task", "partitioning.too-few"),
         places=(*LARGEST, *operators("Scan", "Aggregate"))),
    Case("bonus-tiers", ("driver.collect",), places=DRIVER),
    Case("day-books", ("driver.planning",), places=DRIVER),
    Case("leaflet", ("driver.many-small-jobs",), places=DRIVER),
    Case("counts-in", ("driver.listing", "driver.commit"),
         places=(*DRIVER, *operators("Scan"))),
    Case("journal", ("scan.small-files-written",), places=writes(operators("Write", "Insert"))),
    Case("old-tills", ("scan.not-splittable",), places=(*operators("Scan"), *LARGEST),
         also=("scan.text-format",)),
    Case("vouchers-due", ("join.nested-loop",), places=operators("NestedLoop", "Cartesian")),
    Case("mailshot", ("join.broadcast-too-large",), places=operators("Broadcast")),
    Case("dearest", ("serialisation.java", "serialisation.closure", "expression.boxing"),
         places=(*expressions("array_?sort", "lambda", "best"), *operators("Project", "Generate"))),
    Case("margins", ("throttled.quota",), places=HOST),
    Case("rush-hours", ("contended.neighbour",), places=HOST),
    Case("net-prices"),
    Case("early-birds"),
)  # fmt: skip
