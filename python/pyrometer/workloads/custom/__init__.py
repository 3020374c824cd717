"""Workloads of the user: files that need no installation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyrometer.workloads.custom.paths import yaml_path

if TYPE_CHECKING:
    from pyrometer.workloads.contract import Workload


SQL_SUFFIX = ".sql"
PYTHON_SUFFIX = ".py"


def workload(name: str) -> Workload | None:
    """Workload that a path is: a SQL or Python file, a ``workload.yaml``, or a folder with one.

    Raises
    ------
    UsageError
        If it is one and cannot be read.
    """
    if name.endswith(SQL_SUFFIX):
        from pyrometer.workloads.custom.sql_file import SqlFile

        return SqlFile(name)
    if name.endswith(PYTHON_SUFFIX) and Path(name).is_file():
        from pyrometer.workloads.contract import in_file

        return in_file(Path(name))
    if yaml_path(name) is None:
        return None
    from pyrometer.workloads.custom import workload_file, yaml

    file = workload_file.read(name)
    if file.command is not None:
        return yaml.YamlCommand(name)
    return yaml.YamlSql(name) if file.verify.repeats else yaml.Unrepeated(name)
