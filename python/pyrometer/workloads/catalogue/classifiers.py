"""``svm``: two classes of points, separated by a support vector machine, with MLlib.

Base of the two linear classifiers: data, training by MLlib, verification.

``logistic-regression``: two classes of points, separated by a logistic regression, with MLlib.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.core.errors import UsageError
from pyrometer.workloads.catalogue.learning import PointsWorkload, number, stored, vectors
from pyrometer.workloads.contract import Dataset
from pyrometer.workloads.results import checksum, unequal, unequal_rows
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    Prepared,
    Progress,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache

POINTS_OF_A_FEATURE = 250
"""With fewer points for each, a plane may separate the classes, and then none is the likeliest; or
what is learned fits these points better than the drawn plane does, by more than `verify` allows."""


class LinearClassifier(PointsWorkload):
    """Train a plane between two classes of points, then say the class of every point.

    Attributes
    ----------
    digits : int
        Decimals of a coefficient that enter the checksum: as many as the order of additions,
        which the optimiser magnifies, leaves the same.
    """

    kind = "halfspace"
    least_scale = 10_000
    digits: ClassVar[int]

    @abc.abstractmethod
    def estimator(self, spark: Any, spec: WorkloadSpec) -> Any:
        """Build MLlib's estimator."""

    def least_size(self, levels: Mapping[str, str]) -> int:
        """Count the points that a plane of so many features takes."""
        default = self.variants["workload.features"].default
        features = int(levels.get("workload.features", default))
        return max(self.least_scale, POINTS_OF_A_FEATURE * features)

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Build or find the points, and the planes.

        Raises
        ------
        UsageError
            If points are too few for their features.
        """
        least = self.least_size(spec.levels)
        if spec.size < least:
            raise UsageError(
                f"{spec.name}: {spec.size} points are too few to learn a plane of"
                f" {number(spec, 'features')} features from",
                f"use --scale {least} or more, or fewer workload.features",
            )
        return super().prepare(spec, cache, progress)

    def answer(self, spec: WorkloadSpec, prepared: Prepared) -> Dataset:
        """Find the planes that the points were drawn with, and that fits them best."""
        from pyrometer.workloads.data import points
        from pyrometer.workloads.data import points as point_answers

        features = number(spec, "features")
        return Dataset(
            f"plane-answer-{spec.size}x{features}",
            points.recipe("plane-answer", spec.size, features),
            lambda folder, report: point_answers.plane(prepared.paths["points"], report),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Read, store, train, and classify; the answer is coefficients and intercept."""
        from pyspark.sql import DataFrame

        with stored(spark, vectors(spark, prepared), spec) as frame:
            learner = self.estimator(spark, spec).setMaxIter(number(spec, "iterations")).setTol(0.0)
            model = learner.fit(frame._jdf)
            guessed = DataFrame(model.transform(frame._jdf), spark)
            counts = guessed.groupBy("label", "prediction").count().collect()
        plane = [*model.coefficients().toArray(), model.intercept()]
        return IterationResult(
            rows=sum(row["count"] for row in counts),
            checksum=checksum([[round(x, self.digits) for x in plane]]),
            counters={
                "correct_count": sum(
                    row["count"] for row in counts if row["label"] == row["prediction"]
                )
            },
            answer=[plane],
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Every point has a class, and almost as many the right one as by the drawn plane."""
        correct, known = result.counters["correct_count"], prepared.facts["correct"]
        room = max(10, known // 200)
        if abs(correct - known) > room:
            return Mismatch("points classified rightly", f"{known} ± {room}", str(correct))
        return unequal("points classified", prepared.facts["points"], result.rows)


COSINE = 0.98
"""Least cosine between the normals of the plane found and of the likeliest one: the hinge loss has
kinks, where OWL-QN stops short of the least loss, by how much depends on the order of additions."""


class Svm(LinearClassifier):
    """Linear support vector machine, by OWL-QN on the hinge loss."""

    name = "svm"
    summary = "Classify points into two classes with MLlib's linear support vector machine"
    description = (
        "The points of logistic-regression, with the hinge loss and a little regularisation "
        "(0.01). OWL-QN looks for the least loss, a pass over the input for each evaluation; then "
        "the model says the class of every point."
    )
    expectation = (
        "A job for each evaluation of the loss: more of them than workload.iterations, since line "
        "searches on a loss with kinks take several. Bound by CPU while what MLlib keeps of the "
        "input fits in memory."
    )
    digits = 2

    def estimator(self, spark: Any, spec: WorkloadSpec) -> Any:
        """Build MLlib's ``LinearSVC`` of its DataFrame API."""
        return spark._jvm.org.apache.spark.ml.classification.LinearSVC().setRegParam(0.01)

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare with the drawn plane's accuracy, and the direction with the likeliest one."""
        wrong = super().verify(result, prepared, spec)
        if wrong:
            return wrong
        known, got = prepared.facts["coefficients"], result.answer[0][:-1]
        cosine = math.fsum(map(float.__mul__, known, got)) / (math.hypot(*known) * math.hypot(*got))
        if not cosine >= COSINE:
            return Mismatch("cosine with the likeliest plane", f">= {COSINE}", f"{cosine:.4f}")
        return None


def tolerance(iterations: int) -> float:
    """How far a coefficient may be from that of greatest likelihood, in units of the largest.

    L-BFGS halves the distance in every iteration, and does better from the fifth on: measured on
    these data, 0.5, 0.07 and 7e-5 are left after 2, 5 and 10 iterations.
    """
    return max(1e-6, 4 * 0.5**iterations)


class LogisticRegression(LinearClassifier):
    """Logistic regression without regularisation, by L-BFGS."""

    name = "logistic-regression"
    summary = "Classify points into two classes with MLlib's logistic regression"
    description = (
        "Points on both sides of a plane, some on the wrong side, so that a likeliest plane "
        "exists without regularisation. L-BFGS looks for it, a pass over the input for each "
        "evaluation of the loss; then the model says the class of every point."
    )
    expectation = (
        "A job for each evaluation of the loss, at least workload.iterations of them, all reading "
        "blocks of 1 MB that MLlib keeps: bound by CPU in BLAS while these fit in memory. The "
        "first job reads the input and is the longest."
    )
    digits = 4

    def estimator(self, spark: Any, spec: WorkloadSpec) -> Any:
        """Build MLlib's ``LogisticRegression`` of its DataFrame API."""
        return spark._jvm.org.apache.spark.ml.classification.LogisticRegression().setRegParam(0.0)

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare with the drawn plane's accuracy, and coefficients with Newton's."""
        facts = prepared.facts
        wrong = super().verify(result, prepared, spec)
        known = [*facts["coefficients"], facts["intercept"]]
        room = tolerance(number(spec, "iterations")) * max(map(abs, known))
        return wrong or unequal_rows(
            {"coefficients and intercept": known}, result.answer, relative=0.0, absolute=room
        )
