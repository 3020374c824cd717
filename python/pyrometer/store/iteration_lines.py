"""Lines that a workload's runner writes, at each end of an iteration, as rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyrometer.core import schema
from pyrometer.core.json_text import parse_json

# The runner's words for how an iteration ended, and the table's.
_STATUS = {"ok": "success", "interrupted": "failed"}
_UNREADABLE = "iteration_line_unreadable"


def read_iterations(path: Path, note: Callable[..., None]) -> list[dict[str, Any]]:
    """Read the rows of table ``iterations``; lines that make none are noted and passed over.

    Parameters
    ----------
    path : Path
        ``iterations.ndjson``.
    note : callable
        Takes code and message of a doubt, and ``file`` and ``line``.
    """
    rows: dict[int, dict[str, Any]] = {}
    for number, record in _lines(path, note):
        try:
            _take(rows, record)
        except (KeyError, TypeError, ValueError) as error:
            message = f"{path.name}, line {number}: {type(error).__name__}: {error}"
            note(_UNREADABLE, message, file=str(path), line=number)
    return [rows[number] for number in sorted(rows)]


def _take(rows: dict[int, dict[str, Any]], record: dict[str, Any]) -> None:
    columns = {column.name: column for column in schema.tables()["iterations"].columns}
    iteration = columns["iteration"].checked(record["iteration"])
    fresh = {"iteration": iteration, "warmup": False, "status": "running"}
    row = {**rows.get(iteration, fresh)}
    aliases = {"rows": "result_rows_count", "checksum": "result_checksum"}
    event = record.get("k")
    if event in ("start", "end"):
        aliases |= {clock: f"{event}_{clock}" for clock in ("mono_ns", "wall_ns")}
    for key, value in record.items():
        name = aliases.get(key, key)
        if name in columns and value is not None:
            row[name] = columns[name].checked(value)
    row["status"] = _STATUS.get(row["status"], row["status"])
    for needed in ("start_mono_ns", "start_wall_ns"):
        if needed not in row:
            raise ValueError(f"{needed} is missing")
    rows[iteration] = row


def _lines(path: Path, note: Callable[..., None]) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = parse_json(line)
            except ValueError:
                record = None
            if isinstance(record, dict):
                yield number, record
            else:
                message = f"{path.name}, line {number}: not a JSON object"
                note(_UNREADABLE, message, file=str(path), line=number)
