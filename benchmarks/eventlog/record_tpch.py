"""Record a plan-heavy event log: the 22 TPC-H queries, each adaptive re-plan in full.

Usage: python benchmarks/eventlog/record_tpch.py OUT_DIR [--scale 0.05] [--passes 1]

Tables and query texts come from DuckDB's extension; the log is Spark's own, uncompressed.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

import duckdb
import duckdb_extension_tpch

TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]


def generate(directory: Path, scale: float) -> list[str]:
    """Write the eight tables as Parquet and return the query texts in order."""
    extension = next(Path(duckdb_extension_tpch.__file__).parent.rglob("tpch.duckdb_extension"))
    with duckdb.connect() as db:
        db.execute(f"LOAD '{extension}'")
        db.execute(f"CALL dbgen(sf={scale})")
        for table in TABLES:
            db.execute(f"COPY {table} TO '{directory / table}.parquet' (FORMAT parquet)")
        return [
            q
            for (q,) in db.execute("SELECT query FROM tpch_queries() ORDER BY query_nr").fetchall()
        ]


def main() -> int:
    """Generate, run, print the path of the log."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--passes", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as tmp:
        queries = generate(Path(tmp), args.scale)
        spark = (
            SparkSession.builder.master("local[2]")
            .appName("tpch")
            .config("spark.ui.enabled", "false")
            .config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.dir", args.out.resolve().as_uri())
            .config("spark.eventLog.rolling.enabled", "false")
            .config("spark.eventLog.compress", "false")
            .getOrCreate()
        )
        for table in TABLES:
            spark.read.parquet(f"{tmp}/{table}.parquet").createOrReplaceTempView(table)
        for _ in range(args.passes):
            for number, query in enumerate(queries, 1):
                try:
                    spark.sql(query.strip().rstrip(";")).collect()
                except PySparkException as error:
                    print(f"query {number} left out: {str(error).splitlines()[0]}", file=sys.stderr)
        spark.stop()
    with contextlib.suppress(StopIteration):
        print(max(args.out.glob("local-*"), key=lambda p: p.stat().st_mtime))
    return 0


if __name__ == "__main__":
    sys.exit(main())
