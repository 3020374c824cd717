"""What is planted in the mailings' job, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import expressions, operators, settings
from benchmarks.faults.seventh.places import DRIVER, HOST, LARGEST, writes

CASES = (
    Case("streaks", ("partitioning.one-task", "partitioning.too-few"),
         {"spark.sql.shuffle.partitions": "1"},
         places=(*settings("shuffle.partitions"), *LARGEST, *operators("Window", "Exchange"))),
    Case("loyalty", ("driver.collect",), places=DRIVER),
    Case("figures", ("driver.planning",), places=DRIVER),
    Case("warm-up", ("driver.many-small-jobs",), places=DRIVER),
    Case("archive", ("driver.listing", "driver.commit"), places=DRIVER),
    Case("issues", ("scan.small-files-written",),
         places=writes(operators("Write", "Insert", "Create"))),
    Case("complaints", ("scan.not-splittable",), places=(*operators("Scan"), *LARGEST),
         also=("scan.text-format",)),
    Case("pauses", ("join.nested-loop",), places=operators("NestedLoop", "Cartesian")),
    Case("consents", ("join.broadcast-too-large",),
         {"spark.sql.adaptive.autoBroadcastJoinThreshold": "1g"},
         places=(*operators("Broadcast"), *settings("autoBroadcastJoinThreshold"))),
    Case("habits", ("serialisation.java", "serialisation.closure", "expression.boxing"),
         places=(*expressions("exists", "lambda"), *operators("Project", "Aggregate"))),
    Case("scores", ("throttled.quota",), places=HOST),
    Case("best-hour", ("contended.neighbour",), places=HOST),
    Case("masthead"),
    Case("blocklist"),
)  # fmt: skip
