"""``tpcds``: the 99 queries of TPC-DS."""

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


class Tpcds(suite.Suite):
    """The decision-support queries of TPC-DS on Parquet files."""

    name = "tpcds"
    summary = "The 99 decision-support queries of TPC-DS on Parquet files"
    description = (
        "Twenty-four tables of a retailer with shops, catalogue and web, and 99 queries: star "
        "joins, windows, rollups, set operations. Each query's result is compared with DuckDB's "
        "on the same files. Data and queries are those of TPC-DS; it is no audited result."
    )
    source = "TPC Benchmark DS, standard specification: queries with validation parameters"
    expectation = (
        "Many short stages: at small scales planning and scheduling take much of the time."
    )
    variants: ClassVar = suite.variants(99)
    scales: ClassVar = {"test": 10, "default": 1_000, "seed": 100_000}
    scale_unit = "thousandths of TPC-DS's scale factor"
    needs = Needs(python=("duckdb", "duckdb_extension_tpcds", "pyarrow"))
    tables = (
        "call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer",
        "customer_address", "customer_demographics", "date_dim", "household_demographics",
        "income_band", "inventory", "item", "promotion", "reason", "ship_mode", "store",
        "store_returns", "store_sales", "time_dim", "warehouse", "web_page", "web_returns",
        "web_sales", "web_site",
    )  # fmt: skip

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Tables, and the generator's while they are split; 100 MB do not depend on the scale."""
        return spec.size * 1_200_000 + 100_000_000

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Let a quotient by zero be null, as in DuckDB: Spark 4 makes an error of it."""
        return {"spark.sql.ansi.enabled": "false"}

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Make the tables, then the answers by DuckDB."""
        from pyrometer.workload.data import queries, tpcds

        codec = spec.levels["data.codec"]

        def build(folder: Any, tell: Progress) -> dict[str, Any]:
            facts = tpcds.write_tables(folder, tell, spec.size, codec)
            queries.write_answers(folder, tell, self.name, self.tables)
            return facts

        prepared = cache.ensure(
            f"tpcds-{spec.size}-{codec}",
            {**tpcds.recipe(spec.size, codec), **queries.recipe()},
            build,
            bytes_needed=self.bytes_needed(spec),
            progress=progress,
        )
        return prepared.with_paths(**{table: table for table in self.tables})
