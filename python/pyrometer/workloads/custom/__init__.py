"""The user's own workloads: files that become one without a line of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrometer.workloads.custom.paths import yaml_path

if TYPE_CHECKING:
    from pyrometer.workloads.contract import Workload


SQL_SUFFIX = ".sql"


def workload(name: str) -> Workload | None:
    """Workload that a path is: a SQL file, a ``workload.yaml``, or a folder with one.

    Raises
    ------
    UsageError
        If it is one and cannot be read.
    """
    if name.endswith(SQL_SUFFIX):
        from pyrometer.workloads.custom.sql_file import SqlFile

        return SqlFile(name)
    if yaml_path(name) is None:
        return None
    from pyrometer.workloads.custom import workload_file, yaml

    file = workload_file.read(name)
    if file.command is not None:
        return yaml.YamlCommand(name)
    return yaml.YamlSql(name) if file.verify.repeats else yaml.Unrepeated(name)
