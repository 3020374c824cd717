"""What the two linear classifiers share: data, training by MLlib, and what must come out."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

from pyrometer.workload.checksum import checksum
from pyrometer.workload.compare import unequal
from pyrometer.workload.contract import IterationResult, Mismatch, Prepared, WorkloadSpec
from pyrometer.workload.generated import Dataset
from pyrometer.workload.learning import PointsWorkload, number, stored, vectors


class LinearClassifier(PointsWorkload):
    """Train a plane between two classes of points, then say the class of every point.

    Attributes
    ----------
    digits : int
        Decimals of a coefficient that enter the checksum: as many as the order of additions,
        which the optimiser magnifies, leaves the same.
    """

    kind = "halfspace"
    digits: ClassVar[int]

    @abc.abstractmethod
    def estimator(self, spark: Any, spec: WorkloadSpec) -> Any:
        """Make MLlib's object that learns."""

    def answer(self, spec: WorkloadSpec, prepared: Prepared) -> Dataset:
        """Find the planes that the points were drawn with, and that fits them best."""
        from pyrometer.workload.data import point_answers, points

        features = number(spec, "features")
        return Dataset(
            f"plane-answer-{spec.size}x{features}",
            points.recipe("plane-answer", spec.size, features),
            lambda folder, tell: point_answers.plane(prepared.paths["points"], tell),
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
