"""``kmeans``: clusters of points by Lloyd's algorithm, with MLlib."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from pyrometer.workloads.catalogue.learning import (
    STORAGE,
    PointsWorkload,
    number,
    storage_level,
    vectors,
)
from pyrometer.workloads.contract import NEEDS_JVM, Dataset
from pyrometer.workloads.results import checksum, unequal, unequal_rows
from pyrometer.workloads.spark import java_class
from pyrometer.workloads.values import IterationResult, Mismatch, Prepared, WorkloadSpec

RELATIVE = 1e-7
"""Sums of up to 10⁸ numbers in any order agree to about 1e-12; a wrong assignment of one point
moves a centre by more than 1e-9 of the spread. What is between is left to a rare tie."""
DIGITS = 4
"""Decimals of a coordinate that enter the checksum."""


class KMeans(PointsWorkload):
    """K-means from given centres, so that every iteration and the result are known."""

    name = "kmeans"
    summary = "Find ten clusters of points with MLlib's k-means"
    description = (
        "Points of ten overlapping clusters are assigned to the nearest of ten centres, which "
        "move to the means of what they got, again and again; the first ten points are the "
        "centres to start from. Drawing the centres at random, as the DataFrame API does, would "
        "leave the number of iterations and the result to chance, so MLlib's RDD API runs."
    )
    expectation = (
        "One read of the input, then one short stage pair for each of workload.iterations: bound "
        "by CPU (distances) while the stored points fit in memory; with storage=none MLlib "
        "stores what it derives, with memory_ser each pass also pays for deserialising."
    )
    kind = "clusters"
    variants: ClassVar = {
        **PointsWorkload.variants,
        "workload.storage": replace(STORAGE, doc="Storage level of the input, an RDD of vectors."),
    }
    needs = NEEDS_JVM

    def answer(self, spec: WorkloadSpec, prepared: Prepared) -> Dataset:
        """Run the same algorithm with NumPy."""
        from pyrometer.workloads.data import points
        from pyrometer.workloads.data import points as point_answers

        features, iterations = number(spec, "features"), number(spec, "iterations")
        return Dataset(
            f"kmeans-answer-{spec.size}x{features}-{iterations}",
            {**points.recipe("kmeans-answer", spec.size, features), "times": iterations},
            lambda folder, report: point_answers.lloyd(
                prepared.paths["points"], report, iterations
            ),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Read, store and cluster; a row of the answer is a centre."""
        program = java_class(spark, "org.pyrometer.workloads.ml.KMeansFrom")
        features = number(spec, "features")
        numbers = list(
            program.run(
                vectors(spark, prepared).select("features")._jdf.javaRDD(),
                prepared.facts["initial"],
                number(spec, "iterations"),
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
        centres = {f"centre {n}": centre for n, centre in enumerate(facts["centres"], 1)}
        took = result.counters["lloyd_iterations_count"]
        return (
            unequal("centres", len(facts["centres"]), result.rows)
            or unequal("iterations of the algorithm", facts["iterations"], took)
            or unequal_rows(
                {**centres, "cost": (facts["cost"],)},
                result.answer,
                relative=RELATIVE,
                absolute=RELATIVE,
            )
        )
