"""``svdpp``: factors of users and items from ratings, with GraphX's SVD++."""

from __future__ import annotations

from typing import Any, ClassVar

from pyrometer.workloads.catalogue.learning import PARTITIONS, SOURCE, iterations_variant, number
from pyrometer.workloads.contract import NEEDS_JVM, Dataset, GeneratedWorkload
from pyrometer.workloads.results import checksum, unequal, unequal_rows
from pyrometer.workloads.spark import java_class
from pyrometer.workloads.values import IterationResult, Mismatch, Prepared, WorkloadSpec

CONF: dict[str, Any] = {"rank": 10, "rate": 0.003, "regularisation": [0.005, 0.015], "seed": 20081}
"""Learning rate below GraphX's example (0.007), with which these data diverge."""
NUMBERS = (
    "mean rating",
    "squared error on the ratings",
    "squares of the biases of users",
    "squares of the biases of items",
    "squares of the factors of users",
    "squares of the factors of items",
)
RELATIVE = 1e-6
"""Each iteration magnifies what the order of additions changes, about tenfold."""


class SvdPlusPlus(GeneratedWorkload):
    """SVD++ in a fixed number of iterations."""

    name = "svdpp"
    summary = "Learn factors of users and items from ratings with GraphX's SVD++"
    description = (
        "Users and items are vertices, ratings are edges. In every iteration each rating sends "
        "vectors to both of its ends, where they are added up: first what the items say of a "
        "user, then the corrections of both. All begin with the same factors, drawn with a fixed "
        "seed. Before Spark 4.3 GraphX drops most corrections of the implicit factors "
        "(SPARK-58177): the work is the same, but of the result only the mean can be verified."
    )
    source = SOURCE
    expectation = (
        "Several jobs in every iteration, each with a shuffle of vectors. Many short-lived "
        "arrays: high allocation, much garbage collection when the heap is small; GraphX stores "
        "the graph again in every phase."
    )
    variants: ClassVar = {
        "workload.iterations": iterations_variant(5),
        "workload.partitions": PARTITIONS,
    }
    scales: ClassVar = {"test": 20_000, "default": 1_000_000, "seed": 100_000_000}
    scale_unit = "ratings"
    tables: ClassVar = {"ratings": "ratings"}
    needs = NEEDS_JVM

    def dataset(self, spec: WorkloadSpec) -> Dataset:
        """Ratings, a line each; all variants share them."""
        from pyrometer.workloads.data import ratings

        return Dataset(
            f"ratings-{spec.size}",
            ratings.recipe(spec.size),
            lambda folder, report: ratings.write_dataset(folder, report, spec.size),
        )

    def answer(self, spec: WorkloadSpec, prepared: Prepared) -> Dataset:
        """Train with NumPy."""
        from pyrometer.workloads.data import ratings
        from pyrometer.workloads.data import ratings as factors

        iterations = number(spec, "iterations")
        return Dataset(
            f"svdpp-answer-{spec.size}-{iterations}",
            {**ratings.recipe(spec.size), "iterations": iterations, **CONF},
            lambda folder, report: factors.svd(report, spec.size, iterations, CONF),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Load the ratings and train; `rows` are users and items."""
        program = java_class(spark, "org.pyrometer.workloads.graph.Ratings")
        vertices, *numbers = program.run(
            spark.sparkContext._jsc,
            prepared.spark_path("ratings"),
            number(spec, "partitions"),
            number(spec, "iterations"),
            CONF["rank"],
            CONF["rate"],
            *CONF["regularisation"],
            CONF["seed"],
        )
        corrections = int(program.addsCorrections())
        # Without them only the mean does not depend on the order in which messages arrive.
        sure = numbers if corrections else numbers[:1]
        return IterationResult(
            rows=int(vertices),
            checksum=checksum([[f"{value:.4g}" for value in sure]]),
            counters={"corrections_added": corrections},
            answer=[(value,) for value in numbers],
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare mean, error on the ratings and size of the factors with NumPy's.

        Where GraphX drops corrections, all but the mean depend on the order in which messages
        arrive, so they cannot be verified.
        """
        facts = prepared.facts
        numbers = [facts["mean"], facts["squared_error"], *facts["squares"]]
        known = {name: (value,) for name, value in zip(NUMBERS, numbers, strict=True)}
        answer = result.answer
        if not result.counters["corrections_added"]:
            known, answer = {NUMBERS[0]: known[NUMBERS[0]]}, answer[:1]
        return unequal("users and items", facts["vertices"], result.rows) or unequal_rows(
            known, answer, relative=RELATIVE
        )
