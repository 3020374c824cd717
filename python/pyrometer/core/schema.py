"""The declarations under ``schema/`` as values: tables, thread roles, doubts.

Nothing is declared twice: code that needs a column's type, the role of a thread or the remedy of a
doubt reads it from here.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from pyrometer.core.doubt import Doubt, Severity
from pyrometer.core.errors import PyrometerError
from pyrometer.core.installation import reinstall

DUCKDB_TYPES = {
    "i32": "INTEGER",
    "i64": "BIGINT",
    "f64": "DOUBLE",
    "bool": "BOOLEAN",
    "str": "VARCHAR",
    "dict": "VARCHAR",
    "list_i64": "BIGINT[]",
    "list_i32": "INTEGER[]",
}


@dataclass(frozen=True)
class Column:
    """One column of a table: name (with its unit), type of ``tables.toml``, and meaning."""

    name: str
    type: str
    nullable: bool
    doc: str

    @property
    def sql_type(self) -> str:
        """The type in DuckDB's words."""
        return DUCKDB_TYPES[self.type]

    def checked(self, value: Any) -> Any:
        """Give the value back if the column can hold it.

        Raises
        ------
        ValueError
            If it is of another type, or too large.
        """
        bits = {"i32": 31, "i64": 63}.get(self.type)
        if bits is not None:
            fits = type(value) is int and -(1 << bits) <= value < 1 << bits
        elif self.type == "bool":
            fits = isinstance(value, bool)
        elif self.type == "f64":
            fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        else:
            fits = isinstance(value, str)
        if not fits:
            raise ValueError(f"{self.name} is not {self.type}: {str(value)[:40]!r}")
        return value


@dataclass(frozen=True)
class Table:
    """One table of a run directory."""

    name: str
    doc: str
    source: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class RoleRule:
    """Role of threads whose kernel name (15 characters) or JVM name matches."""

    role: str
    name: str | None
    comm: str | None
    serves: str | None = None


@dataclass(frozen=True)
class PythonRule:
    """What Python frames of modules that match do; ``anywhere``: so does all that they call."""

    work: str
    module: str
    anywhere: bool


def schema_folder() -> Path:
    """Folder of the declarations: inside the installed package, else in the source tree."""
    here = Path(__file__).resolve().parent.parent
    for folder in (here / "_bundled" / "schema", here.parent.parent / "schema"):
        if (folder / "tables.toml").is_file():
            return folder
    raise PyrometerError(
        f"schema/tables.toml is neither in {here}/_bundled nor beside the sources",
        reinstall(),
    )


@dataclass(frozen=True)
class View:
    """A temporary table or view that modules share.

    Parameters
    ----------
    name : str
        Its name in SQL.
    owner : str
        The module that defines it, below ``pyrometer``.
    doc : str
        What a row is.
    columns : tuple of str
        Names of its columns, in order.
    """

    name: str
    owner: str
    doc: str
    columns: tuple[str, ...]


@cache
def views() -> dict[str, View]:
    """Give the declared temporary views by name (``schema/views.toml``)."""
    return {
        one["name"]: View(one["name"], one["owner"], one["doc"], tuple(one["columns"]))
        for one in _load("views")["view"]
    }


@cache
def _load(name: str) -> dict[str, Any]:
    return tomllib.loads((schema_folder() / f"{name}.toml").read_text(encoding="utf-8"))


def spark_default(name: str, spark_version: str | None) -> str | None:
    """Give what Spark takes where a setting is not set; None where this is not known.

    Examples
    --------
    >>> spark_default("spark.sql.shuffle.partitions", "4.1.0")
    '200'
    >>> spark_default("spark.sql.ansi.enabled", "3.5.1"), spark_default("spark.x", "3.5.1")
    ('false', None)
    """
    declared = _load("spark_defaults")
    ours = _release(spark_version)
    if ours < _release(declared["since"]):
        return None
    for one in declared["changed"]:
        if one["name"] == name:
            return str(one["before" if ours < _release(one["version"]) else "after"])
    found = declared["defaults"].get(name)
    return None if found is None else str(found)


def spark_unit(name: str) -> str:
    """Give the unit of a number alone where a setting of Spark is a size; empty for bytes.

    Examples
    --------
    >>> spark_unit("spark.executor.memory"), spark_unit("spark.memory.offHeap.size")
    ('m', '')
    """
    return str(_load("spark_defaults")["units"].get(name, ""))


def release(version: str | None) -> tuple[int, ...] | None:
    """Give major and minor number of a version; ``None`` where it is not known.

    Examples
    --------
    >>> release("3.5.9"), release(None)
    ((3, 5), None)
    """
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return tuple(map(int, found.groups())) if found else None


def _release(version: str | None) -> tuple[int, ...]:
    """Of an unknown version, one that comes before all."""
    return release(version) or (0, 0)


def schema_version() -> int:
    """Version of the tables that this Pyrometer writes and reads."""
    return int(_load("tables")["version"])


# What decides the category, role, operator and wait class of a sample when tables are made.
_RULES = ("categories", "operators", "roles", "wait_classes")


@cache
def rules_digest() -> str:
    """Name the rules by which samples are classified: another name, other rules.

    Examples
    --------
    >>> len(rules_digest()), rules_digest() == rules_digest()
    (16, True)
    """
    digest = hashlib.blake2b(digest_size=8)
    for name in _RULES:
        digest.update((schema_folder() / f"{name}.toml").read_bytes())
    return digest.hexdigest()


@cache
def tables() -> dict[str, Table]:
    """Every table of a run directory, by name."""
    return {
        name: Table(
            name=name,
            doc=body["doc"],
            source=body["source"],
            columns=tuple(
                Column(column, spec["type"], spec.get("null", False), spec["doc"])
                for column, spec in body["columns"].items()
            ),
        )
        for name, body in _load("tables").items()
        if isinstance(body, dict)
    }


@cache
def role_rules() -> tuple[RoleRule, ...]:
    """Rules that give a thread its role; the first that matches wins."""
    return tuple(
        RoleRule(rule["role"], rule.get("name"), rule.get("comm"), rule.get("serves"))
        for rule in _load("roles")["rule"]
    )


@cache
def python_work() -> tuple[PythonRule, ...]:
    """Rules for what a Python frame does, by its module; the first that matches wins."""
    return tuple(
        PythonRule(rule["work"], rule["module"], rule.get("anywhere", False))
        for rule in _load("categories")["python"]
    )


@cache
def generated_prefixes() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of generated methods and the operator that writes them; the first match wins."""
    return tuple(
        (re.compile("|".join(rule["match"])), rule["operator"])
        for rule in _load("operators")["codegen"]["prefix"]
    )


@cache
def wait_classes() -> dict[str, bool]:
    """Give the wait classes, and of each whether a stack of the profiler alone can show it."""
    found = _load("wait_classes")
    by_frames = {rule["class"] for rule in found["frames"]} | {"unclassified"}
    return {rule["name"]: rule["name"] in by_frames for rule in found["class"]}


@cache
def places() -> dict[str, str]:
    """Give what a task does that is no operator's, with what it covers."""
    return {rule["name"]: rule["doc"] for rule in _load("operators")["place"] if "doc" in rule}


def doubt(code: str, message: str, severity: Severity | None = None) -> Doubt:
    """Make a doubt of ``schema/doubts.toml``: severity and remedy stand there.

    Raises
    ------
    PyrometerError
        If ``code`` is not declared.
    """
    declared = _load("doubts").get(code)
    if not isinstance(declared, dict):
        raise PyrometerError(f"doubt {code!r} is not declared in schema/doubts.toml")
    return Doubt(
        code=code,
        severity=severity or cast(Severity, declared["severity"]),
        message=message,
        remedy=declared["remedy"],
    )


def known_doubt(code: str, severity: str, message: str) -> Doubt:
    """Make a doubt that raw files raised; an undeclared code keeps its words."""
    declared = _load("doubts").get(code)
    remedy = declared["remedy"] if isinstance(declared, dict) else "None known."
    level = severity if severity in ("info", "warning", "error") else "warning"
    return Doubt(code=code, severity=cast(Severity, level), message=message, remedy=remedy)
