"""A ``workload.yaml`` that names a command: its arguments, and its expected output.

A ``workload.yaml`` that names a file of SQL: also tables, settings and the right result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.workloads.contract import Workload
from pyrometer.workloads.custom.sql_file import SqlFile, parameters, with_values
from pyrometer.workloads.results import checksum
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    Prepared,
    Progress,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache

GLOBBED = (
    "avro", "binaryfile", "csv", "image", "json", "libsvm", "orc", "parquet", "text", "xml",
)  # fmt: skip
"""Formats whose readers take a path for a pattern; Delta Lake and Iceberg take it as it is."""


class YamlSql(SqlFile):
    """Statements of a SQL file, with what a ``workload.yaml`` says about them.

    Parameters
    ----------
    path : str
        The YAML file or its folder; not needed in the runner process, which gets everything.

    Raises
    ------
    UsageError
        If a file cannot be read or is not valid.
    """

    def __init__(self, path: str = "") -> None:
        if not path:
            return
        from pyrometer.workloads.custom import workload_file

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
        from pyrometer.workloads.custom import workload_file

        return workload_file.conf(workload_file.read(spec.name), spec.levels)

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Read the files: statements, tables and the right result are passed on as facts."""
        from pyrometer.workloads.custom import workload_file

        file = workload_file.read(spec.name)
        sql = str(workload_file.folder(spec.name) / (file.sql or ""))
        return replace(
            workload_file.prepared(spec.name, file),
            facts={
                "statements": with_values(sql, spec.levels),
                "tables": {
                    name: {"format": data.format, "options": dict(data.options)}
                    for name, data in file.data.items()
                },
                "rows": file.verify.rows,
                "checksum": file.verify.checksum,
            },
        )

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """No disk space is needed: the data exists."""
        from pyrometer.workloads.custom import workload_file

        return workload_file.prepared(spec.name, workload_file.read(spec.name)).bytes

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Register the data as temporary views."""
        for name, table in prepared.facts["tables"].items():
            reader = spark.read.format(table["format"]).options(**table["options"])
            path = prepared.spark_path if table["format"].lower() in GLOBBED else prepared.paths.get
            reader.load(path(name)).createOrReplaceTempView(name)

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
    """Compare rows and checksum with the known ones."""
    if rows is not None and rows != got_rows:
        return Mismatch("rows", str(rows), str(got_rows))
    if checksum is not None and checksum != got_checksum:
        return Mismatch("checksum", checksum, got_checksum)
    return None


PLACE = re.compile(r"\{([A-Za-z_][\w.-]*)\}")


@dataclass(frozen=True)
class OwnCommand:
    """A fully specified command.

    Parameters
    ----------
    spec : WorkloadSpec
        The specification of the run.
    argv : tuple of str
        Its arguments; no shell is used.
    env, conf : Mapping[str, str]
        Variables and Spark settings of the file and the levels.
    exit_code : int
        Exit code of success.
    output : Path or None
        Text file that it writes.
    rows, checksum
        Expected values of the lines of that text.
    """

    spec: WorkloadSpec
    argv: tuple[str, ...]
    env: Mapping[str, str]
    conf: Mapping[str, str]
    exit_code: int = 0
    output: Path | None = None
    rows: int | None = None
    checksum: str | None = None

    def result(self) -> IterationResult | None:
        """Count its output's lines and compute their checksum; ``None`` if no output is declared.

        Raises
        ------
        OSError, UnicodeDecodeError
            If there is no output, or it is not text.
        """
        if self.output is None:
            return None
        rows = 0

        def counted() -> Iterator[tuple[str]]:
            nonlocal rows
            for line in lines(self.output or Path()):
                rows += 1
                yield (line,)

        total = checksum(counted())
        return IterationResult(rows, total)

    def mismatch(self, result: IterationResult | None) -> Mismatch | None:
        """Compare its output with the expected values."""
        if result is None:
            return None
        return unlike_known(self.rows, self.checksum, result.rows, result.checksum)


class YamlCommand(Workload):
    """A command as a workload: launched once, as ``pyrometer run -- COMMAND`` does.

    Parameters
    ----------
    path : str
        The YAML file or its folder.

    Raises
    ------
    UsageError
        If the file cannot be read or is not valid.
    """

    name = "command"
    summary = "A command"
    description = "The command is launched once, as it stands; its output is verified."
    source = "Your own file."
    expectation = "The exit code and the output that the file declares."
    scales: ClassVar = {"test": 1, "default": 1, "seed": 1}
    scale_unit = "runs of the command (the data it reads is yours)"

    def __init__(self, path: str = "") -> None:
        if not path:
            return
        from pyrometer.workloads.custom import workload_file

        file = workload_file.read(path)
        self.name = path  # type: ignore[misc]
        self.summary = file.summary  # type: ignore[misc]
        self.description = file.description or self.description  # type: ignore[misc]
        self.source = file.source  # type: ignore[misc]
        self.expectation = file.expectation or self.expectation  # type: ignore[misc]
        self.variants = workload_file.variants(file)  # type: ignore[misc]

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Find the data."""
        from pyrometer.workloads.custom import workload_file

        return workload_file.prepared(spec.name, workload_file.read(spec.name))

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """No disk space is needed: the data exists."""
        from pyrometer.workloads.custom import workload_file

        return workload_file.prepared(spec.name, workload_file.read(spec.name)).bytes

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Refuse: a command runs in a separate process, which the launcher starts."""
        raise UsageError(f"{spec.name} is a command", "pyrometer run launches it")

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare the output with what the file says of it."""
        return self.command(spec, Path()).mismatch(result)

    def known_command(self, spec: WorkloadSpec) -> OwnCommand | None:
        """Resolve its command as if run here; ``None`` while its data are missing."""
        try:
            return self.command(spec, Path())
        except PyrometerError:
            return None

    def command(self, spec: WorkloadSpec, run_dir: Path) -> OwnCommand:
        """Resolve every argument of the command.

        Parameters
        ----------
        spec : WorkloadSpec
            Its levels.
        run_dir : Path
            Value of ``{run}``.

        Raises
        ------
        UsageError
            If data is missing.
        """
        from pyrometer.workloads.custom import workload_file

        file = workload_file.read(spec.name)
        levels = workload_file.chosen(file, spec.levels)
        home = workload_file.folder(spec.name)
        places = {
            "folder": str(home),
            "run": str(run_dir),
            **{f"data.{k}": v for k, v in workload_file.prepared(spec.name, file).paths.items()},
        }

        def filled(text: str) -> str:
            return PLACE.sub(lambda found: places.get(found[1], found[0]), text)

        words: list[str] = []
        for word in file.command or ():
            level = levels.get(word[1:-1]) if PLACE.fullmatch(word) else None
            words += map(filled, level.argv) if level else [filled(word)]
        verify = file.verify
        return OwnCommand(
            spec=spec,
            argv=tuple(words),
            env={k: filled(v) for level in levels.values() for k, v in level.env.items()},
            conf=workload_file.conf(file, spec.levels),
            exit_code=verify.exit_code,
            output=None if verify.output is None else home / filled(verify.output),
            rows=verify.rows,
            checksum=verify.checksum,
        )


def lines(path: Path) -> Iterator[str]:
    """Lines of a text file, or of all in a folder except those that Spark's readers skip."""
    files = [path]
    if path.is_dir():
        inner = sorted(path.rglob("*"))
        files = [f for f in inner if f.is_file() and not _skipped(f.relative_to(path))]
    for file in files:
        with file.open(encoding="utf-8", newline="\n") as text:
            for line in text:
                yield line.rstrip("\n")


def _skipped(path: Path) -> bool:
    """Whether Spark's readers skip a file: it, or a folder of it, is hidden or of Spark itself."""
    # A folder of a partition may begin with an underscore: _day=1.
    return any(part[0] == "." or (part[0] == "_" and "=" not in part) for part in path.parts)
