"""``logistic-regression``: two classes of points told apart, with MLlib."""

from __future__ import annotations

from typing import Any

from pyrometer.workload.compare import unequal_rows
from pyrometer.workload.contract import IterationResult, Mismatch, Prepared, WorkloadSpec
from pyrometer.workload.learning import number
from pyrometer.workload.linear import LinearClassifier


def tolerance(iterations: int) -> float:
    """How far a coefficient may be from that of greatest likelihood, in units of the largest.

    L-BFGS halves the distance in every iteration, and does better from the fifth on: measured on
    these data, 0.5, 0.07 and 7e-5 are left after 2, 5 and 10 iterations.
    """
    return max(1e-6, 4 * 0.5**iterations)


class LogisticRegression(LinearClassifier):
    """Logistic regression without regularisation, by L-BFGS."""

    name = "logistic-regression"
    summary = "Tell two classes of points apart with MLlib's logistic regression"
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
        """Make MLlib's ``LogisticRegression`` of its DataFrame API."""
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
