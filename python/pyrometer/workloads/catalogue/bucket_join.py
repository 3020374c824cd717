"""``bucket-join``: join a table with itself on few keys and a condition on the rest."""

from __future__ import annotations

from typing import Any, ClassVar

from pyrometer.workloads.contract import Dataset, GeneratedWorkload
from pyrometer.workloads.results import checksum, unequal
from pyrometer.workloads.spark import executed_plan
from pyrometer.workloads.values import IterationResult, Mismatch, Prepared, Variant, WorkloadSpec

QUERY = (
    "select a.bucket, sum(a.val2) tot from t1 a, t1 b "
    "where a.bucket=b.bucket and a.val1+b.val1<1000 group by a.bucket order by a.bucket"
)

# Whole-stage code generation, and the generated projections, predicates and orderings.
_CODEGEN = {
    "whole": ("true", "FALLBACK"),
    "off": ("false", "FALLBACK"),
    "none": ("false", "NO_CODEGEN"),
}


class BucketJoin(GeneratedWorkload):
    """Self join of random rows by bucket, with an inequality between the rows of a bucket."""

    name = "bucket-join"
    summary = "Join a table with itself by bucket and an inequality, and add up per bucket"
    description = (
        "A table of random integers in 200 buckets, cached in memory, is joined with itself: "
        "every row meets every row of its bucket, half of the pairs fulfil "
        "a.val1+b.val1<1000, and val2 is added up per bucket. Reading and shuffling are nothing "
        "beside the pairs, whose number grows with the square of the rows."
    )
    source = (
        "Apache Spark 2.0 Performance Improvements Investigated With Flame Graphs (2016): "
        "10 million rows, 16 cores (32 threads): 100 minutes (2 840 of CPU) with Spark 1.6, "
        "15 minutes (390 of CPU) with Spark 2.0, about 7 times faster by whole-stage code "
        "generation"
    )
    expectation = (
        "SortMergeJoin at every scale, bound by CPU. With codegen=whole nearly all samples are in "
        "one generated loop; with off and none they are in iterators between operators, and in "
        "interpreted expressions."
    )
    variants: ClassVar = {
        "workload.codegen": Variant(
            levels={
                "whole": "whole-stage code generation, Spark's default",
                "off": "operators iterate; single expressions are still compiled",
                "none": "operators iterate and expressions are interpreted",
            },
            default="whole",
            doc="How much of the query is compiled.",
        )
    }
    scales: ClassVar = {"test": 20_000, "default": 300_000, "seed": 10_000_000}
    scale_unit = "rows"
    tables: ClassVar = {"t1": "t1"}

    def dataset(self, spec: WorkloadSpec) -> Dataset:
        """Build the table; all variants share it."""
        from pyrometer.workloads.data import buckets

        return Dataset(
            f"buckets-{spec.size}",
            buckets.recipe(spec.size),
            lambda folder, report: buckets.write_dataset(folder, report, spec.size),
        )

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Pin the sort-merge join (a small table would be broadcast) and decide what is compiled.

        Adaptive execution is off, as it was when this was published: it would make one task of a
        shuffle that is small in bytes. A task for each thread of the published machine.
        """
        whole, factory = _CODEGEN[spec.levels["workload.codegen"]]
        return {
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.join.preferSortMergeJoin": "true",
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.shuffle.partitions": "32",
            "spark.sql.codegen.wholeStage": whole,
            "spark.sql.codegen.factoryMode": factory,
        }

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Cache the table in memory, and fill the cache."""
        frame = spark.read.parquet(prepared.spark_path("t1")).cache()
        frame.createOrReplaceTempView("t1")
        frame.count()

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Join, and collect a row for each bucket."""
        frame = spark.sql(QUERY)
        rows = frame.collect()
        joins = executed_plan(frame).count("SortMergeJoin ")
        return IterationResult(
            rows=len(rows),
            checksum=checksum(rows),
            counters={"sort_merge_joins_count": joins},
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare with the sums that follow from how the data was drawn, and look at the plan."""
        totals = prepared.facts["totals"]
        joins = result.counters["sort_merge_joins_count"]
        return (
            unequal("buckets", len(totals), result.rows)
            or unequal("checksum of (bucket, tot)", checksum(totals), result.checksum)
            or unequal("sort-merge joins in the executed plan", 1, joins)
        )
