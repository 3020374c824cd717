"""What is planted in the library's job, and where."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.places import PYTHON, PYTHON_CODES, expressions, operators, settings
from benchmarks.faults.seventh.places import DRIVER, JVM, LARGEST

TEXT = ("scan.text-format", "codec.decompression")
CASES = (
    Case("cards", ("expression.json-parsed-again", "expression.per-row"),
         places=(*expressions("json"), *operators("Project", "Aggregate"))),
    Case("feed", ("scan.schema-inferred",), places=(*operators("Scan"), *DRIVER, *LARGEST),
         also=("scan.text-format",)),
    Case("returns", ("scan.not-splittable", "partitioning.one-task"),
         places=(*operators("Scan"), *LARGEST), also=TEXT),
    Case("kiosks", ("scan.small-files-read",), places=(*operators("Scan"), *LARGEST)),
    Case("vault", ("driver.listing", "scan.small-files-read", "partitioning.too-many"),
         places=(*operators("Scan"), *DRIVER, *LARGEST)),
    Case("check-digits", PYTHON_CODES, places=(*PYTHON, *expressions("digit")),
         also=("python.function", "python.instead-of-builtin")),
    Case("volumes", ("expression.per-row",), places=expressions("regexp", "abstract")),
    Case("halls", ("codegen.method-too-large", "jit.interpreted", "expression.per-row"),
         places=(*operators("Project", "Aggregate"), *expressions("case"))),
    Case("shelf-list", ("cache.used-once",), places=operators("InMemory")),
    Case("overdue", ("driver.collect",), places=(*DRIVER, *operators("Collect"))),
    Case("exports", ("driver.gap", "driver."), places=DRIVER),
    Case("scanned-pages", ("retries.failed-tasks",), places=(*PYTHON, *LARGEST),
         master="local[2,4]", also=("python.function", "python.instead-of-builtin")),
    Case("mailings", ("scan.columns-unused", "shuffle.heavy"),
         {"spark.sql.optimizer.excludedRules":
          "org.apache.spark.sql.catalyst.optimizer.ColumnPruning"},
         places=(*operators("Scan", "Exchange", "Join"), *settings("excludedRules"))),
    Case("readers", ("gc.",), {"spark.driver.memory": "704m"}, places=JVM),
    Case("gate-log", ("codec.decompression",), places=(*operators("Scan"), *LARGEST), also=TEXT),
    Case("staging", ("partitioning.needless-sort",), places=operators("Sort", "Exchange")),
    Case("yearbook", ("scan.text-format",), places=operators("Scan")),
    Case("notices", ("partitioning.too-many",),
         {"spark.sql.files.maxPartitionBytes": "32k", "spark.sql.files.openCostInBytes": "0"},
         places=(*settings("maxPartitionBytes", "openCost"), *operators("Scan"), *LARGEST)),
    Case("reshelved", ("partitioning.needless-repartition", "shuffle.heavy"),
         places=operators("Exchange")),
    Case("opening-hours"),
)  # fmt: skip
