"""What is planted in the silos' job, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import PYTHON, PYTHON_CODES, expressions, operators, settings
from benchmarks.faults.seventh.places import DRIVER, JVM, LARGEST, writes

CASES = (
    Case("settlement", ("skew.", "straggler.tail"), places=(*LARGEST, *operators("Exchange"))),
    Case("running-stock", ("partitioning.one-task", "partitioning.too-few"),
         places=(*LARGEST, *operators("Window", "Exchange", "Sort"))),
    Case("disputes", ("join.nested-loop",), places=operators("NestedLoop", "Cartesian")),
    Case("letters", ("driver.many-small-jobs", "driver."), places=DRIVER),
    Case("statements", ("partitioning.too-many", "config.adaptive-off"),
         {"spark.sql.shuffle.partitions": "300", "spark.sql.adaptive.enabled": "false"},
         places=(*settings("shuffle.partitions", "adaptive"), *operators("Exchange"), *LARGEST)),
    Case("bindings", ("join.broadcast-too-large",),
         places=operators("BroadcastExchange", "BroadcastHashJoin")),
    Case("diversity", ("join.distinct-blow-up",), places=operators("Expand", "Aggregate")),
    Case("season", ("scan.partition-pruning-defeated", "scan.pushdown-defeated"),
         places=operators("Scan", "Filter")),
    Case("handover", ("scan.small-files-written", "driver.commit"),
         places=writes(operators("Write", "Insert"))),
    Case("carriers", ("codec.compression", "shuffle.write-slow"),
         {"spark.io.compression.codec": "zstd", "spark.io.compression.zstd.level": "12"},
         places=(*settings("compression"), *operators("Exchange"), *LARGEST)),
    Case("slips", ("jit.",), {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"},
         places=JVM),
    Case("surcharges", ("driver.planning", "driver."), places=DRIVER),
    Case("dry-weight", PYTHON_CODES, places=(*PYTHON, *expressions("paid"))),
    Case("price-list"),
    Case("river-loads"),
)  # fmt: skip
