"""What the iterative workloads share: their variants, their points, how input is stored.

MLlib's classes are called in the JVM itself: ``pyspark.ml`` does the same, but needs NumPy in the
Python of the driver, where the observed Spark may have none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyrometer.workload.contract import Prepared, Progress, Variant, WorkloadSpec

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache

FEATURES = Variant(
    levels={"20": "as here by default"},
    default="20",
    doc="Numbers that describe a point.",
    integer=True,
)
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
PARTITIONS = Variant(
    levels={"8": "as here by default"},
    default="8",
    doc="Least number of partitions that the edges are read into.",
    integer=True,
)
LEVELS = {
    "none": "NONE",
    "memory": "MEMORY_ONLY",
    "memory_and_disk": "MEMORY_AND_DISK",
    "memory_ser": "MEMORY_ONLY_SER",
}
"""Names of the levels in ``org.apache.spark.storage.StorageLevel``."""
TABLE = "points"


def iterations_variant(default: int) -> Variant:
    """Say how many iterations an algorithm makes at most."""
    return Variant(
        levels={str(default): "as here by default"},
        default=str(default),
        doc="Iterations of the algorithm: of its loop over the data, inside one iteration here.",
        integer=True,
    )


def features_of(spec: WorkloadSpec) -> int:
    """Give how many numbers describe a point."""
    return int(spec.levels["workload.features"])


def iterations_of(spec: WorkloadSpec) -> int:
    """Give the iterations of the algorithm."""
    return int(spec.levels["workload.iterations"])


def partitions_of(spec: WorkloadSpec) -> int:
    """Give the least number of partitions."""
    return int(spec.levels["workload.partitions"])


def bytes_of_points(spec: WorkloadSpec) -> int:
    """Room for the points: random numbers do not compress."""
    return spec.size * (features_of(spec) * 9 + 16) + 1_000_000


def prepare_points(kind: str, spec: WorkloadSpec, cache: DataCache, progress: Progress) -> Prepared:
    """Make the points, or find them: variants other than the number of features share them."""
    from pyrometer.workload.data import points

    features = features_of(spec)
    prepared = cache.ensure(
        f"points-{kind}-{spec.size}x{features}",
        points.recipe(kind, spec.size, features),
        lambda folder, tell: points.write_dataset(folder, tell, kind, spec.size, features),
        bytes_needed=bytes_of_points(spec),
        progress=progress,
    )
    return prepared.with_paths(points=TABLE)


def with_answer(prepared: Prepared, answer: Prepared) -> Prepared:
    """Add the facts of a second dataset, which holds nothing but an answer."""
    return replace(
        prepared,
        facts={**prepared.facts, **answer.facts},
        recipe=f"{prepared.recipe}+{answer.recipe}",
    )


SOURCE = (
    "Chiba and Onodera, Workload Characterization and Optimization of TPC-H Queries on Apache "
    "Spark (IBM Research Report RT0968, 2015), names it as an iterative workload beside TPC-H; "
    "size and time are not published"
)

# One task for each file, so that partitions are the same on every machine.
SCAN_CONF = {
    "spark.sql.files.maxPartitionBytes": "32m",
    "spark.sql.files.openCostInBytes": "32m",
}


def vectors(spark: Any, prepared: Prepared) -> Any:
    """Read the points as a DataFrame of ``label`` and ``features``, a vector."""
    from pyspark.sql import DataFrame

    table = spark.read.parquet(prepared.paths[TABLE])._jdf
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
