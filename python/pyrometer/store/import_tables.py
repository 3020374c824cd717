"""Tables of imported profiles: each file is read by itself, then the tables are joined."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pyrometer.core.errors import UsageError
from pyrometer.store.manifest import ImportedFile
from pyrometer.store.sql.connected import connected
from pyrometer.store.sql.queries import MOST_MEMORY
from pyrometer.store.sql.text import from_parquet, literal

_TABLES = ("samples", "stacks", "frames", "jit")
# Units of Pyrometer's own events.
_OWN = dict.fromkeys(("cpu", "wall", "state", "lock"), "ns")
_OWN |= dict.fromkeys(("alloc", "live", "nativemem"), "bytes")


def read_imported(files: Sequence[ImportedFile], raw: Path, out: Path, core: Any) -> str:
    """Read imported profiles to the tables of ``out``; answers as native functions do.

    Each file is read by itself; the tables of several are joined, their stacks and frames
    numbered again.

    Raises
    ------
    UsageError
        If a file is not of its format: says where it breaks off.
    """
    parts: list[tuple[Path, dict[str, Any]]] = []
    try:
        for number, file in enumerate(files):
            part = out / f".import-{number}"
            part.mkdir(exist_ok=True)
            read = _reader(core, file)
            copy = str(_inside(raw, file.file))
            try:
                answer = _of_source(json.loads(read(copy, str(part))), copy, file.source)
            except (ValueError, OSError) as error:
                message = str(error).replace(copy, file.source)
                raise UsageError(
                    message if file.source in message else f"{file.source}: {message}",
                    f"record it again, or name its --format: it was read as {file.format}",
                ) from error
            parts.append((part, answer))
        tables = _join([part for part, _ in parts], out)
    finally:
        for leftover in out.glob(".import-*"):
            shutil.rmtree(leftover, ignore_errors=True)
    stats: dict[str, Any] = {"files": len(parts)}
    for key, choose in (("started_wall_ns", min), ("ended_wall_ns", max)):
        times = [answer["stats"][key] for _, answer in parts if answer["stats"].get(key)]
        if times:
            stats[key] = choose(times)
    doubts = [doubt for _, answer in parts for doubt in answer["doubts"]]
    return json.dumps({"tables": tables, "doubts": doubts, "stats": stats})


def _of_source(answer: dict[str, Any], copy: str, source: str) -> dict[str, Any]:
    """Name the imported file in doubts about our copy of it."""

    def named(said: Any) -> Any:
        return said.replace(copy, source) if isinstance(said, str) else said

    doubts = [{key: named(said) for key, said in one.items()} for one in answer["doubts"]]
    return {**answer, "doubts": doubts}


def _reader(core: Any, file: ImportedFile) -> Callable[[str, str], str]:
    if file.format == "jfr":
        return lambda path, out: str(core.ingest_jfr([path], [], out, ""))
    if file.format == "folded":
        event, unit = file.event or "cpu", file.unit or "samples"
        return lambda path, out: str(core.import_folded(path, out, None, event, unit))
    name = "import_" + file.format.replace("-", "_")
    reader: Callable[[str, str], str] = getattr(core, name)
    return reader


def _join(parts: Sequence[Path], out: Path) -> dict[str, int]:
    """Put tables of the same name below one another."""
    rows: dict[str, int] = {}
    with connected(out, memory_limit=MOST_MEMORY) as connection:
        shifts = [_sizes(connection, part) for part in parts]
        mixed = _mixed(connection, parts)
        for table in _TABLES:
            selects = []
            stacks = frames = 0
            for part, (stacks_count, frames_count) in zip(parts, shifts, strict=True):
                if (part / f"{table}.parquet").is_file():
                    selects.append(_select(part, table, stacks, frames, mixed))
                stacks, frames = stacks + stacks_count, frames + frames_count
            if not selects:
                continue
            temporary = out / f".{table}.parquet.{os.getpid()}"
            sql = " UNION ALL BY NAME ".join(selects)
            counted = connection.execute(
                f"COPY ({sql}) TO {literal(str(temporary))} (FORMAT parquet)"
            ).fetchone()
            temporary.replace(out / f"{table}.parquet")
            rows[table] = int(counted[0]) if counted else 0
    return rows


def _sizes(connection: duckdb.DuckDBPyConnection, part: Path) -> tuple[int, int]:
    found = connection.execute(
        "SELECT (SELECT coalesce(max(stack_id) + 1, 0)"
        f" FROM {from_parquet(part / 'stacks.parquet')}),"
        f" (SELECT coalesce(max(frame_id) + 1, 0) FROM {from_parquet(part / 'frames.parquet')})"
    ).fetchone()
    return (int(found[0]), int(found[1])) if found else (0, 0)


def _mixed(connection: duckdb.DuckDBPyConnection, parts: Sequence[Path]) -> list[str]:
    """Name the events that have several units: their weights cannot be added up."""
    files = [file for part in parts if (file := part / "samples.parquet").is_file()]
    if not files:
        return []
    found = connection.execute(
        f"SELECT event FROM {from_parquet(*files, more='union_by_name=true')}"
        " GROUP BY event HAVING count(DISTINCT unit) > 1"
    ).fetchall()
    return [str(event) for (event,) in found]


def _event(mixed: Sequence[str]) -> str:
    """Write the name of an event, with its unit where it has several and this is not its own."""
    if not mixed:
        return "event"
    own = " ".join(f"WHEN {literal(event)} THEN {literal(unit)}" for event, unit in _OWN.items())
    return (
        f"CASE WHEN event IN ({', '.join(map(literal, mixed))})"
        f" AND unit IS DISTINCT FROM CASE event {own} END"
        " THEN event || ' (' || unit || ')' ELSE event END"
    )


def _select(part: Path, table: str, stacks: int, frames: int, mixed: Sequence[str]) -> str:
    changed = {
        "samples": f"nullif(host, '') AS host, (java_stack + {stacks})::INTEGER AS java_stack,"
        f" {_event(mixed)} AS event",
        "stacks": f"(stack_id + {stacks})::INTEGER AS stack_id,"
        f" list_transform(frame_ids, lambda f: (f + {frames})::INTEGER) AS frame_ids",
        "frames": f"(frame_id + {frames})::INTEGER AS frame_id",
    }.get(table)
    replaced = f" REPLACE ({changed})" if changed else ""
    return f"SELECT *{replaced} FROM {from_parquet(part / f'{table}.parquet')}"


def _inside(raw: Path, name: str) -> Path:
    """Give the copy that a manifest names; the manifest may be anybody's."""
    path = (raw / name).resolve()
    if not path.is_relative_to(raw.resolve()):
        raise UsageError(
            f"the manifest names {name}, which lies outside {raw}",
            "import the profile again: pyrometer import FILE -o RUN",
        )
    return path
