"""What the two linear classifiers share: data, training by MLlib, and what must come out."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.workload.checksum import checksum
from pyrometer.workload.contract import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Progress,
    Workload,
    WorkloadSpec,
    no_progress,
)
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
    stored,
    vectors,
    with_answer,
)

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache


class LinearClassifier(Workload):
    """Train a plane between two classes of points, then say the class of every point.

    Attributes
    ----------
    digits : int
        Decimals of a coefficient that enter the checksum: as many as the order of additions,
        which the optimiser magnifies, leaves the same.
    """

    source = SOURCE
    variants: ClassVar = {
        "workload.features": FEATURES,
        "workload.iterations": iterations_variant(10),
        "workload.storage": STORAGE,
    }
    scales: ClassVar = {"test": 20_000, "default": 1_000_000, "seed": 100_000_000}
    scale_unit = "points"
    needs = Needs(python=("pyarrow", "numpy"))
    digits: ClassVar[int]

    @abc.abstractmethod
    def estimator(self, spark: Any, spec: WorkloadSpec) -> Any:
        """Make MLlib's object that learns."""

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Room for the points."""
        return bytes_of_points(spec)

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Make the points, and find the planes that they were drawn and are fitted with."""
        from pyrometer.workload.data import point_answers, points

        found = prepare_points("halfspace", spec, cache, progress)
        answer = cache.ensure(
            f"plane-answer-{spec.size}x{features_of(spec)}",
            points.recipe("plane-answer", spec.size, features_of(spec)),
            lambda folder, tell: point_answers.plane(found.paths["points"], tell, spec.size),
            bytes_needed=1_000_000,
            progress=progress,
        )
        return with_answer(found, answer)

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """One task for each file."""
        return dict(SCAN_CONF)

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Read, store, train, and classify; the answer is coefficients and intercept."""
        from pyspark.sql import DataFrame

        with stored(spark, vectors(spark, prepared), spec) as frame:
            learner = self.estimator(spark, spec).setMaxIter(iterations_of(spec)).setTol(0.0)
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
        if result.rows != prepared.facts["points"]:
            return Mismatch("points classified", str(prepared.facts["points"]), str(result.rows))
        correct, known = result.counters["correct_count"], prepared.facts["correct"]
        room = max(10, known // 200)
        if abs(correct - known) > room:
            return Mismatch("points classified rightly", f"{known} ± {room}", str(correct))
        return None
