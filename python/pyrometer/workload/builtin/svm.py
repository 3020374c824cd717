"""``svm``: two classes of points told apart by a support vector machine, with MLlib."""

from __future__ import annotations

import math
from typing import Any

from pyrometer.workload.contract import IterationResult, Mismatch, Prepared, WorkloadSpec
from pyrometer.workload.linear import LinearClassifier

COSINE = 0.98
"""Least cosine between the normals of the plane found and of the likeliest one: the hinge loss has
kinks, where OWL-QN stops short of the least loss, by how much depends on the order of additions."""


class Svm(LinearClassifier):
    """Linear support vector machine, by OWL-QN on the hinge loss."""

    name = "svm"
    summary = "Tell two classes of points apart with MLlib's linear support vector machine"
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
        """Make MLlib's ``LinearSVC`` of its DataFrame API."""
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
