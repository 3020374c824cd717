"""``tpch``: the 22 queries of TPC-H."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.workload import suite
from pyrometer.workload.contract import (
    Needs,
    Prepared,
    Progress,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache


class Tpch(suite.Suite):
    """The decision-support queries of TPC-H on Parquet files."""

    name = "tpch"
    summary = "The 22 decision-support queries of TPC-H on Parquet files"
    description = (
        "Eight tables of a wholesale business and 22 queries: scans of lineitem, joins of up to "
        "eight tables, aggregates, semi and anti joins. Each query's result is compared with "
        "DuckDB's on the same files. A power run takes them in order, a throughput run has "
        "several streams at once. Data and queries are those of TPC-H; it is no audited result."
    )
    source = "TPC Benchmark H, standard specification 3.0.1: queries with validation parameters"
    expectation = (
        "Bound by CPU from the page cache. q01 is aggregation, q06 a scan, q09, q18 and q21 "
        "take longest: joins and shuffles of lineitem."
    )
    variants: ClassVar = suite.variants(22)
    scales: ClassVar = {"test": 10, "default": 1_000, "seed": 100_000}
    scale_unit = "thousandths of TPC-H's scale factor"
    needs = Needs(python=("duckdb", "duckdb_extension_tpch", "pyarrow"))
    tables = (
        "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
    )  # fmt: skip

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Table files, and the generator's while they are split."""
        from pyrometer.workload.data import tpch

        return spec.size * tpch.BYTES_A_UNIT // 1_000 + 20_000_000

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Make the tables, then the answers by DuckDB."""
        from pyrometer.workload.data import queries, tpch

        codec = spec.levels["data.codec"]

        def build(folder: Any, tell: Progress) -> dict[str, Any]:
            facts = tpch.write_tables(folder, tell, spec.size, codec)
            queries.write_answers(folder, tell, self.name, self.tables)
            return facts

        prepared = cache.ensure(
            f"tpch-{spec.size}-{codec}",
            {**tpch.recipe(spec.size, codec), **queries.recipe()},
            build,
            bytes_needed=self.bytes_needed(spec),
            progress=progress,
        )
        return prepared.with_paths(**{table: table for table in self.tables})
