"""What suites of SQL queries have in common: running them in streams, and verifying each."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from pyrometer.errors import UsageError
from pyrometer.workload.checksum import checksum
from pyrometer.workload.compare import differences
from pyrometer.workload.contract import (
    IterationResult,
    Mismatch,
    PartResult,
    Prepared,
    Variant,
    Workload,
    WorkloadSpec,
)

QUERIES_FILE = "queries.json"
RELATIVE, ABSOLUTE = 1e-9, 2e-6
"""Tolerance for numbers that are a float in one engine: Spark keeps six decimals of a quotient."""
MOST_STREAMS = 64
CODECS = {
    "snappy": "Spark's default",
    "none": "uncompressed",
    "zstd": "smaller, level 3",
    "gzip": "smaller, slow to decompress, level 6",
    "lz4": "Parquet's LZ4_RAW",
}


def variants(queries: int) -> dict[str, Variant]:
    """Variants of a suite of `queries` queries."""
    names = {f"q{number:02d}": f"query {number} alone" for number in range(1, queries + 1)}
    return {
        "workload.query": Variant(
            levels={"all": "every query", **names},
            default="all",
            doc="Which query runs, by name (q05) or number (5).",
            integer=True,
        ),
        "workload.mode": Variant(
            levels={
                "power": "one stream, queries in the order of their numbers",
                "throughput": "several streams at once, each in an order of its own",
            },
            default="power",
            doc="Whether queries run one after the other or in concurrent streams.",
        ),
        "workload.streams": Variant(
            levels={"2": "two streams", "4": "four streams"},
            default="2",
            doc="Streams of a throughput run; a power run has one, whatever is said here.",
            integer=True,
        ),
        "data.source": Variant(
            levels={
                "files": "views on the Parquet files",
                "catalog": "external tables of the session's catalog, with statistics",
            },
            default="files",
            doc="How Spark knows the tables.",
        ),
        "data.codec": Variant(
            levels=CODECS, default="snappy", doc="Compression codec of the Parquet files."
        ),
    }


def stream_order(names: Sequence[str], stream: int) -> list[str]:
    """Order in which a stream runs the queries: a permutation that its number decides.

    Examples
    --------
    >>> sorted(stream_order(["q01", "q02", "q03"], 1))
    ['q01', 'q02', 'q03']
    """
    order = list(names)
    random.Random(stream).shuffle(order)  # noqa: S311 - an order, no secret
    return order


def decode(value: Any) -> Any:
    """Read a value of ``queries.json``."""
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return Decimal(text) if kind == "decimal" else date.fromisoformat(text)
    return value


def check_answer(
    name: str, answer: Mapping[str, Any], got: Sequence[Sequence[Any]]
) -> Mismatch | None:
    """Compare a query's result with its answer; what differs is named with the query.

    Rows tied at a LIMIT are accepted in any choice, those above the tie must all be there.
    """
    sure, tied = ([tuple(map(decode, row)) for row in answer[k]] for k in ("rows", "tied"))
    room = answer["count"] - len(sure)
    if tied:

        def chosen(row: tuple[Any, ...]) -> bool:
            return any(
                not differences([row], [g], relative=RELATIVE, absolute=ABSOLUTE) for g in got
            )

        tied = sorted(tied, key=lambda row: not chosen(row))[:room]
    mismatch = differences([*sure, *tied], got, relative=RELATIVE, absolute=ABSOLUTE)
    return mismatch and Mismatch(f"{name}, {mismatch.what}", mismatch.expected, mismatch.got)


class Suite(Workload):
    """A suite of SQL queries on tables of Parquet files, each verified against another engine.

    Attributes
    ----------
    tables : Sequence of str
        Names of the tables, each a folder of the dataset.
    """

    group: ClassVar[str] = "suite"
    tables: ClassVar[Sequence[str]]

    def query_names(self, prepared: Prepared, spec: WorkloadSpec) -> list[str]:
        """Name the queries that this specification runs, in the order of their numbers.

        Raises
        ------
        UsageError
            If the suite has no such query.
        """
        known = list(_queries(prepared))
        wanted = spec.levels["workload.query"]
        if wanted == "all":
            return known
        name = f"q{int(wanted):02d}" if wanted.isdecimal() else wanted
        if name not in known:
            raise UsageError(
                f"{self.name} has no query {wanted}", f"use all or one of {known[0]} … {known[-1]}"
            )
        return [name]

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Register the tables."""
        if spec.levels["data.source"] == "files":
            self._views(spark, prepared)
            return
        # A database of its own: nobody's table of the same name is in the way, or lost.
        database = f"pyrometer_{self.name}"
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {database} LOCATION '{prepared.root}/.catalog'")
        for table in self.tables:
            spark.catalog.dropTempView(table)
            spark.sql(f"DROP TABLE IF EXISTS {database}.{table}")
            path = prepared.paths[table]
            spark.sql(f"CREATE TABLE {database}.{table} USING parquet LOCATION '{path}'")
            spark.sql(f"ANALYZE TABLE {database}.{table} COMPUTE STATISTICS")
        spark.catalog.setCurrentDatabase(database)

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Run the queries, in one stream or several."""
        queries = _queries(prepared)
        names = self.query_names(prepared, spec)
        if spec.levels["workload.mode"] == "power":
            parts = [run_query(spark, name, queries[name]["sql"]) for name in names]
            streams = 1
        else:
            streams = int(spec.levels["workload.streams"])
            parts = self._throughput(spark, prepared, spec, names, streams)
        return IterationResult(
            rows=sum(part.rows for part in parts),
            checksum=checksum((part.name, part.checksum) for part in parts),
            counters={"streams_count": streams, "queries_count": len(parts)},
            parts=parts,
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare every query's result with the answer that DuckDB gave on the same files."""
        queries = _queries(prepared)
        for part in result.parts:
            mismatch = check_answer(part.name, queries[part.name], part.answer)
            if mismatch is not None:
                return mismatch
        streams = result.counters["streams_count"]
        rows = streams * sum(queries[n]["count"] for n in self.query_names(prepared, spec))
        if result.rows != rows:
            return Mismatch("rows of all queries", str(rows), str(result.rows))
        return None

    def _views(self, spark: Any, prepared: Prepared) -> None:
        for table in self.tables:
            spark.read.parquet(prepared.paths[table]).createOrReplaceTempView(table)

    def _throughput(
        self, spark: Any, prepared: Prepared, spec: WorkloadSpec, names: list[str], streams: int
    ) -> list[PartResult]:
        from pyspark import InheritableThread

        if streams > MOST_STREAMS:
            raise UsageError(f"{streams} streams are too many", f"use at most {MOST_STREAMS}")
        queries = _queries(prepared)
        done: list[PartResult] = []
        failed: list[BaseException] = []

        def stream(number: int) -> None:
            try:
                session = spark.newSession()
                if spec.levels["data.source"] == "files":
                    self._views(session, prepared)
                else:
                    session.catalog.setCurrentDatabase(f"pyrometer_{self.name}")
                for key, value in self.spark_conf(spec).items():
                    if session.conf.isModifiable(key):
                        session.conf.set(key, value)
                for name in stream_order(names, number):
                    if failed:
                        return
                    done.append(run_query(session, name, queries[name]["sql"]))
            except BaseException as error:
                failed.append(error)

        # Threads that inherit the local properties: jobs keep the number of their iteration.
        threads = [InheritableThread(target=stream, args=(n,), daemon=True) for n in range(streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return sorted(done, key=lambda part: part.started_mono_ns)


def run_query(spark: Any, name: str, sql: str) -> PartResult:
    """Run one query with its name as the description of its jobs, and collect its result."""
    spark.sparkContext.setJobDescription(name)
    started = time.monotonic_ns()
    try:
        rows = [tuple(row) for row in spark.sql(sql).collect()]
    finally:
        ended = time.monotonic_ns()
        spark.sparkContext.setJobDescription(None)
    # A float's last digits depend on the order of additions: the checksum leaves them out.
    rounded = [[float(f"{v:.6g}") if isinstance(v, float) else v for v in row] for row in rows]
    return PartResult(name, len(rows), checksum(rounded), started, ended, rows)


def _queries(prepared: Prepared) -> dict[str, Any]:
    text = (Path(prepared.root) / QUERIES_FILE).read_text(encoding="utf-8")
    value: dict[str, Any] = json.loads(text)
    return dict(sorted(value.items()))
