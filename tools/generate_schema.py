#!/usr/bin/env python3
"""Generate what follows from ``schema/tables.toml`` and ``schema/series.toml``.

Writes the column lists of ``crates/pyro-model/src/tables/``, one file for each source of tables,
and the pages ``docs/reference/tables.md`` and ``series.md``. With ``--check`` nothing is written
and the exit code is 1 when a file is out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema" / "tables.toml"
RUST = ROOT / "crates" / "pyro-model" / "src" / "tables"
PAGE = ROOT / "docs" / "reference" / "tables.md"
SERIES = ROOT / "schema" / "series.toml"
SERIES_PAGE = ROOT / "docs" / "reference" / "series.md"
COMMAND = "python tools/generate_schema.py"

RUST_TYPES = {
    "i32": "I32",
    "i64": "I64",
    "f64": "F64",
    "bool": "Bool",
    "str": "Str",
    "dict": "Dict",
    "list_i32": "ListI32",
    "list_i64": "ListI64",
}
COLUMN_KEYS = {"type", "null", "doc", "resolution"}
TABLE_KEYS = {"doc", "source", "columns"}


def load(text: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Parse and validate the schema.

    Parameters
    ----------
    text : str
        Content of ``schema/tables.toml``.

    Returns
    -------
    tuple
        Schema version, and the tables by name in the order of the file.

    Raises
    ------
    ValueError
        Where a table or column does not say what it must; the message names it.
    """
    tables = tomllib.loads(text)
    version = tables.pop("version")
    for table, spec in tables.items():
        if set(spec) != TABLE_KEYS:
            raise ValueError(
                f"table {table}: keys must be {sorted(TABLE_KEYS)}, not {sorted(spec)}"
            )
        for column, facts in spec["columns"].items():
            where = f"column {table}.{column}"
            if unknown := set(facts) - COLUMN_KEYS:
                raise ValueError(f"{where}: unknown keys {sorted(unknown)}")
            if facts.get("type") not in RUST_TYPES:
                raise ValueError(f"{where}: type must be one of {sorted(RUST_TYPES)}")
            if not facts.get("doc"):
                raise ValueError(f"{where}: doc is missing")
    return version, tables


def module(spec: dict[str, Any]) -> str:
    """Name the Rust module of a table after its first source."""
    first = re.split(r"[,(]", spec["source"])[0].strip()
    return re.sub(r"\W+", "_", first.lower())


def builder(table: str) -> str:
    """Name the Rust builder of a table."""
    return "".join(word.capitalize() for word in table.split("_")) + "Builder"


def rust(version: int, tables: dict[str, dict[str, Any]]) -> dict[Path, str]:
    """Render the Rust modules, by path: one for each source of tables, and the list of them."""
    notice = f"// Generated from schema/tables.toml by `{COMMAND}`; do not edit."
    grouped: dict[str, dict[str, dict[str, Any]]] = {}
    for table, spec in tables.items():
        grouped.setdefault(module(spec), {})[table] = spec
    out = {RUST / f"{name}.rs": rust_module(notice, group) for name, group in grouped.items()}
    modules = sorted(grouped)
    schemas = [
        f'        ("{table}", {module(spec)}::{builder(table)}::schema()),'
        for table, spec in tables.items()
    ]
    lines = [
        notice,
        "//! Builders of every table, by the source of its rows.",
        "",
        *(f"mod {name};" for name in modules),
        "",
        "use crate::table::Table;",
        "",
        *(f"pub use {name}::*;" for name in modules),
        "",
        "/// Version of `schema/tables.toml`, stored in every Parquet file.",
        f"pub const SCHEMA_VERSION: u32 = {version};",
        "",
        "/// Name and Arrow schema of every table, in the order of `schema/tables.toml`.",
        "pub fn all_schemas() -> Vec<(&'static str, arrow_schema::SchemaRef)> {",
        "    vec![",
        *schemas,
        "    ]",
        "}",
        "",
    ]
    out[RUST / "mod.rs"] = "\n".join(lines)
    return out


def rust_module(notice: str, tables: dict[str, dict[str, Any]]) -> str:
    """Render the column lists of some tables."""
    out = [notice, "use crate::column::*;", "use crate::table::builders;", "", "builders! {"]
    for table, spec in tables.items():
        out.append(f"    #[doc = {json.dumps(spec['doc'], ensure_ascii=False)}]")
        out.append(f"    {builder(table)} = {json.dumps(table)} {{")
        for column, facts in spec["columns"].items():
            nullable = json.dumps(facts.get("null", False))
            doc = json.dumps(facts["doc"], ensure_ascii=False)
            out.append(f"        #[doc = {doc}]")
            out.append(f"        {column}: {RUST_TYPES[facts['type']]}, null = {nullable};")
        out.append("    }")
    out += ["}", ""]
    return "\n".join(out)


def page(version: int, tables: dict[str, dict[str, Any]]) -> str:
    """Render the reference page."""
    out = [
        "# Tables of a run directory",
        "",
        f"<!-- Generated from schema/tables.toml by `{COMMAND}`; do not edit. -->",
        "",
        f"Schema version {version}. Each table is `tables/<name>.parquet`. Units are in the names; "
        "`_wall_ns` is Unix time, `_mono_ns` is CLOCK_MONOTONIC of that host. Files of a run of "
        "several hosts have times on one axis beside those, as `_axis_ns`. "
        "A missing value is null, never 0.",
        "",
        " · ".join(f"[{table}](#{table})" for table in tables),
    ]
    for table, spec in tables.items():
        out += ["", f"## {table}", "", f"{spec['doc']} Source: {spec['source']}.", ""]
        out += ["| column | type | null | meaning |", "|---|---|---|---|"]
        for column, facts in spec["columns"].items():
            meaning = facts["doc"].replace("|", "\\|").replace("<", "&lt;")
            if "resolution" in facts:
                meaning += f" (resolution {facts['resolution']})"
            null = "yes" if facts.get("null") else ""
            out.append(f"| `{column}` | {facts['type']} | {null} | {meaning} |")
    return "\n".join(out) + "\n"


def series_page(text: str) -> str:
    """Render the reference page of the OS series."""
    scopes = {name: body for name, body in tomllib.loads(text).items() if isinstance(body, dict)}
    out = [
        "# Series of the OS probe",
        "",
        f"<!-- Generated from schema/series.toml by `{COMMAND}`; do not edit. -->",
        "",
        "Rows of table [os_series](tables.md#os_series), by scope. *Cumulative* series count up: "
        "take differences. *Fast* ones are read in every pass (20 Hz unless asked otherwise), "
        "*slow* ones in every fifth. A value equal to the one before is not repeated, but the last "
        "reading before a change is written too, so that straight lines between the rows of a "
        "series are right. What a kernel does not offer has no rows.",
    ]
    for scope, body in scopes.items():
        out += ["", f"## {scope}", "", body["doc"] + ".", ""]
        out += ["| series | kind | rate | source | meaning |", "|---|---|---|---|---|"]
        for name, facts in body["series"].items():
            meaning = facts["doc"].replace("<", "&lt;")
            if "resolution" in facts:
                meaning += f" (resolution {facts['resolution']})"
            source = facts["source"].replace("<", "&lt;")
            out.append(f"| `{name}` | {facts['kind']} | {facts['rate']} | {source} | {meaning} |")
    return "\n".join(out) + "\n"


def main() -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a file is out of date")
    check = parser.parse_args().check
    schema = load(SCHEMA.read_text(encoding="utf-8"))
    stale = []
    generated = rust(*schema)
    for path in sorted(set(RUST.glob("*.rs")) - set(generated)):
        stale.append(path.relative_to(ROOT))
        if not check:
            path.unlink()
    generated[PAGE] = page(*schema)
    generated[SERIES_PAGE] = series_page(SERIES.read_text(encoding="utf-8"))
    for path, text in generated.items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path}: {f'out of date; run {COMMAND}' if check else 'written'}", file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
