"""Who wrote a plugin file: its records of the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyrometer.core.json_text import parse_json

PROCESS = b'{"k":"process"'
"""How the line of such a record begins."""

_LONGEST_BYTES = 1 << 20


def process_host(file: Path) -> str | None:
    """Give the host that a plugin file names as its own; ``None`` if it names none."""
    for line in lines_of(file):
        if line.startswith(PROCESS) and (host := host_in(line)) is not None:
            return host
    return None


def first_process(file: Path) -> dict[str, Any]:
    """Give the first record in which a plugin file names its application, else its host; or {}."""
    found: dict[str, Any] = {}
    for line in lines_of(file):
        if line.startswith(PROCESS):
            record = _record(line)
            found = found or record
            if record.get("app_id"):
                return record
    return found


def lines_of(file: Path) -> Iterator[bytes]:
    """Give the whole lines of a file, of which none is longer than a record can be."""
    # That it cannot be read is said where its records are.
    with suppress(OSError), file.open("rb") as lines:
        while line := lines.readline(_LONGEST_BYTES):
            # The last line of a JVM that was killed may be half a line.
            if line.endswith(b"\n"):
                yield line


def host_in(line: bytes) -> str | None:
    """Give the host that a record names; ``None`` if it names none."""
    return _name_in(line, "host")


def app_in(line: bytes) -> str | None:
    """Give the application that a record names; ``None`` if it names none."""
    return _name_in(line, "app_id")


def _name_in(line: bytes, key: str) -> str | None:
    name = _record(line).get(key)
    return name if isinstance(name, str) and name else None


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = parse_json(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
