"""``tpch``: the 22 queries of TPC-H."""

from __future__ import annotations

from typing import ClassVar

from pyrometer.workload import suite
from pyrometer.workload.contract import Needs


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
    bytes_a_unit = 1_100_000
    bytes_fixed = 20_000_000

    def generator(self) -> suite.Tables:
        """Import the generator."""
        from pyrometer.workload.data import tpch

        return tpch
