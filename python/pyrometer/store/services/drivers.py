"""Drivers that ship what they record: which applications are a run's, and when they were."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError
from pyrometer.core.json_text import parse_json
from pyrometer.store.chunks import join_chunks
from pyrometer.store.launcher import this_launcher
from pyrometer.store.manifest import Host, Manifest, Shipped, read_manifest, write_manifest
from pyrometer.store.paths import RunPaths
from pyrometer.store.services.chunk_store import ChunkStore, Refusals, Stream, why
from pyrometer.store.services.plugin_records import first_process
from pyrometer.store.services.stores import give_up, open_store

CLOCKS_APART_NS = 600 * 10**9
"""What began so much earlier, by another host's clock, is none of the run's."""
FIRST_CHUNKS = 4
"""In which a driver has said what it is: it does so at its start, and when it has an id."""

_HEAD_LINES = 1000
_TAIL_BYTES = 1 << 16
_PLUGIN = "plugin-driver-"
_NOT_THERE = ("driver_unreachable", "no_spark_jvm")
"""Doubts of a run of whose driver nothing had arrived."""


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


def find_driver(paths: RunPaths) -> list[Doubt]:
    """Look for a driver elsewhere of which nothing had arrived when the run ended.

    Its applications are noted in the manifest.

    Returns
    -------
    list of Doubt
        What could not be read, if nothing was found.
    """
    manifest = _closed(paths)
    if manifest is None or manifest.driver is None or manifest.shipped:
        return []
    driver, refused = manifest.driver, Refusals()
    since_ns = manifest.created_wall_ns - CLOCKS_APART_NS
    try:
        found = applications_sent(open_store(driver.to), driver.run_id, since_ns, refused)
    except PyrometerError as error:
        found, refused = [], [give_up(driver.to, error)]
    if not found:
        return [schema.doubt("chunks_elsewhere", why(one)) for one in refused[:1]]
    manifest.shipped = [Shipped(app_id=app, to=driver.to) for app in found]
    manifest.doubts = [one for one in manifest.doubts if one.code not in _NOT_THERE]
    write_manifest(paths.root, manifest)
    return []


def date_driver(paths: RunPaths) -> None:
    """Have the manifest say when a driver elsewhere lived, by what has arrived of its log."""
    manifest = _closed(paths)
    if manifest is None or manifest.driver is None or not manifest.shipped:
        return
    before = manifest.model_copy()
    live_elsewhere(manifest, paths.eventlogs())
    if manifest != before:
        write_manifest(paths.root, manifest)


def _closed(paths: RunPaths) -> Manifest | None:
    """Read the manifest of a run that has ended; whoever keeps the run writes it later himself."""
    try:
        manifest = read_manifest(paths.root)
    except PyrometerError:
        return None
    kept = manifest.state == "running" or manifest.launcher == this_launcher()
    return None if kept else manifest


def live_elsewhere(manifest: Manifest, logs: Iterable[Path]) -> None:
    """Have a run begin and end as its application did: nothing was recorded by the clock here."""
    manifest.host = Host()
    manifest.clock_pairs = []
    manifest.started_mono_ns = manifest.ended_mono_ns = None
    began, ended = life_in(logs)
    manifest.started_wall_ns = began or manifest.started_wall_ns
    manifest.ended_wall_ns = ended or manifest.ended_wall_ns


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
