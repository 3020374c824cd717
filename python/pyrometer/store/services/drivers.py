"""Drivers that ship what they record: which applications are a run's, and when they were."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyrometer.core.errors import PyrometerError
from pyrometer.core.json_text import parse_json
from pyrometer.store.chunks import join_chunks
from pyrometer.store.services.chunk_store import ChunkStore, Refusals, Stream
from pyrometer.store.services.plugin_records import first_process

FIRST_CHUNKS = 4
"""In which a driver has said what it is: it does so at its start, and when it has an id."""

_HEAD_LINES = 1000
_TAIL_BYTES = 1 << 16
_PLUGIN = "plugin-driver-"


def applications_sent(
    store: ChunkStore, run_id: str, since_ns: int, refused: Refusals
) -> list[str]:
    """Find the applications whose drivers ship under a run's name.

    Parameters
    ----------
    run_id : str
        As the run gave it to them.
    since_ns : int
        Drivers that began to ship before are not looked into; Unix time.
    refused : list
        Takes why a folder cannot be read.

    Raises
    ------
    PyrometerError
        If the store cannot be read at all.
    """
    found: dict[str, None] = {}
    for folder in store.drivers(since_ns, refused):
        try:
            for stream in store.files(folder):
                if stream.file.startswith(_PLUGIN):
                    said = _first_record(store, stream, since_ns)
                    if said.get("run_id") == run_id and isinstance(said.get("app_id"), str):
                        found[said["app_id"]] = None
        except (OSError, PyrometerError) as error:
            refused.append(error)
    return list(found)


def _first_record(store: ChunkStore, stream: Stream, as_of_ns: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pyrometer-driver-") as scratch:
        chunks, files = Path(scratch, "chunks"), Path(scratch, "files")
        folder = chunks / stream.name
        folder.mkdir(parents=True)
        first = [(one, folder / one.name) for one in stream.chunks[:FIRST_CHUNKS]]
        store.copy(first, as_of_ns)
        join_chunks(chunks, files)
        return first_process(files / stream.name)


def life_in(logs: Iterable[Path]) -> tuple[int | None, int | None]:
    """Say when the applications of plain event logs began and ended, in ns of Unix time.

    ``None`` where a log has no such event, as of a driver that was killed.
    """
    began, ended = set[int](), set[int]()
    for log in logs:
        with suppress(OSError), log.open("rb") as lines:
            for _, line in zip(range(_HEAD_LINES), lines, strict=False):
                began |= _time_of(line, "SparkListenerApplicationStart")
            lines.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            for line in lines:
                ended |= _time_of(line, "SparkListenerApplicationEnd")
    return min(began, default=None), max(ended, default=None)


def _time_of(line: bytes, event: str) -> set[int]:
    if event.encode() not in line[:100]:
        return set()
    with suppress(ValueError):
        parsed = parse_json(line)
        at = parsed.get("Timestamp") if isinstance(parsed, dict) else None
        if isinstance(at, int) and at > 0:
            return {at * 10**6}
    return set()
