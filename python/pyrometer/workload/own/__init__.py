"""The user's own workloads: files that become one without a line of Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyrometer.workload.contract import Workload

YAML_FILE = "workload.yaml"
YAML_SUFFIXES = (".yaml", ".yml")
SQL_SUFFIX = ".sql"


def workload(name: str) -> Workload | None:
    """Workload that a path is: a SQL file, a ``workload.yaml``, or a folder with one.

    Raises
    ------
    UsageError
        If it is one and cannot be read.
    """
    if name.endswith(SQL_SUFFIX):
        from pyrometer.workload.own.sql_file import SqlFile

        return SqlFile(name)
    if yaml_path(name) is None:
        return None
    from pyrometer.workload.own import workload_file, yaml_command, yaml_sql

    file = workload_file.read(name)
    if file.command is not None:
        return yaml_command.YamlCommand(name)
    return yaml_sql.YamlSql(name) if file.verify.repeats else yaml_sql.Unrepeated(name)


def yaml_path(name: str) -> Path | None:
    """Give the YAML file that `name` means: itself, or the one in that folder; else ``None``."""
    path = Path(name)
    if name.endswith(YAML_SUFFIXES):
        return path
    return path / YAML_FILE if (path / YAML_FILE).is_file() else None
