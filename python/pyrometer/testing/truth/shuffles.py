"""Programs that move or compute more than they need.

Programs whose joins are done in the wrong way.

Rows in many small files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.testing.truth.rows import (
    CAUSE,
    FIRST_QUERY,
    ITERATION,
    Structural,
    cause,
    collected,
    differs,
    is_on,
    mix,
    mixed,
    work,
)
from pyrometer.workloads.results import checksum
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Progress,
    Truth,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


_FEW = 2
_USES = 4
_TASKS = 4
_ROW_NS = 1_000_000


class ShuffleBlocks(Structural):
    """A shuffle in which every task has a row for every other."""

    name = "truth-shuffle-blocks"
    summary = "A shuffle with as many blocks as rows"
    description = (
        "As many tasks write as read, and each writes one row for each reader, by round robin: a "
        "block is a row. The square of the scale is the number of rows and of blocks."
    )
    expectation = "Time goes to opening, fetching and scheduling; bytes are few."
    variants: ClassVar = {
        CAUSE: cause("as many tasks on both sides as the scale says", f"{_FEW} tasks on both sides")
    }
    scales: ClassVar = {"test": 20, "default": 250, "seed": 1_000}
    scale_unit = "tasks on each side of the shuffle"

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the number of blocks."""
        return Truth(
            quantity="shuffle blocks fetched in an iteration",
            where="the second stage",
            value=self._tasks(spec) ** 2,
            unit="count",
            tolerance=0,
            measured_by=f"{ITERATION}.shuffle_blocks_fetched_count",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Shuffle."""
        tasks = self._tasks(spec)
        spread = spark.range(0, spec.size**2, 1, tasks).repartition(tasks)
        return collected(spread.selectExpr("id", work(0)).collect())

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Every row arrives once."""
        rows = spec.size**2
        return differs(result, rows, mixed(range(rows)), "checksum of (id, mixed)")

    def _tasks(self, spec: WorkloadSpec) -> int:
        return spec.size if is_on(spec) else _FEW


class Recomputation(Structural):
    """A result that is used four times and computed for each use."""

    name = "truth-recomputation"
    summary = f"What is used {_USES} times is computed {_USES} times instead of cached"
    description = (
        f"Rows that take a millisecond each are used by {_USES} queries, each of which keeps a "
        "part of them. Without a cache, each computes all of them."
    )
    expectation = f"{_USES} times the input, and {_USES} times the CPU."
    variants: ClassVar = {
        CAUSE: cause("computed for each use", "cached at the first use, dropped at the end")
    }
    scales: ClassVar = {"test": 160, "default": 5_000, "seed": 50_000}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the rows computed; a cache counts a batch for each task that reads it."""
        uses = _USES if is_on(spec) else 1
        return Truth(
            quantity="input records of an iteration",
            where="the scan of all queries",
            value=spec.size * uses,
            unit="count",
            tolerance=_USES * _TASKS,
            measured_by=f"{ITERATION}.input_records_count",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Use the rows."""
        frame = spark.range(0, spec.size, 1, _TASKS).selectExpr("id", f"{work(_ROW_NS)} as mixed")
        if not is_on(spec):
            frame = frame.cache()
        try:
            parts = [frame.where(f"id % {_USES} = {use}").collect() for use in range(_USES)]
        finally:
            frame.unpersist(blocking=True)
        return collected([row for part in parts for row in part])


_USED = 1_000
_WIDTH = 100
_BROADCAST = """
select /*+ {hint}(wide) */ used.id, wide.text
from (select id * {step} as id from range(0, {used}, 1, 2)) used
join (select id, rpad(cast(id as string), {width}, 'x') as text from range(0, {rows}, 1, 2)) wide
on used.id = wide.id
"""
_CROSS = """
select a.id, max({value}) as mixed
from range(0, {rows}, 1, 2) a {join} (select id, {mixed} as mixed from range(0, {rows}, 1, 2)) b
{on} group by a.id
"""
_NO_SMALL_TABLES = {"spark.sql.autoBroadcastJoinThreshold": "-1"}


def _rows_of(operator: str) -> str:
    return f"{FIRST_QUERY}.nodes[name={operator}].metrics[metric=number of output rows].value_sum"


class BroadcastTooBig(Structural):
    """A wide table, broadcast for a thousand of its rows."""

    name = "truth-broadcast"
    summary = "A large table is broadcast to join a thousand rows"
    description = (
        f"A table with a text of {_WIDTH} characters in each row is joined with {_USED} rows: by a "
        "hint it is collected in the driver, hashed and sent to every executor."
    )
    expectation = "No task runs while the driver collects and builds; its heap holds the table."
    variants: ClassVar = {
        CAUSE: cause("the hint asks for a broadcast", "the hint asks for a sort-merge join")
    }
    scales: ClassVar = {"test": 10_000, "default": 1_000_000, "seed": 3_000_000}
    scale_unit = "rows of the large table"
    needs = Needs()

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Leave the choice to the hint."""
        return {**super().spark_conf(spec), **_NO_SMALL_TABLES, "spark.sql.shuffle.partitions": "2"}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare how many rows are broadcast."""
        return Truth(
            quantity="rows that are broadcast",
            where="operator BroadcastExchange",
            value=spec.size if is_on(spec) else 0,
            unit="count",
            tolerance=0,
            measured_by=_rows_of("BroadcastExchange"),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Join."""
        query = _BROADCAST.format(
            hint="BROADCAST" if is_on(spec) else "MERGE",
            step=spec.size // _USED,
            used=_USED,
            width=_WIDTH,
            rows=spec.size,
        )
        return collected(spark.sql(query).collect())

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Each number that was looked up has its text."""
        step = spec.size // _USED
        wanted = [number * step for number in range(_USED)]
        known = checksum((number, str(number).ljust(_WIDTH, "x")) for number in wanted)
        return differs(result, _USED, known, "checksum of (id, text)")


class CartesianProduct(Structural):
    """A join that lost its condition."""

    name = "truth-cartesian"
    summary = "A join without its condition: every pair of rows is made, and most thrown away"
    description = (
        "For each row the value of the one with the same number is looked up: by a cross join, "
        "after which an aggregate picks the pairs that belong together, or by an equality."
    )
    expectation = "CartesianProduct gives the square of the rows; time grows with the square."
    variants: ClassVar = {CAUSE: cause("a cross join", "a join by equal numbers")}
    scales: ClassVar = {"test": 500, "default": 10_000, "seed": 30_000}

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Have neither side broadcast: that would be a nested loop."""
        return {**super().spark_conf(spec), **_NO_SMALL_TABLES, "spark.sql.shuffle.partitions": "2"}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the number of pairs."""
        return Truth(
            quantity="pairs of rows",
            where="operator CartesianProduct",
            value=spec.size**2 if is_on(spec) else 0,
            unit="count",
            tolerance=0,
            measured_by=_rows_of("CartesianProduct"),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Look up."""
        crossed = is_on(spec)
        query = _CROSS.format(
            rows=spec.size,
            mixed=work(0),
            value="if(a.id = b.id, b.mixed, null)" if crossed else "b.mixed",
            join="cross join" if crossed else "join",
            on="" if crossed else "on a.id = b.id",
        )
        return collected(spark.sql(query).collect())


_TABLE = "numbers"
_ROWS = 10
_FILE_BYTES = 2_000


class SmallFiles(Structural):
    """A Parquet file for every ten rows."""

    name = "truth-small-files"
    summary = "A table is kept in many small files"
    description = f"A Parquet file for every {_ROWS} rows is read in full, or one file with all."
    expectation = "Time goes to listing and opening files and reading footers; bytes are few."
    variants: ClassVar = {CAUSE: cause(f"a file for every {_ROWS} rows", "one file")}
    scales: ClassVar = {"test": 50, "default": 5_000, "seed": 50_000}
    scale_unit = f"files of {_ROWS} rows"
    needs = Needs(python=("pyarrow",))

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Estimate: a footer for each file."""
        return spec.size * _FILE_BYTES + 100_000

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Write the table."""
        import pyarrow as pa
        from pyarrow import parquet

        rows = spec.size * _ROWS
        count = spec.size if is_on(spec) else 1

        def build(folder: Path, report: Progress) -> dict[str, Any]:
            (folder / _TABLE).mkdir()
            for number in range(count):
                if number % 100 == 0:
                    report("writing small files", number, count)
                ids = range(number * rows // count, (number + 1) * rows // count)
                table = pa.table({"id": ids, "mixed": [mix(n) for n in ids]})
                parquet.write_table(table, folder / _TABLE / f"part-{number:06}.parquet")
            report("writing small files", count, count)
            return {}

        prepared = cache.ensure(
            f"numbers-{rows}-{count}",
            {"generator": "numbers/1", "rows": rows, "files": count, "pyarrow": pa.__version__},
            build,
            bytes_needed=self.bytes_needed(spec),
            progress=progress,
        )
        return prepared.with_paths(numbers=_TABLE)

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the number of files."""
        return Truth(
            quantity="files read by a query",
            where="operator Scan parquet",
            value=spec.size if is_on(spec) else 1,
            unit="count",
            tolerance=0,
            measured_by=f"{FIRST_QUERY}.nodes[name=Scan parquet]"
            ".metrics[metric=number of files read].value_sum",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """List the files, and read them."""
        return collected(
            spark.read.schema("id bigint, mixed bigint")
            .parquet(prepared.spark_path(_TABLE))
            .collect()
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Every row is read once."""
        rows = spec.size * _ROWS
        return differs(result, rows, mixed(range(rows)), "checksum of (id, mixed)")
