"""``kmeans``: clusters of points by Lloyd's algorithm, with MLlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.workload.checksum import checksum
from pyrometer.workload.compare import differences
from pyrometer.workload.contract import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Progress,
    Variant,
    Workload,
    WorkloadSpec,
    no_progress,
)
from pyrometer.workload.jars import java_class, workloads_jar
from pyrometer.workload.learning import (
    FEATURES,
    SCAN_CONF,
    SOURCE,
    STORAGE,
    bytes_of_points,
    features_of,
    iterations_of,
    iterations_variant,
    prepare_points,
    storage_level,
    vectors,
    with_answer,
)

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache

RELATIVE = 1e-7
"""Sums of up to 10⁸ numbers in any order agree to about 1e-12; a wrong assignment of one point
moves a centre by more than 1e-9 of the spread. What is between is left to a rare tie."""
DIGITS = 4
"""Decimals of a coordinate that enter the checksum."""


class KMeans(Workload):
    """K-means from given centres, so that every iteration and the result are known."""

    name = "kmeans"
    summary = "Find ten clusters of points with MLlib's k-means"
    description = (
        "Points of ten overlapping clusters are assigned to the nearest of ten centres, which "
        "move to the means of what they got, again and again; the first ten points are the "
        "centres to start from. Drawing the centres at random, as the DataFrame API does, would "
        "leave the number of iterations and the result to chance, so MLlib's RDD API runs."
    )
    source = SOURCE
    expectation = (
        "One read of the input, then one short stage pair for each of workload.iterations: bound "
        "by CPU (distances) while the stored points fit in memory; with storage=none MLlib "
        "stores what it derives, with memory_ser each pass also pays for deserialising."
    )
    variants: ClassVar = {
        "workload.features": FEATURES,
        "workload.iterations": iterations_variant(10),
        "workload.storage": Variant(
            levels=STORAGE.levels,
            default=STORAGE.default,
            doc="Storage level of the input, an RDD of vectors.",
        ),
    }
    scales: ClassVar = {"test": 20_000, "default": 1_000_000, "seed": 100_000_000}
    scale_unit = "points"
    needs = Needs(python=("pyarrow", "numpy"), jars=(workloads_jar(),))

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Room for the points."""
        return bytes_of_points(spec)

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Make the points, and run the same algorithm on them with NumPy."""
        from pyrometer.workload.data import point_answers, points

        found = prepare_points("clusters", spec, cache, progress)
        iterations = iterations_of(spec)
        answer = cache.ensure(
            f"kmeans-answer-{spec.size}x{features_of(spec)}-{iterations}",
            {**points.recipe("kmeans-answer", spec.size, features_of(spec)), "times": iterations},
            lambda folder, tell: point_answers.lloyd(found.paths["points"], tell, iterations),
            bytes_needed=1_000_000,
            progress=progress,
        )
        return with_answer(found, answer)

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """One task for each file."""
        return dict(SCAN_CONF)

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Read, store and cluster; a row of the answer is a centre."""
        program = java_class(spark, "org.pyrometer.workloads.ml.KMeansFrom")
        features = features_of(spec)
        numbers = list(
            program.run(
                vectors(spark, prepared).select("features")._jdf.javaRDD(),
                prepared.facts["initial"],
                iterations_of(spec),
                storage_level(spark, spec),
            )
        )
        *coordinates, cost, took = numbers
        centres = [
            tuple(coordinates[i : i + features]) for i in range(0, len(coordinates), features)
        ]
        return IterationResult(
            rows=len(centres),
            checksum=checksum([[round(x, DIGITS) for x in centre] for centre in centres]),
            counters={"lloyd_iterations_count": int(took)},
            answer=[*centres, (cost,)],
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare centres and cost with what NumPy found from the same centres."""
        facts = prepared.facts
        if result.rows != len(facts["centres"]):
            return Mismatch("centres", str(len(facts["centres"])), str(result.rows))
        took = result.counters["lloyd_iterations_count"]
        if took != facts["iterations"]:
            return Mismatch("iterations of the algorithm", str(facts["iterations"]), str(took))
        return differences(
            [*facts["centres"], (facts["cost"],)],
            result.answer,
            ordered=True,
            relative=RELATIVE,
            absolute=RELATIVE,
        )
