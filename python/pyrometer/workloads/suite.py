"""Base of suites of SQL queries: running them in streams, and verifying each.

Running queries: one, or many in concurrent streams.
"""

from __future__ import annotations

import abc
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pyrometer.core.errors import UsageError
from pyrometer.workloads.answers import check_answer, read_queries
from pyrometer.workloads.contract import Workload
from pyrometer.workloads.results import checksum
from pyrometer.workloads.rounding import rounded_checksum
from pyrometer.workloads.values import (
    PATTERN_SIGNS,
    IterationResult,
    Mismatch,
    PartResult,
    Prepared,
    Progress,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


MOST_ERROR = 1000
"""Characters kept of why a query failed."""


def run_query(spark: Any, name: str, sql: str) -> PartResult:
    """Run one query with its name as the description of its jobs, and collect its result.

    The checksum is left to `with_checksum`, so that it is in no time that is measured.
    """
    spark.sparkContext.setJobDescription(name)
    started = time.monotonic_ns()
    try:
        rows = spark.sql(sql).collect()
    finally:
        ended = time.monotonic_ns()
        spark.sparkContext.setJobDescription(None)
    return PartResult(name, len(rows), "", started, ended, rows)


def with_checksum(part: PartResult) -> PartResult:
    """Give the result of a query with its checksum; of one that failed there is none."""
    if part.error is not None:
        return part
    return replace(part, checksum=rounded_checksum(part.answer))


def try_query(spark: Any, name: str, sql: str) -> PartResult:
    """Run one query; if it fails while Spark lives, a result that says why.

    Raises
    ------
    Exception
        What the query raised, if Spark ended with it: no other query could run.
    """
    started = time.monotonic_ns()
    try:
        return run_query(spark, name, sql)
    except Exception as error:
        if not _lives(spark):
            raise
        why = f"{type(error).__name__}: {error}"[:MOST_ERROR]
        return PartResult(name, 0, "", started, time.monotonic_ns(), error=why)


def _lives(spark: Any) -> bool:
    try:
        return not spark.sparkContext._jsc.sc().isStopped()
    except Exception:  # no answer: the JVM is gone
        return False


def stream_order(names: Sequence[str], stream: int) -> list[str]:
    """Order in which a stream runs the queries: a permutation drawn by its number.

    Examples
    --------
    >>> sorted(stream_order(["q01", "q02", "q03"], 1))
    ['q01', 'q02', 'q03']
    """
    order = list(names)
    random.Random(stream).shuffle(order)  # noqa: S311 - an order, no secret
    return order


def run_streams(sessions: Sequence[Any], texts: Mapping[str, str]) -> list[PartResult]:
    """Run all queries in each of several streams at once.

    Parameters
    ----------
    sessions : sequence
        A session for each stream, which has an order of its own.
    texts : Mapping[str, str]
        Queries by name.

    Returns
    -------
    list of PartResult
        In the order in which they started.

    Raises
    ------
    Exception
        The first with which Spark ended; other streams stop after their current query.
    """
    from pyspark import InheritableThread

    done: list[PartResult] = []
    failed: list[BaseException] = []

    def stream(number: int) -> None:
        try:
            for name in stream_order(list(texts), number):
                if failed:
                    return
                done.append(try_query(sessions[number], name, texts[name]))
        except BaseException as error:
            failed.append(error)

    # Threads that inherit the local properties: jobs keep the number of their iteration.
    numbers = range(len(sessions))
    threads = [InheritableThread(target=stream, args=(n,), daemon=True) for n in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return sorted(done, key=lambda part: part.started_mono_ns)


MOST_STREAMS = 64
CODECS = {
    "snappy": "Spark's default",
    "none": "uncompressed",
    "zstd": "smaller, level 3",
    "gzip": "smaller, slow to decompress, level 6",
}


def variants(queries: int) -> dict[str, Variant]:
    """Variants of a suite of `queries` queries."""
    names = {f"q{number:02d}": f"query {number} alone" for number in range(1, queries + 1)}
    return {
        "workload.query": Variant(
            levels={"all": "every query", **names},
            default="all",
            doc="Which query runs, by name (q05) or number (5); several joined: q05+q09.",
            integer=True,
            joined=True,
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
            levels=CODECS,
            default="snappy",
            doc="Compression codec of the Parquet files; no LZ4_RAW, in which Spark fails to look "
            "up what a filter asks for (apache/parquet-java, issue 3478).",
        ),
    }


def _quoted(text: str) -> str:
    """Write a text into SQL as Spark reads it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Tables(Protocol):
    """Interface of a module that generates the tables of a suite."""

    def recipe(self, size: int, codec: str) -> dict[str, Any]:
        """Say what determines the bytes."""

    def write_tables(
        self, folder: Path, progress: Progress, size: int, codec: str
    ) -> dict[str, Any]:
        """Write a folder of Parquet files for each table; returns facts about them."""


class Suite(Workload):
    """A suite of SQL queries on tables of Parquet files, each verified against another engine.

    Attributes
    ----------
    tables : Sequence of str
        Names of the tables, each a folder of the dataset.
    bytes_a_unit, bytes_fixed : int
        Disk that the data needs: for each unit of the size, and whatever the size.
    """

    group: ClassVar[str] = "suite"
    tables: ClassVar[Sequence[str]]
    bytes_a_unit: ClassVar[int]
    bytes_fixed: ClassVar[int]

    def __init__(self) -> None:
        # Sessions of streams, with the session and the specification that they were started for.
        self._started: list[tuple[Any, WorkloadSpec, list[Any]]] = []

    def _database(self, spec: WorkloadSpec) -> str:
        """Name the database of the tables: one for each codec.

        Treatments that take turns in a JVM share its catalog, and their data differ in nothing
        else: the size is the same.
        """
        codec = spec.levels["data.codec"]
        own = codec != self.variants["data.codec"].default
        return f"pyrometer_{self.name}" + f"_{codec}" * own

    @abc.abstractmethod
    def generator(self) -> Tables:
        """Import the module that generates the tables."""

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Tables in any codec, and the generator's while they are split."""
        return spec.size * self.bytes_a_unit + self.bytes_fixed

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Build the tables, then the answers by DuckDB.

        Raises
        ------
        UsageError
            If there is no such query, there are too many streams, or Spark's catalog cannot have
            tables in the cache.
        """
        self.query_names(spec)
        if self.streams(spec) > MOST_STREAMS:
            raise UsageError(
                f"{self.streams(spec)} streams are too many", f"use at most {MOST_STREAMS}"
            )
        # The catalog reads a location as a pattern, and takes its size from the literal path.
        if spec.levels["data.source"] == "catalog" and set(PATTERN_SIGNS) & set(str(cache.root)):
            raise UsageError(
                f"Spark's catalog would take {cache.root} for a pattern",
                f"set PYROMETER_CACHE to a folder without any of {PATTERN_SIGNS}",
            )
        from pyrometer.workloads.data import queries

        codec, generator = spec.levels["data.codec"], self.generator()

        def build(folder: Path, report: Progress) -> dict[str, Any]:
            facts = generator.write_tables(folder, report, spec.size, codec)
            queries.write_answers(folder, report, self.name, self.tables)
            return facts

        prepared = cache.ensure(
            f"{self.name}-{spec.size}-{codec}",
            {**generator.recipe(spec.size, codec), **queries.recipe()},
            build,
            bytes_needed=self.bytes_needed(spec),
            progress=progress,
        )
        return prepared.with_paths(**{table: table for table in self.tables})

    def query_names(self, spec: WorkloadSpec) -> list[str]:
        """Name the queries that this specification runs, in the order of their numbers.

        Raises
        ------
        UsageError
            If the suite has no such query.
        """
        known = [level for level in self.variants["workload.query"].levels if level != "all"]
        wanted = spec.levels["workload.query"]
        if wanted == "all":
            return known
        named = {f"q{int(one):02d}" if one.isdecimal() else one for one in wanted.split("+")}
        for name in sorted(named):
            if name not in known:
                raise UsageError(
                    f"{self.name} has no query {name.removeprefix('q')}",
                    f"use all or one of {known[0]} … {known[-1]}, or several: q05+q09",
                )
        return [name for name in known if name in named]

    def streams(self, spec: WorkloadSpec) -> int:
        """Count the streams of this specification."""
        power = spec.levels["workload.mode"] == "power"
        return 1 if power else int(spec.levels["workload.streams"])

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Register the tables, read the queries, start sessions: no iteration does it again."""
        read_queries(prepared)
        if spec.levels["data.source"] == "files":
            self._views(spark, prepared)
        else:
            self._catalog(spark, prepared, spec)
        if spec.levels["workload.mode"] != "power":
            self._started.append((spark, spec, self._new_sessions(spark, prepared, spec)))

    def _catalog(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        # A separate database, so that no table of the same name is hidden or replaced.
        database = self._database(spec)
        folder = _quoted(f"{prepared.root}/.catalog")
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {database} LOCATION {folder}")
        for table in self.tables:
            spark.catalog.dropTempView(table)
            spark.sql(f"DROP TABLE IF EXISTS {database}.{table}")
            folder = _quoted(prepared.paths[table])
            spark.sql(f"CREATE TABLE {database}.{table} USING parquet LOCATION {folder}")
            spark.sql(f"ANALYZE TABLE {database}.{table} COMPUTE STATISTICS")
        spark.catalog.setCurrentDatabase(database)

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Run the queries, in one stream or several; one that fails does not stop the others."""
        queries = read_queries(prepared)
        texts = {name: queries[name]["sql"] for name in self.query_names(spec)}
        if spec.levels["workload.mode"] == "power":
            parts = [try_query(spark, name, text) for name, text in texts.items()]
        else:
            parts = run_streams(self._sessions(spark, prepared, spec), texts)
        ended = time.monotonic_ns()
        parts = [with_checksum(part) for part in parts]
        return IterationResult(
            rows=sum(part.rows for part in parts),
            checksum=checksum((part.name, part.checksum) for part in parts),
            counters={"streams_count": self.streams(spec), "queries_count": len(parts)},
            parts=parts,
            ended_mono_ns=ended,
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare every query's result with the answer that DuckDB gave on the same files.

        Queries that failed have none; the runner reports them.
        """
        queries = read_queries(prepared)
        ended = [part for part in result.parts if part.error is None]
        checked = [check_answer(part.name, queries[part.name], part.answer) for part in ended]
        wrong = [mismatch for mismatch in checked if mismatch is not None]
        if wrong:
            count = f"{len(wrong)} of {len(ended)} queries are wrong; " * (len(wrong) > 1)
            return replace(wrong[0], what=count + wrong[0].what)
        if len(ended) < len(result.parts):
            return None
        rows = self.streams(spec) * sum(queries[n]["count"] for n in self.query_names(spec))
        if result.rows != rows:
            return Mismatch("rows of all queries", str(rows), str(result.rows))
        return None

    def _sessions(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> list[Any]:
        """Find the sessions that `setup` started, or start them where it did not run."""
        kept = [one for base, wanted, one in self._started if base is spark and wanted == spec]
        return kept[-1] if kept else self._new_sessions(spark, prepared, spec)

    def _new_sessions(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> list[Any]:
        """Start a separate session for each stream, with tables and settings of the first one."""
        # A new session knows the context's settings, not those of the session that makes it.
        keys = [key for key, *_ in spark.sql("SET").collect() if spark.conf.isModifiable(key)]
        sessions = [spark.newSession() for _ in range(self.streams(spec))]
        for session in sessions:
            for key in keys:
                session.conf.set(key, spark.conf.get(key))
            if spec.levels["data.source"] == "files":
                self._views(session, prepared)
            else:
                session.catalog.setCurrentDatabase(self._database(spec))
        return sessions

    def _views(self, spark: Any, prepared: Prepared) -> None:
        for table in self.tables:
            spark.read.parquet(prepared.spark_path(table)).createOrReplaceTempView(table)
