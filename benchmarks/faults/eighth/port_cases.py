"""What is planted in the port's job, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import expressions, operators, settings
from benchmarks.faults.seventh.places import DRIVER, HOST, JVM, LARGEST, writes

CASES = (
    Case("call-days", ("scan.partition-pruning-defeated",), places=operators("Scan", "Join")),
    Case("manifest", ("join.order",), places=operators("Join", "Exchange")),
    Case("gate-list", ("driver.planning", "driver.gap", "driver."), places=DRIVER),
    Case("demurrage", ("driver.planning", "expression.per-row", "codegen."),
         places=(*operators("Project", "Aggregate"), *expressions("case"), *DRIVER)),
    Case("hinterland", ("join.broadcast-too-large",),
         {"spark.sql.autoBroadcastJoinThreshold": "1g"},
         places=(*operators("Broadcast"), *settings("autoBroadcastJoinThreshold"))),
    Case("lanes", ("scan.small-files-written", "driver.commit"),
         places=writes(operators("Write", "Insert", "Create"))),
    Case("lashing", ("partitioning.too-few", "partitioning.one-task", "config.too-many-slots"),
         {"spark.task.cpus": "2"}, places=(*settings("task.cpus"), *LARGEST)),
    Case("cranes", ("partitioning.too-few", "straggler.tail"),
         places=(*LARGEST, *operators("Exchange", "Repartition"))),
    Case("tariffs", ("jit.",), {"spark.driver.extraJavaOptions": "-XX:-TieredCompilation"},
         places=JVM),
    Case("draughts", ("throttled.quota", "contended."), places=HOST),
    Case("customs", ("driver.collect", "driver.gap"), places=DRIVER),
    Case("seals", ("udf.instead-of-builtin", "expression.per-row", "codegen.fallback"),
         places=(*expressions("java_?method", "reflect"), *operators("Project", "Aggregate"))),
    Case("quarter"),
    Case("berthing"),
)  # fmt: skip
