"""A ``workload.yaml`` that names a file of SQL: tables, settings and the right result beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyrometer.workload.contract import (
    IterationResult,
    Mismatch,
    Prepared,
    Progress,
    Variant,
    WorkloadSpec,
    no_progress,
)
from pyrometer.workload.own.sql_file import SqlFile, bound, parameters

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache


class YamlSql(SqlFile):
    """Statements of a SQL file, with what a ``workload.yaml`` says about them.

    Parameters
    ----------
    path : str
        The YAML file or its folder; the runner's process needs none, it is told everything.

    Raises
    ------
    UsageError
        If a file cannot be read or says what has no meaning.
    """

    def __init__(self, path: str = "") -> None:
        if not path:
            return
        from pyrometer.workload.own import workload_file

        file = workload_file.read(path)
        self.name = path  # type: ignore[misc]
        self.summary = file.summary  # type: ignore[misc]
        self.description = file.description or self.description  # type: ignore[misc]
        self.source = file.source  # type: ignore[misc]
        self.expectation = file.expectation or self.expectation  # type: ignore[misc]
        self._sql = str(workload_file.folder(path) / (file.sql or ""))
        self.variants = workload_file.variants(file) | {  # type: ignore[misc]
            f"sql.{name}": Variant(
                {}, file.parameters.get(name, ""), f"Parameter :{name} of {file.sql}.", text=True
            )
            for name in parameters(self._sql)
        }

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Give the settings of the file and of the levels."""
        from pyrometer.workload.own import workload_file

        return workload_file.conf(workload_file.read(spec.name), spec.levels)

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Read the files: statements, tables and the right result travel as facts."""
        from pyrometer.workload.own import workload_file

        file = workload_file.read(spec.name)
        sql = str(workload_file.folder(spec.name) / (file.sql or ""))
        return replace(
            workload_file.prepared(spec.name, file),
            facts={
                "statements": bound(sql, spec.levels),
                "tables": {
                    name: {"format": data.format, "options": dict(data.options)}
                    for name, data in file.data.items()
                },
                "rows": file.verify.rows,
                "checksum": file.verify.checksum,
            },
        )

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Size of the data: it is there already."""
        from pyrometer.workload.own import workload_file

        return workload_file.prepared(spec.name, workload_file.read(spec.name)).bytes

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Register the data as temporary views."""
        for name, table in prepared.facts["tables"].items():
            reader = spark.read.format(table["format"]).options(**table["options"])
            reader.load(prepared.paths[name]).createOrReplaceTempView(name)

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare with the rows and checksum that the file gives."""
        return super().verify(result, prepared, spec) or unlike_known(
            prepared.facts["rows"], prepared.facts["checksum"], result.rows, result.checksum
        )


class Unrepeated(YamlSql):
    """The same where iterations may differ (``verify: {repeats: false}``)."""

    repeats = False


def unlike_known(
    rows: int | None, checksum: str | None, got_rows: int, got_checksum: str
) -> Mismatch | None:
    """Compare rows and checksum with what is known of them."""
    if rows is not None and rows != got_rows:
        return Mismatch("rows", str(rows), str(got_rows))
    if checksum is not None and checksum != got_checksum:
        return Mismatch("checksum", checksum, got_checksum)
    return None
