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
from pyrometer.core.redaction import redact_each
from pyrometer.store import manifest as manifests
from pyrometer.store.chunks import Stream, join_chunks
from pyrometer.store.manifest import Shipped
from pyrometer.store.paths import OF_THE_HOST, RunPaths
from pyrometer.store.private import keep_private
from pyrometer.store.services.chunk_files import is_taken, listed, part
from pyrometer.store.services.chunk_store import Chunk, ChunkStore, Refusals, why
from pyrometer.store.services.folder_store import FolderStore
from pyrometer.store.services.recorder_gaps import doubt_gaps
from pyrometer.store.services.stores import give_up, is_own, open_store, take_services

MOST_REFUSED = 5
"""Refusals of stores that are told one by one; they have one reason, as a rule."""

_OPEN_SERVICE = re.compile(rf"[0-9]+ streams of {' '.join(OF_THE_HOST)} on ")


def open_streams(folder: Path) -> tuple[int, int]:
    """Count the streams below a folder of a store: all, and those that have no end yet.

    Folders that cannot be listed count as empty.
    """
    store = FolderStore(folder)
    newest = [stream.chunks[-1] for stream in store.streams("", [])]
    return len(newest), sum(one.get("last") is not True for one in store.headers(newest))


def has_open(store: ChunkStore, folder: str, ended: set[str]) -> bool:
    """Whether a stream below a folder of a store has no end yet.

    Parameters
    ----------
    store : ChunkStore
        Where they lie.
    folder : str
        Its folder.
    ended : set of str
        Streams that are known to have ended, which are not looked at; takes those that are found.

    Raises
    ------
    PyrometerError
        If the store cannot be read.
    """
    streams = [one for one in store.streams(folder, []) if one.name not in ended]
    headers = store.headers([stream.chunks[-1] for stream in streams])
    ended.update(
        stream.name
        for stream, header in zip(streams, headers, strict=True)
        if header.get("last") is True
    )
    return any(stream.name not in ended for stream in streams)


def take_shipped(
    paths: RunPaths, shipped: Sequence[Shipped], as_of_ns: int, refused: Refusals
) -> None:
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
    refused : list
        Takes why a store cannot be read, or the run not written; the rest is taken.
    """
    for one in shipped:
        if is_own(one.to, paths):
            continue
        try:
            _take(open_store(one.to), part(one.app_id), paths, as_of_ns, refused)
        except PyrometerError as error:
            refused.append(give_up(one.to, error))


def _take(
    store: ChunkStore, folder: str, paths: RunPaths, as_of_ns: int, refused: Refusals
) -> None:
    absent: list[tuple[Chunk, Path]] = []

    def copy() -> None:
        try:
            store.copy(absent, as_of_ns)
        except OSError as error:
            refused.append(error)
        absent.clear()

    for stream in store.streams(folder, refused):
        own = paths.chunks / stream.name
        if is_taken(stream.file, own, paths.shipped / stream.name):
            continue
        try:
            own.mkdir(parents=True, exist_ok=True)
            absent += [
                (one, own / one.name) for one in stream.chunks if not (own / one.name).exists()
            ]
        except OSError as error:
            refused.append(error)
        if len(absent) >= store.copied_at_once:
            copy()
    copy()


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
    doubts: list[Doubt] = []
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
        refused: Refusals = []
        take_shipped(paths, shipped, as_of_ns, refused)
        if manifest is not None:
            doubts += take_services(paths, manifest, as_of_ns, refused)
        doubts += [
            schema.doubt(
                "chunks_unjoined" if isinstance(one, OSError) else "chunks_elsewhere", why(one)
            )
            for one in list(dict.fromkeys(refused))[:MOST_REFUSED]
        ]
        joined = join_chunks(paths.chunks, paths.shipped)
        # A service goes on when a run has ended.
        doubts += [
            one
            for one in joined.doubts
            if one.code != "chunks_open" or not _OPEN_SERVICE.match(one.message)
        ]
        if manifest is not None:
            doubts += doubt_gaps(paths, manifest)
        for stream in joined.streams:
            if _complete(stream):
                _remove(paths.chunks / stream.path, paths.chunks)
        _date(paths.shipped, as_of_ns)
        for folder in (paths.chunks, paths.shipped):
            keep_private(folder)
    return doubts


def redact_shipped(paths: RunPaths) -> Iterator[str]:
    """Strike secrets out of the files that were made of chunks.

    Yields
    ------
    str
        Why a file keeps them, and which chunks do: those of streams that are not whole stay.
    """
    struck: list[Path] = []
    yield from redact_each(sorted(paths.shipped.rglob("*")), struck)
    held = set(struck)
    kept = [] if paths.chunks.is_symlink() else FolderStore(paths.chunks).streams("", [])
    secret: list[str] = []
    unread: list[str] = []
    for stream in kept:
        file = paths.shipped / stream.name
        if file in held:
            secret.append(stream.name)
        elif not file.is_file():
            unread.append(stream.name)
    for found, what in ((secret, "hold a secret"), (unread, "cannot be looked into for secrets")):
        if found:
            yield (
                f"{paths.chunks}: chunks of {len(found)} stream(s) that are not whole are kept for"
                f" the next ingest, and {what} ({', '.join(sorted(found)[:MOST_REFUSED])});"
                " remove them before the run directory is given to others"
            )


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
