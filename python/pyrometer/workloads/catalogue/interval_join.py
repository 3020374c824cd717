"""``interval-join``: assign events to the interval that contains them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.workloads.contract import Dataset, GeneratedWorkload
from pyrometer.workloads.results import checksum
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    Prepared,
    Progress,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


# The aggregates need all three columns that the original query selects, are exact in any order,
# and the second is another number if events are paired with the wrong interval.
_QUERY = """
select count(*) as matches,
       sum(cast(l.lumi_number as bigint) * e.element_id) as pairing,
       sum(e.value_number) as value
from eventhistory e join luminosity l
  on e.ts between {start} and {end}
"""
_BOUND = {
    "decimal": "cast(l.{column} as timestamp)",
    "timestamp": "l.{column}",
}


def query(variant: str) -> str:
    """Write the SQL of a variant: a conversion stands in the join condition, or none."""
    bound = _BOUND[variant]
    return _QUERY.format(start=bound.format(column="starttime"), end=bound.format(column="endtime"))


class IntervalJoin(GeneratedWorkload):
    """Join of events with the intervals that contain their time."""

    name = "interval-join"
    summary = "Join events to the time interval that contains them"
    description = (
        "Each event of a day is compared with each of a few hundred luminosity blocks: "
        "ts between starttime and endtime. Spark has no equality to hash, so it broadcasts the "
        "intervals and loops over them for every event. With bounds stored as DECIMAL a "
        "conversion to timestamp stands inside that loop."
    )
    source = (
        "Enhancing Apache Spark Performance with Flame Graphs (2023): 75 million events, 2 000 "
        "intervals, 32 cores: 27 minutes with decimal bounds, 23 seconds with timestamps"
    )
    expectation = (
        "BroadcastNestedLoopJoin, bound by CPU. With variant=decimal most samples are in "
        "Cast and decimal arithmetic below the join; variant=timestamp gives the same answer "
        "many times faster."
    )
    variants: ClassVar = {
        "workload.variant": Variant(
            levels={
                "decimal": "bounds are DECIMAL(18,6) seconds: converted for every pair compared",
                "timestamp": "bounds are TIMESTAMP: compared as they are",
            },
            default="decimal",
            doc="Type in which the bounds of the intervals are stored.",
        )
    }
    scales: ClassVar = {"test": 40_000, "default": 400_000, "seed": 75_000_000}
    scale_unit = "events"
    tables: ClassVar = {"eventhistory": "eventhistory"}

    def intervals(self, spec: WorkloadSpec) -> int:
        """Intervals of the day: 100 and 2 000 at the sizes of test and seed, else 300."""
        return {self.scales["test"]: 100, self.scales["seed"]: 2_000}.get(spec.size, 300)

    def dataset(self, spec: WorkloadSpec) -> Dataset:
        """Events and both forms of the intervals: the variants share one dataset."""
        from pyrometer.workloads.data import intervals

        count = self.intervals(spec)
        return Dataset(
            f"intervals-{spec.size}",
            intervals.recipe(spec.size, count),
            lambda folder, report: intervals.write_dataset(folder, report, spec.size, count),
        )

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Make the data, or find them, and choose the form of the intervals."""
        prepared = super().prepare(spec, cache, progress)
        luminosity = f"luminosity_{spec.levels['workload.variant']}"
        return prepared.with_paths(**self.tables, luminosity=luminosity)

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """One task for each file of events: Spark would pack such small files into one."""
        return {
            "spark.sql.files.maxPartitionBytes": "4m",
            "spark.sql.files.openCostInBytes": "4m",
            "spark.sql.session.timeZone": "UTC",
        }

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Register both tables."""
        for table in ("eventhistory", "luminosity"):
            spark.read.parquet(prepared.spark_path(table)).createOrReplaceTempView(table)

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Join, and aggregate what comes out to one row; `rows` counts the join's."""
        rows = spark.sql(query(spec.levels["workload.variant"])).collect()
        return IterationResult(rows=rows[0]["matches"], checksum=checksum(rows))

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare with the answer that follows from how the data was drawn."""
        facts = prepared.facts
        if result.rows != facts["matches"]:
            return Mismatch("matches", str(facts["matches"]), str(result.rows))
        known = checksum([(facts["matches"], facts["pairing"], facts["value"])])
        if result.checksum != known:
            return Mismatch("checksum of (matches, pairing, value)", known, result.checksum)
        return None
