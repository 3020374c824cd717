"""``sort-text``: sort integers that are written as text, by an RDD."""

from __future__ import annotations

from typing import Any, ClassVar

from pyrometer.workloads.contract import NEEDS_JVM, Dataset, GeneratedWorkload
from pyrometer.workloads.results import checksum, unequal
from pyrometer.workloads.spark import java_class
from pyrometer.workloads.values import IterationResult, Mismatch, Prepared, Variant, WorkloadSpec

TAKEN = 10
_CLASS = "org.pyrometer.workloads.text.SortText"


class SortText(GeneratedWorkload):
    """Sort of the words of a text file."""

    name = "sort-text"
    summary = "Sort random integers, as words of a text file, by an RDD"
    description = (
        "textFile(path, partitions).flatMap(split).map((x, 1)).sortByKey().takeOrdered(10): lines "
        "of ten random 64-bit integers are split, sorted as text through a shuffle, and the first "
        "ten taken. The file is read twice, once to draw the bounds of the ranges. Many small "
        "objects live at once, so memory decides."
    )
    source = (
        "Kernel / Apache Spark benchmark with MGLRU (2021): 3·10⁹ integers (57 GB of text), Spark "
        "3.1.2, 32 CPUs, 64 GB: 1 037 s with a 52 GB heap and a task for each CPU, 1 142 s with "
        "two and 1 239 s with three; 1 038, 1 298 and 1 457 s with a heap of 62 GB, which swaps"
    )
    expectation = (
        "Two jobs and a shuffle of everything read; garbage collection weighs more the smaller "
        "the heap. With api=pyspark most time passes in Python workers and on the way to them."
    )
    variants: ClassVar = {
        "workload.api": Variant(
            levels={
                "jvm": "RDD in the JVM, as published",
                "pyspark": "the same RDD in Python",
            },
            default="jvm",
            doc="Language of the functions and of the sort.",
        ),
        "workload.partitions": Variant(
            levels={"32": "as published: one for each CPU there"},
            default="32",
            doc="Partitions of the text file at least, and so of the sort.",
            integer=True,
        ),
    }
    scales: ClassVar = {"test": 100_000, "default": 4_000_000, "seed": 3_000_000_000}
    scale_unit = "integers"
    tables: ClassVar = {"text": "dataset.txt"}
    unit_bytes = 21
    needs = NEEDS_JVM

    def dataset(self, spec: WorkloadSpec) -> Dataset:
        """Write the text; all variants share it."""
        from pyrometer.workloads.data import files

        return Dataset(
            f"integers-text-{spec.size}",
            files.recipe(spec.size),
            lambda folder, report: files.write_dataset(folder, report, spec.size),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Sort, and take the ten smallest; the checksum is of each with its place."""
        path, partitions = prepared.spark_path("text"), int(spec.levels["workload.partitions"])
        context = spark.sparkContext
        if spec.levels["workload.api"] == "jvm":
            words = list(java_class(spark, _CLASS).run(context._jsc, path, partitions, TAKEN))
        else:
            pairs = context.textFile(path, partitions).flatMap(lambda line: line.split(","))
            taken = pairs.map(lambda word: (word, 1)).sortByKey().takeOrdered(TAKEN)
            words = [word for word, _ in taken]
        return IterationResult(rows=len(words), checksum=checksum(enumerate(words)))

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare with the smallest words that were noted when they were written."""
        smallest = prepared.facts["smallest"]
        known = checksum(enumerate(smallest))
        return unequal("words taken", len(smallest), result.rows) or unequal(
            "checksum of (place, word)", known, result.checksum
        )
