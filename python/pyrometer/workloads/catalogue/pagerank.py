"""``pagerank``: rank the vertices of a power-law graph, with GraphX."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from pyrometer.workloads.catalogue.learning import (
    PARTITIONS,
    SOURCE,
    STORAGE,
    iterations_variant,
    number,
    storage_level,
)
from pyrometer.workloads.contract import NEEDS_JVM, Dataset, GeneratedWorkload
from pyrometer.workloads.results import checksum, unequal, unequal_rows
from pyrometer.workloads.spark import java_class
from pyrometer.workloads.values import IterationResult, Mismatch, Prepared, WorkloadSpec

TOP = 10
SUMS = ("sum of ranks", "sum of ranks squared", "sum of ranks times (id modulo 1009)")
RELATIVE = 1e-9
"""Ranks are sums of positive numbers, so the order of additions moves them by 1e-12 at most."""


class PageRank(GeneratedWorkload):
    """PageRank in a fixed number of iterations."""

    name = "pagerank"
    summary = "Rank the vertices of a power-law graph with GraphX's PageRank"
    description = (
        "Edges are read from text, each iteration sends along every edge what its source has to "
        "hand on, and adds it up at the targets. Few vertices have very many edges, as in nets "
        "of pages and people."
    )
    source = SOURCE
    expectation = (
        "A first job that reads the edges, then small shuffles (ranks out to the partitions of "
        "the edges, sums back to the vertices) in every iteration, whose lineage grows. Shared "
        "between CPU and garbage collection; memory for edges, vertices and every iteration's "
        "vertices is the first thing to run short."
    )
    variants: ClassVar = {
        "workload.iterations": iterations_variant(10),
        "workload.partitions": PARTITIONS,
        "workload.storage": replace(
            STORAGE,
            levels={level: doc for level, doc in STORAGE.levels.items() if level != "none"},
            doc="Storage level of the graph's edges and vertices; GraphX must store them.",
        ),
    }
    scales: ClassVar = {"test": 50_000, "default": 2_000_000, "seed": 500_000_000}
    scale_unit = "edges"
    tables: ClassVar = {"edges": "edges"}
    needs = NEEDS_JVM

    def dataset(self, spec: WorkloadSpec) -> Dataset:
        """Edges, a line each; all variants share them."""
        from pyrometer.workloads.data import graph

        return Dataset(
            f"graph-{spec.size}",
            graph.recipe(spec.size),
            lambda folder, report: graph.write_dataset(folder, report, spec.size),
        )

    def answer(self, spec: WorkloadSpec, prepared: Prepared) -> Dataset:
        """Rank the vertices with NumPy."""
        from pyrometer.workloads.data import graph

        iterations = number(spec, "iterations")
        return Dataset(
            f"pagerank-answer-{spec.size}-{iterations}",
            {**graph.recipe(spec.size), "iterations": iterations, "top": TOP},
            lambda folder, report: graph.page_rank(report, spec.size, iterations, TOP),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Load the graph and rank it; `rows` are its vertices."""
        program = java_class(spark, "org.pyrometer.workloads.graph.Ranks")
        vertices, *numbers = program.run(
            spark.sparkContext._jsc,
            prepared.spark_path("edges"),
            number(spec, "partitions"),
            number(spec, "iterations"),
            storage_level(spark, spec),
            TOP,
        )
        sums, top = numbers[:3], numbers[3:]
        pairs = [(int(top[i]), top[i + 1]) for i in range(0, len(top), 2)]
        return IterationResult(
            rows=int(vertices),
            checksum=checksum([(vertex, round(rank, 4)) for vertex, rank in pairs]),
            answer=[*((total,) for total in sums), *pairs],
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare the sums over all vertices, and the highest ranks, with NumPy's."""
        facts = prepared.facts
        sums = zip(SUMS, facts["sums"], strict=True)
        places = enumerate(facts["top"], 1)
        known = {name: (total,) for name, total in sums} | {f"place {n}": top for n, top in places}
        return unequal("vertices", facts["vertices"], result.rows) or unequal_rows(
            known, result.answer, relative=RELATIVE
        )
