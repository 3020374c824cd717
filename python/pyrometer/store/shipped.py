"""Streams that agents shipped from the hosts of executors: into a run, and to raw files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError
from pyrometer.core.native import native
from pyrometer.store import manifest as manifests
from pyrometer.store.chunks import Stream, join_chunks
from pyrometer.store.manifest import Shipped
from pyrometer.store.paths import OF_THE_HOST, RunPaths
from pyrometer.store.private import keep_private
from pyrometer.store.services.chunk_files import (
    copy_chunk,
    folder_of,
    is_last,
    is_same,
    is_taken,
    listed,
    part,
    streams_below,
)
from pyrometer.store.services.stores import take_services

MOST_REFUSED = 5
"""Refusals of stores that are told one by one; they have one reason, as a rule."""

_OPEN_SERVICE = re.compile(rf"[0-9]+ streams of {' '.join(OF_THE_HOST)} on ")


def open_streams(folder: Path) -> tuple[int, int]:
    """Count the streams below a folder of a store: all, and those that have no end yet.

    Folders that cannot be listed count as empty.
    """
    newest = [chunks[-1] for _, chunks in streams_below(folder, [])]
    return len(newest), sum(not is_last(chunk) for chunk in newest)


def take_shipped(paths: RunPaths, shipped: Sequence[Shipped], as_of_ns: int) -> list[OSError]:
    """Copy into the run what arrived of its applications in stores elsewhere.

    Streams whose files are complete already are left out. The stores stay as they are.

    Parameters
    ----------
    paths : RunPaths
        Of the run.
    shipped : sequence of Shipped
        Its applications, and their stores.
    as_of_ns : int
        Time that copies bear, Unix.

    Returns
    -------
    list of OSError
        Why a store cannot be read, or the run not written; the rest was taken.
    """
    refused: list[OSError] = []
    for one in shipped:
        store = folder_of(one.to)
        if store is None or is_same(store, paths.chunks):
            continue
        for stream, chunks in streams_below(store / part(one.app_id), refused):
            own = paths.chunks / stream.relative_to(store)
            if is_taken(stream, own, paths.shipped / stream.relative_to(store)):
                continue
            try:
                own.mkdir(parents=True, exist_ok=True)
                for chunk in chunks:
                    if not (own / chunk.name).exists():
                        copy_chunk(chunk, own / chunk.name, as_of_ns)
            except OSError as error:
                refused.append(error)
    return refused


def join_shipped(paths: RunPaths, as_of_ns: int) -> list[Doubt]:
    """Make raw files of everything that was shipped for a run by now.

    Chunks of streams that are complete are removed: their files are what is kept, and redacted.

    Parameters
    ----------
    paths : RunPaths
        Of the run.
    as_of_ns : int
        When that was begun, Unix time: what is made bears no later one, so that only what arrives
        afterwards is newer than tables that were begun then.

    Returns
    -------
    list of Doubt
        What is missing, and what cannot be had from here.
    """
    manifest = _manifest(paths)
    shipped = [] if manifest is None else manifest.shipped
    doubts = [
        schema.doubt("chunks_elsewhere", f"Executors of {one.app_id} shipped to {one.to}.")
        for one in shipped
        if folder_of(one.to) is None
    ]
    if shipped or (manifest and manifest.agents):
        with contextlib.suppress(OSError):
            paths.chunks.mkdir(exist_ok=True)
    for folder in (paths.chunks, paths.shipped):
        if folder.is_symlink():
            # What is joined is removed there, and files are written here.
            text = f"{folder} is a symbolic link: what was shipped is read from the run itself only"
            return [*doubts, schema.doubt("chunks_unjoined", text)]
    if not paths.chunks.is_dir():
        return doubts
    with _alone(paths.chunks):
        refused = take_shipped(paths, shipped, as_of_ns)
        if manifest is not None:
            doubts += take_services(paths, manifest, as_of_ns, refused)
        doubts += [
            schema.doubt("chunks_unjoined", f"{error.filename}: {error.strerror}")
            for error in refused[:MOST_REFUSED]
        ]
        joined = join_chunks(paths.chunks, paths.shipped)
        # A service goes on when a run has ended.
        doubts += [
            one
            for one in joined.doubts
            if one.code != "chunks_open" or not _OPEN_SERVICE.match(one.message)
        ]
        for stream in joined.streams:
            if _complete(stream):
                _remove(paths.chunks / stream.path, paths.chunks)
        _date(paths.shipped, as_of_ns)
        for folder in (paths.chunks, paths.shipped):
            keep_private(folder)
    return doubts


def redact_shipped(paths: RunPaths) -> None:
    """Strike secrets out of the files that were made of chunks.

    Raises
    ------
    ValueError, OSError
        If a file cannot be read or replaced.
    """
    files = [str(one) for one in sorted(paths.shipped.rglob("*")) if one.is_file()]
    native().redact_files(files)


def _remove(stream: Path, store: Path) -> None:
    """Remove the chunks of a stream, nothing else, and the folders that are empty then."""
    with contextlib.suppress(OSError):
        for chunk in listed(stream)[0]:
            chunk.unlink()
        for folder in (stream, *stream.parents):
            if folder == store:
                break
            folder.rmdir()


def _complete(stream: Stream) -> bool:
    missing = stream.missing_count or stream.missing_bytes or stream.damaged_count
    return stream.ended and stream.problem is None and not missing


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Be the only one that joins a folder: chunks that another removes would be missed."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Not every file system has locks.
        with contextlib.suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _date(folder: Path, latest_ns: int) -> None:
    """Let no file be newer; they are derived, and say nothing new."""
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime_ns > latest_ns:
                os.utime(path, ns=(latest_ns, latest_ns), follow_symlinks=False)


def _manifest(paths: RunPaths) -> manifests.Manifest | None:
    try:
        return manifests.read_manifest(paths.root)
    except PyrometerError:
        return None
