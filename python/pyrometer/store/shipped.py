"""Streams that agents shipped from the hosts of executors: into a run, and to raw files."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError
from pyrometer.core.native import native
from pyrometer.store import manifest as manifests
from pyrometer.store.chunks import Stream, join_chunks
from pyrometer.store.manifest import Shipped
from pyrometer.store.paths import RunPaths
from pyrometer.store.private import keep_private

_MAGIC = b"PYROCHNK"
_HEAD_BYTES = 16
_HEADER_MOST = 64 << 10
_CHUNK = re.compile(r"[0-9]{12,}\.chunk", re.ASCII)
_CHUNK_MOST = _HEAD_BYTES + _HEADER_MOST + (16 << 20) + 8


def folder_of(place: str) -> Path | None:
    """Give the folder that executors ship to; ``None`` if it is a store of another kind.

    Examples
    --------
    >>> folder_of("file:///mnt/a b"), folder_of("/mnt/x"), folder_of("s3://bucket/x")
    (PosixPath('/mnt/a b'), PosixPath('/mnt/x'), None)
    """
    path = place.removeprefix("file://")
    return Path(path) if path.startswith("/") else None


def part(name: str) -> str:
    """Write a name as part of a chunk's path, as agents do; names of 180 bytes at most.

    Examples
    --------
    >>> part("app-1"), part("../a b")
    ('app-1', '%2E.%2Fa%20b')
    """
    escaped = re.sub(
        r"[^A-Za-z0-9_.-]", lambda found: "".join(f"%{b:02X}" for b in found[0].encode()), name
    )
    return re.sub(r"\A\.", "%2E", escaped)


def is_last(chunk: Path) -> bool:
    """Whether a stream had ended with a chunk; false of what is no chunk."""
    try:
        with chunk.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            length = int.from_bytes(head[12:16], "little")
            if not head.startswith(_MAGIC) or length > _HEADER_MOST:
                return False
            header = json.loads(file.read(length))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("last") is True


def open_streams(folder: Path) -> tuple[int, int]:
    """Count the streams below a folder of a store: all, and those that have no end yet.

    Folders that cannot be listed count as empty.
    """
    newest = [chunks[-1] for _, chunks in _streams(folder, [])]
    return len(newest), sum(not is_last(chunk) for chunk in newest)


def take_shipped(paths: RunPaths, shipped: Sequence[Shipped], as_of_ns: int) -> None:
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

    Raises
    ------
    OSError
        If a store cannot be read, which is said once the rest was taken, or the run not written.
    """
    refused: list[OSError] = []
    for one in shipped:
        store = folder_of(one.to)
        if store is None or _same(store, paths.chunks):
            continue
        for stream, chunks in _streams(store / part(one.app_id), refused):
            own = paths.chunks / stream.relative_to(store)
            made = paths.shipped / stream.relative_to(store)
            # Of a file that is replaced as a whole a newer version may have come.
            if made.exists() and not own.exists() and stream.suffix != ".json":
                continue
            own.mkdir(parents=True, exist_ok=True)
            for chunk in chunks:
                if not (own / chunk.name).exists():
                    _copy(chunk, own / chunk.name, as_of_ns)
    if refused:
        raise refused[0]


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
    if shipped:
        with contextlib.suppress(OSError):
            paths.chunks.mkdir(exist_ok=True)
    if not paths.chunks.is_dir():
        return doubts
    with _alone(paths.chunks):
        try:
            take_shipped(paths, shipped, as_of_ns)
        except OSError as error:
            doubts.append(schema.doubt("chunks_unjoined", f"{error.filename}: {error.strerror}"))
        joined = join_chunks(paths.chunks, paths.shipped)
        doubts += joined.doubts
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
    """Remove the chunks of a stream, and the folders above that are empty then."""
    shutil.rmtree(stream, ignore_errors=True)
    with contextlib.suppress(OSError):
        for folder in stream.parents:
            if folder == store:
                break
            folder.rmdir()


def _complete(stream: Stream) -> bool:
    missing = stream.missing_count or stream.missing_bytes or stream.damaged_count
    return stream.ended and stream.problem is None and not missing


def _streams(folder: Path, refused: list[OSError]) -> Iterator[tuple[Path, list[Path]]]:
    """Give folders that hold chunks, and those, in order; links are not followed.

    Each folder is listed once: a store of thousands of executors may be on another host. Why one
    cannot be listed goes into `refused`.
    """
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except FileNotFoundError:  # nothing has arrived, or what had is a file by now
        return
    except OSError as error:
        refused.append(error)
        return
    chunks = [
        folder / entry.name
        for entry in entries
        if _CHUNK.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
    ]
    if chunks:
        yield folder, chunks
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _streams(folder / entry.name, refused)


def _copy(source: Path, target: Path, as_of_ns: int) -> None:
    """Copy a chunk; of a larger file only so much that it is seen to be none."""
    temporary = target.with_name(f".{target.name}.tmp")
    opened = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(opened, "rb") as file:
        temporary.write_bytes(file.read(_CHUNK_MOST + 1))
    os.utime(temporary, ns=(as_of_ns, as_of_ns))
    temporary.replace(target)


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
            if path.is_file() and path.stat().st_mtime_ns > latest_ns:
                os.utime(path, ns=(latest_ns, latest_ns))


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _manifest(paths: RunPaths) -> manifests.Manifest | None:
    try:
        return manifests.read_manifest(paths.root)
    except PyrometerError:
        return None
