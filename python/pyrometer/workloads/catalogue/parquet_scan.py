"""``parquet-scan``: read every value of a Parquet table and keep none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.workloads.contract import Workload
from pyrometer.workloads.results import checksum
from pyrometer.workloads.spark import scanned_rows
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Progress,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


# A conversion and a coalesce stand between the column and the literal. So the filter cannot
# become a Parquet predicate (which would skip row groups by their statistics), implies no
# "is not null" that could, and cannot be folded by the literal being out of the column's range.
# Prices are never negative.
_QUERY = "select * from {table} where coalesce(cast({price} as double), 0D) = -1D"
_PRICE = {"web_sales": "ws_sales_price", "lineitem": "l_extendedprice"}

_ROW_BYTES = {"snappy": 60, "none": 62, "zstd": 52, "gzip": 52, "lz4": 60}
# The generator's file is kept until the table is rewritten.
_LINEITEM_ROW_BYTES = 160
_LINEITEM_ROWS_A_THOUSANDTH = 6_000


def query(table: str) -> str:
    """Write the SQL that reads all of `table`."""
    return _QUERY.format(table=table, price=_PRICE[table])


def _layout(spec: WorkloadSpec) -> tuple[str, int | None]:
    """Give what the data's name ends in, and the rows of a row group where a file has several."""
    from pyrometer.workloads.data.files import SMALL_GROUP_ROWS

    if spec.levels["data.layout"] == "large-groups":
        return "", None
    return "-small-groups", SMALL_GROUP_ROWS


class ParquetScan(Workload):
    """Full scan of one table through a filter that no row meets."""

    name = "parquet-scan"
    summary = "Read a whole Parquet table through a filter that no row meets"
    description = (
        "TPC-DS web_sales (34 columns) is read in full: the filter asks for a price of -1, cannot "
        "be folded away and cannot be pushed into the reader, so every value of every column is "
        "read from disk, decompressed and decoded, and nothing is returned. TPC-H lineitem "
        "(16 columns, a third of them text) is the other table."
    )
    source = (
        "Performance Analysis of a CPU-Intensive Workload in Apache Spark (2017), labs 1 and 2: "
        "1 079 971 165 rows, 68 GB, 465 s from disk and 317 s from the page cache on one core"
    )
    expectation = (
        "Bound by CPU: nearly all time of a task is on CPU, in decoding and decompression, and "
        "the whole process uses more CPU than the tasks. No shuffle, one stage. Second and later "
        "iterations read from the page cache."
    )
    variants: ClassVar = {
        "data.codec": Variant(
            levels={
                "snappy": "Spark's default",
                "none": "uncompressed",
                "zstd": "smaller, level 3",
                "gzip": "smaller, slow to decompress, level 6",
                "lz4": "Parquet's LZ4_RAW",
            },
            default="snappy",
            doc="Compression codec of the Parquet files; rows and files are the same in all.",
        ),
        "data.layout": Variant(
            levels={
                "large-groups": "a row group a file, as Spark writes it",
                "small-groups": "row groups of 20 000 rows: more headers, dictionaries and reads",
            },
            default="large-groups",
            doc="Arrangement of rows in the files; rows, values and number of files are the same.",
        ),
        "data.table": Variant(
            levels={
                "web_sales": "TPC-DS web_sales: 34 columns, nearly all integers and decimals",
                "lineitem": "TPC-H lineitem: 16 columns, text among them",
            },
            default="web_sales",
            doc="Table that is read; lineitem has about the rows asked for, as orders have lines.",
        ),
    }
    scales: ClassVar = {"test": 300_000, "default": 40_000_000, "seed": 1_079_971_165}
    scale_unit = "rows of web_sales, about as many of lineitem"
    needs = Needs(python=("duckdb", "duckdb_extension_tpcds", "pyarrow", "numpy"))

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Bytes of the table and of the base that it is built from."""
        if spec.levels["data.table"] == "lineitem":
            return spec.size * _LINEITEM_ROW_BYTES + 1_000_000
        return spec.size * _ROW_BYTES[spec.levels["data.codec"]] + 100_000_000

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Build the table of this size and codec, or find it."""
        make = {"web_sales": self._web_sales, "lineitem": self._lineitem}
        return make[spec.levels["data.table"]](spec, cache, progress)

    def _lineitem(self, spec: WorkloadSpec, cache: DataCache, progress: Progress) -> Prepared:
        from pyrometer.workloads.data import tpch

        codec, tables = spec.levels["data.codec"], ("lineitem",)
        size = max(1, round(spec.size / _LINEITEM_ROWS_A_THOUSANDTH))

        layout, group_rows = _layout(spec)

        def build(folder: Any, report: Progress) -> dict[str, Any]:
            facts = tpch.write_tables(folder, report, size, codec, tables, group_rows)
            return {"rows": facts["rows"]["lineitem"]}

        prepared = cache.ensure(
            f"lineitem-{size}-{codec}{layout}",
            tpch.recipe(size, codec, tables, group_rows),
            build,
            bytes_needed=self.bytes_needed(spec),
            progress=progress,
        )
        return prepared.with_paths(lineitem="lineitem")

    def _web_sales(self, spec: WorkloadSpec, cache: DataCache, progress: Progress) -> Prepared:
        # The base is generated with DuckDB, once for all sizes and codecs.
        from pyrometer.workloads.data import web_sales

        codec = spec.levels["data.codec"]
        factor = web_sales.scale_factor_of(spec.size)
        layout, group_rows = _layout(spec)

        def build_table(folder: Any, report: Progress) -> dict[str, Any]:
            base = cache.ensure(
                f"web_sales-base-sf{factor:g}",
                web_sales.base_recipe(factor),
                lambda target, report: web_sales.write_base(target, report, factor),
                bytes_needed=100_000_000,
                progress=report,
            )
            return web_sales.write_table(folder, report, base, spec.size, codec, group_rows)

        prepared = cache.ensure(
            f"web_sales-{spec.size}-{codec}{layout}",
            web_sales.recipe(spec.size, codec, group_rows),
            build_table,
            bytes_needed=self.bytes_needed(spec),
            progress=progress,
        )
        return prepared.with_paths(web_sales=web_sales.TABLE)

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Keep row groups from being skipped and partition values from being guessed as dates."""
        return {
            "spark.sql.parquet.filterPushdown": "false",
            "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        }

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """List the files and read the schema once, outside of the iterations."""
        table = spec.levels["data.table"]
        spark.read.parquet(prepared.spark_path(table)).createOrReplaceTempView(table)

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Collect the empty result; also say how many rows the scan produced."""
        frame = spark.sql(query(spec.levels["data.table"]))
        rows = frame.collect()
        return IterationResult(
            rows=len(rows),
            checksum=checksum(rows),
            counters={"scanned_rows_count": scanned_rows(frame)},
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """No row comes back, and the scan has read them all."""
        if result.rows != 0:
            return Mismatch("rows that pass the filter", "0", str(result.rows))
        scanned = result.counters["scanned_rows_count"]
        if scanned != prepared.facts["rows"]:
            return Mismatch("rows that the scan read", str(prepared.facts["rows"]), str(scanned))
        return None
