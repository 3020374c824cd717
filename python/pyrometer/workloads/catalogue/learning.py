"""Base of the iterative workloads: variants, points, storage of the input.

MLlib's classes are called in the JVM itself: ``pyspark.ml`` does the same, but needs NumPy in the
Python of the driver, where the observed Spark may have none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

from pyrometer.workloads.contract import ROOM, Dataset, GeneratedWorkload
from pyrometer.workloads.values import Prepared, Variant, WorkloadSpec

STORAGE = Variant(
    levels={
        "none": "not stored: MLlib keeps what it derives from the input by its own rule",
        "memory": "StorageLevel.MEMORY_ONLY (deserialised)",
        "memory_and_disk": "StorageLevel.MEMORY_AND_DISK (deserialised)",
        "memory_ser": "StorageLevel.MEMORY_ONLY_SER (serialised)",
    },
    default="memory",
    doc="Storage level of the input, a DataFrame: Spark stores batches of its columns.",
)
LEVELS = {
    "none": "NONE",
    "memory": "MEMORY_ONLY",
    "memory_and_disk": "MEMORY_AND_DISK",
    "memory_ser": "MEMORY_ONLY_SER",
}
"""Names of the levels in ``org.apache.spark.storage.StorageLevel``."""

SOURCE = (
    "Chiba and Onodera, Workload Characterization and Optimization of TPC-H Queries on Apache "
    "Spark (IBM Research Report RT0968, 2015), names it as an iterative workload beside TPC-H; "
    "size and time are not published"
)


def integer(default: int, doc: str) -> Variant:
    """Describe a variant that is any positive integer."""
    return Variant({str(default): "as here by default"}, str(default), doc, integer=True)


def iterations_variant(default: int) -> Variant:
    """Say how many iterations an algorithm makes at most."""
    return integer(
        default,
        "Iterations of the algorithm: of its loop over the data, inside one iteration here.",
    )


PARTITIONS = integer(4, "Least number of partitions that the edges are read into.")


def number(spec: WorkloadSpec, name: str) -> int:
    """Level of ``workload.<name>``, an integer."""
    return int(spec.levels[f"workload.{name}"])


class PointsWorkload(GeneratedWorkload):
    """A workload that learns from points.

    Attributes
    ----------
    kind : str
        Which points: a name in `pyrometer.workloads.data.points.BLOCKS`.
    """

    kind: ClassVar[str]
    tables: ClassVar = {"points": "points"}
    source = SOURCE
    variants: ClassVar = {
        "workload.features": integer(20, "Numbers that describe a point."),
        "workload.iterations": iterations_variant(10),
        "workload.storage": STORAGE,
    }
    scales: ClassVar = {"test": 20_000, "default": 1_500_000, "seed": 100_000_000}
    scale_unit = "points"

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Room for the points: random numbers do not compress."""
        return spec.size * (number(spec, "features") * 9 + 16) + ROOM

    def dataset(self, spec: WorkloadSpec) -> Dataset:
        """Points: variants other than the number of features share them."""
        from pyrometer.workloads.data import points

        features = number(spec, "features")
        return Dataset(
            f"points-{self.kind}-{spec.size}x{features}",
            points.recipe(self.kind, spec.size, features),
            lambda folder, report: points.write_dataset(
                folder, report, self.kind, spec.size, features
            ),
        )

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """One task for each file, so that partitions are the same on every machine."""
        return {
            "spark.sql.files.maxPartitionBytes": "32m",
            "spark.sql.files.openCostInBytes": "32m",
        }


def vectors(spark: Any, prepared: Prepared) -> Any:
    """Read the points as a DataFrame of ``label`` and ``features``, a vector."""
    from pyspark.sql import DataFrame

    table = spark.read.parquet(prepared.spark_path("points"))._jdf
    vector = spark._jvm.org.apache.spark.ml.functions.array_to_vector(table.col("features"))
    return DataFrame(table.withColumn("features", vector), spark)


def storage_level(spark: Any, spec: WorkloadSpec) -> Any:
    """Give Spark's own object for the level of ``workload.storage``."""
    name = LEVELS[spec.levels["workload.storage"]]
    return spark._jvm.org.apache.spark.storage.StorageLevel.fromString(name)


@contextlib.contextmanager
def stored(spark: Any, frame: Any, spec: WorkloadSpec) -> Iterator[Any]:
    """Store a DataFrame at the level asked for while it is in use."""
    if spec.levels["workload.storage"] == "none":
        yield frame
        return
    frame._jdf.persist(storage_level(spark, spec))
    try:
        yield frame
    finally:
        frame._jdf.unpersist(True)
