"""Rows in many small files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.workload.contract import (
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Progress,
    Truth,
    WorkloadSpec,
    no_progress,
)
from pyrometer.workload.truth.rows import CAUSE, cause, collected, differs, is_on, mix, mixed
from pyrometer.workload.truth.structural import FIRST_QUERY, Structural

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache

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

        def build(folder: Path, tell: Progress) -> dict[str, Any]:
            (folder / _TABLE).mkdir()
            for number in range(count):
                if number % 100 == 0:
                    tell("writing small files", number, count)
                ids = range(number * rows // count, (number + 1) * rows // count)
                table = pa.table({"id": ids, "mixed": [mix(n) for n in ids]})
                parquet.write_table(table, folder / _TABLE / f"part-{number:06}.parquet")
            tell("writing small files", count, count)
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
            spark.read.schema("id bigint, mixed bigint").parquet(prepared.paths[_TABLE]).collect()
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Every row is read once."""
        rows = spec.size * _ROWS
        return differs(result, rows, mixed(range(rows)), "checksum of (id, mixed)")
