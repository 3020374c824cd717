"""What is planted in the truck fleet's job, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import expressions, operators
from benchmarks.faults.seventh.places import DRIVER, HOST, LARGEST, writes

CASES = (
    Case("card-payments", ("partitioning.one-task", "partitioning.too-few"),
         places=(*LARGEST, *operators("Scan", "JDBC"))),
    Case("driving-hours", ("driver.collect",), places=(*DRIVER, *operators("Collect"))),
    Case("door-hours", ("driver.planning",), places=DRIVER),
    Case("margins", ("driver.many-small-jobs",), places=DRIVER),
    Case("weighbridge", ("driver.listing", "driver.commit"),
         places=(*DRIVER, *operators("Scan"))),
    Case("tablets", ("scan.small-files-written", "driver.commit"),
         places=writes(operators("Write", "Insert"))),
    Case("tolls", ("scan.not-splittable", "partitioning.one-task"),
         places=(*LARGEST, *operators("Scan"))),
    Case("inspections", ("join.nested-loop",), places=operators("NestedLoop", "Cartesian")),
    Case("open-waybills", ("join.broadcast-too-large",), places=operators("Broadcast")),
    Case("long-legs", ("expression.boxing", "expression.per-row"),
         places=(*expressions("array_?sort", "lambda"), *operators("Project", "Aggregate"))),
    Case("emissions", ("throttled.quota",), places=HOST),
    Case("axle-loads", ("contended.neighbour",), places=HOST),
    Case("permits"),
    Case("mileage"),
)  # fmt: skip
