"""``tpch``: the 22 queries of TPC-H.

``tpcds``: the 99 queries of TPC-DS.
"""

from __future__ import annotations

from typing import ClassVar

from pyrometer.workloads import suite
from pyrometer.workloads.values import Needs, WorkloadSpec


class Tpch(suite.Suite):
    """The decision-support queries of TPC-H on Parquet files."""

    name = "tpch"
    summary = "The 22 decision-support queries of TPC-H on Parquet files"
    description = (
        "Eight tables of a wholesale business and 22 queries: scans of lineitem, joins of up to "
        "eight tables, aggregates, semi and anti joins. Each query's result is compared with "
        "DuckDB's on the same files. A power run takes them in order, a throughput run has "
        "several streams at once. Data and queries are those of TPC-H; it is not an audited result."
    )
    source = "TPC Benchmark H, standard specification 3.0.1: queries with validation parameters"
    expectation = (
        "Bound by CPU from the page cache. q01 is aggregation, q06 a scan, q09, q18 and q21 "
        "take longest: joins and shuffles of lineitem."
    )
    variants: ClassVar = suite.variants(22)
    scales: ClassVar = {"test": 10, "default": 1_000, "seed": 100_000}
    scale_unit = "thousandths of TPC-H's scale factor"
    scale_factor = 1000
    needs = Needs(python=("duckdb", "duckdb_extension_tpch", "pyarrow"))
    tables = (
        "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
    )  # fmt: skip
    bytes_a_unit = 1_100_000
    bytes_fixed = 20_000_000

    def generator(self) -> suite.Tables:
        """Import the generator."""
        from pyrometer.workloads.data import tpch

        return tpch


MUCH = 500
"""From this size on tables that are broadcast need more heap than the default."""


class Tpcds(suite.Suite):
    """The decision-support queries of TPC-DS on Parquet files."""

    name = "tpcds"
    summary = "The 99 decision-support queries of TPC-DS on Parquet files"
    description = (
        "Twenty-four tables of a retailer with shops, catalogue and web, and 99 queries: star "
        "joins, windows, rollups, set operations. Each query's result is compared with DuckDB's "
        "on the same files. Data and queries are those of TPC-DS; it is not an audited result."
    )
    source = "TPC Benchmark DS, standard specification: queries with validation parameters"
    expectation = (
        "Many short stages: at small scales planning and scheduling take much of the time. At "
        "scale test 31 answers are empty or null, which says little about a result."
    )
    variants: ClassVar = suite.variants(99)
    scales: ClassVar = {"test": 10, "default": 1_000, "seed": 100_000}
    scale_unit = "thousandths of TPC-DS's scale factor"
    scale_factor = 1000
    # Below, DuckDB's generator does not end.
    least_scale = 10
    needs = Needs(python=("duckdb", "duckdb_extension_tpcds", "pyarrow"))
    tables = (
        "call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer",
        "customer_address", "customer_demographics", "date_dim", "household_demographics",
        "income_band", "inventory", "item", "promotion", "reason", "ship_mode", "store",
        "store_returns", "store_sales", "time_dim", "warehouse", "web_page", "web_returns",
        "web_sales", "web_site",
    )  # fmt: skip
    bytes_a_unit = 1_200_000
    bytes_fixed = 100_000_000

    def generator(self) -> suite.Tables:
        """Import the generator."""
        from pyrometer.workloads.data import tpcds

        return tpcds

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Let a quotient by zero be null, as in DuckDB (Spark 4 makes an error of it).

        Some queries broadcast whole tables: at scale factor 1 that takes more than the 2 GiB of
        heap that other workloads have; of 4 GiB up to 3.8 were used, and one run failed.
        """
        heap = {"spark.driver.memory": "6g"} if spec.size >= MUCH else {}
        return {"spark.sql.ansi.enabled": "false", **heap}
