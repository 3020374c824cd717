"""Chunks as files of a folder that agents ship to: listed, looked into, copied."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyrometer.core.replacing import replacing
from pyrometer.store.private import FILE_MODE
from pyrometer.store.services.chunk_store import Refusals

_MAGIC = b"PYROCHNK"
_HEAD_BYTES = 16
_HEADER_MOST = 64 << 10
_CHUNK = re.compile(r"[0-9]{12,}\.chunk", re.ASCII)
MOST_DEPTH = 16
"""Folders in one another that are looked into."""
CHUNK_MOST = _HEAD_BYTES + _HEADER_MOST + (16 << 20) + 8
"""Bytes of the largest chunk."""


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
    >>> part("app-1"), part("../a b"), part("")
    ('app-1', '%2E.%2Fa%20b', '%')
    """
    escaped = re.sub(
        r"[^A-Za-z0-9_.-]", lambda found: "".join(f"%{b:02X}" for b in found[0].encode()), name
    )
    return re.sub(r"\A\.", "%2E", escaped) or "%"


def header_of(chunk: Path) -> dict[str, Any]:
    """Read the header of a chunk, which nobody has checked yet; empty of what is no chunk."""
    try:
        with chunk.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            return header_in(head + file.read(min(_length(head), _HEADER_MOST)))
    except OSError:
        return {}


def header_in(begin: bytes) -> dict[str, Any]:
    """Read the header in the first bytes of a chunk; empty of what is no chunk, or has not all."""
    length = _length(begin)
    if not begin.startswith(_MAGIC) or length > min(_HEADER_MOST, len(begin) - _HEAD_BYTES):
        return {}
    try:
        header = json.loads(begin[_HEAD_BYTES : _HEAD_BYTES + length])
    except (ValueError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}


def is_chunk(name: str) -> bool:
    """Whether a file has the name of a chunk.

    Examples
    --------
    >>> is_chunk("000000000007.chunk"), is_chunk("notes.chunk")
    (True, False)
    """
    return _CHUNK.fullmatch(name) is not None


def _length(begin: bytes) -> int:
    return int.from_bytes(begin[12:16], "little")


def is_last(chunk: Path) -> bool:
    """Whether a stream had ended with a chunk; false of what is no chunk."""
    return header_of(chunk).get("last") is True


def listed(folder: Path) -> tuple[list[Path], list[Path]]:
    """Give the chunks of a folder and the folders in it, in order; links are neither.

    Raises
    ------
    OSError
        If it cannot be listed. A folder that is not there is empty.
    """
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except FileNotFoundError:  # nothing has arrived, or what had is a file by now
        return [], []
    chunks = [
        folder / entry.name
        for entry in entries
        if is_chunk(entry.name) and entry.is_file(follow_symlinks=False)
    ]
    folders = [folder / one.name for one in entries if one.is_dir(follow_symlinks=False)]
    return chunks, folders


def streams_below(
    folder: Path, refused: Refusals, depth: int = 0
) -> Iterator[tuple[Path, list[Path]]]:
    """Give folders that hold chunks, and those, in order.

    Each folder is listed once: a store of thousands of executors may be on another host. Why one
    cannot be listed goes into `refused`.
    """
    try:
        chunks, folders = listed(folder)
    except OSError as error:
        refused.append(error)
        return
    if chunks:
        yield folder, chunks
    if folders and depth == MOST_DEPTH:
        refused.append(OSError(errno.ELOOP, "too many folders in one another", str(folder)))
        return
    for one in folders:
        yield from streams_below(one, refused, depth + 1)


def copy_chunk(source: Path, target: Path, as_of_ns: int) -> None:
    """Copy a chunk; of a larger file only so much that it is seen to be none."""
    opened = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(opened, "rb") as file, replacing(target, FILE_MODE) as out:
        out.write(file.read(CHUNK_MOST + 1))
        out.flush()
        os.utime(out.fileno(), ns=(as_of_ns, as_of_ns))


def is_taken(file: str, own: Path, made: Path) -> bool:
    """Whether a run has all of a stream: the file that was made of it, and its chunks no more."""
    # Of a file that is replaced as a whole a newer version may have come.
    return made.exists() and not own.exists() and not file.endswith(".json")


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same folder."""
    return one.resolve() == other.resolve()
