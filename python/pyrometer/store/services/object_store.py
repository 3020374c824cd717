"""Stores at an address: S3 and others that fsspec reads, listed by prefix, fetched in parts."""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pyrometer.core.errors import UsageError
from pyrometer.core.replacing import replacing
from pyrometer.store.paths import DRIVER, OF_THE_HOST
from pyrometer.store.private import FILE_MODE
from pyrometer.store.remote.address import checked, shown
from pyrometer.store.remote.kept import Kept
from pyrometer.store.remote.objects import BATCH, PART_BYTES, Object, Objects
from pyrometer.store.remote.opened import count_chunks
from pyrometer.store.remote.progress import Came
from pyrometer.store.services.chunk_files import CHUNK_MOST, MOST_DEPTH, header_in, is_chunk, part
from pyrometer.store.services.chunk_store import Chunk, Refusals, Stream
from pyrometer.store.services.folder_store import begun

LONGEST_LIFE_NS = 48 * 3600 * 10**9
"""Agents begin their streams anew after a day at most; while the store is away, later."""
AT_ONCE = 16
"""Folders that are listed at once."""
HEAD_BYTES = 4 << 10
"""More than the header of any chunk that an agent writes."""
_HOSTS = "/".join(OF_THE_HOST)
Answer = TypeVar("Answer")


class ObjectStore:
    """A store at an address; it is only read.

    Parameters
    ----------
    place : str
        The address.

    Raises
    ------
    UsageError
        If it is no address of a store.
    CapabilityError
        If the package that reads it is not installed.
    """

    copied_at_once = BATCH

    def __init__(self, place: str) -> None:
        self._objects = Objects(address_of(place), shared=True)
        self._told = (0, 0)

    @property
    def place(self) -> str:
        """Where it is, as messages call it."""
        return self._objects.shown

    def has_services(self) -> bool:
        """Whether any agent that runs as a service ships there."""
        return bool(self._folders([_HOSTS])[0])

    def streams(self, folder: str, refused: Refusals) -> Iterator[Stream]:
        """Give the streams below a folder that hold chunks, some folders at once."""
        for some in _at_once(self._folders([folder])[0]):
            for found in self._below(some):
                yield from found

    def lives(self, since_ns: int | None, until_ns: int | None, refused: Refusals) -> Iterator[str]:
        """Give the folders of agents of hosts that may have shipped something of a time."""
        earliest_ns = 0 if since_ns is None else since_ns - LONGEST_LIFE_NS
        attempts = [
            attempt
            for attempt in self._folders([_HOSTS])[0]
            if (begun_ns := begun(attempt.rpartition("/")[2])) is not None
            and begun_ns >= earliest_ns
            and (until_ns is None or begun_ns <= until_ns)
        ]
        for some in _at_once(attempts):
            lives = [life for folders in self._folders(some) for life in folders]
            older = [
                life
                for life in lives
                if since_ns is not None and (begun(life.split("/")[2]) or 0) < since_ns
            ]
            over = {
                life
                for life, streams in zip(older, self._below(_reports(older)), strict=True)
                if _is_over(streams, since_ns)
            }
            yield from (life for life in lives if life not in over)

    def drivers(self, since_ns: int, refused: Refusals) -> Iterator[str]:
        """Give the folders of drivers that began to ship since a time, by their own clocks."""
        applications = self._objects.top()[1]
        for some in _at_once([f"{application}/{DRIVER}" for application in applications]):
            attempts = [one for found in self._folders(some) for one in found]
            late = [one for one in attempts if (begun(one.rpartition("/")[2]) or 0) >= since_ns]
            yield from (host for hosts in self._folders(late) for host in hosts)

    def files(self, folder: str) -> Sequence[Stream]:
        """Give the streams right in a folder, in order."""
        return [one for one in self._below([folder])[0] if one.name == f"{folder}/{one.file}"]

    def headers(self, chunks: Sequence[Chunk]) -> list[dict[str, Any]]:
        """Read the headers of chunks, which nobody has checked; empty of what is no chunk."""
        heads = {
            str(number): replace(chunk.at, size_bytes=min(chunk.at.size_bytes, HEAD_BYTES))
            for number, chunk in enumerate(chunks)
        }
        found = dict(self._objects.whole(heads))
        self._tell()
        return [header_in(found[name]) for name in heads]

    def copy(self, chunks: Sequence[tuple[Chunk, Path]], as_of_ns: int) -> None:
        """Have chunks here, each whole or not at all, in order; what is too large is refused."""
        too_large = [chunk for chunk, _ in chunks if chunk.at.size_bytes > CHUNK_MOST]
        fit = [(chunk, target) for chunk, target in chunks if chunk.at.size_bytes <= CHUNK_MOST]
        came = Came(self.place, sum(chunk.at.size_bytes for chunk, _ in fit))
        for name, of_part in _by_part(self._objects.root, fit).items():
            kept = Kept(self.place, name)
            try:
                for some in _some(of_part):
                    self._copy(some, kept, as_of_ns)
                    came.more(sum(chunk.at.size_bytes for chunk, _ in some))
            finally:
                kept.close()
                self._tell()
        if too_large:
            raise OSError(errno.EFBIG, "too large for a chunk", too_large[0].at.key)

    def _copy(self, chunks: Sequence[tuple[Chunk, Path]], kept: Kept, as_of_ns: int) -> None:
        """Copy a few chunks, which are in memory at once: what is there is always a beginning."""
        here = {chunk.at.key: kept.get(chunk.at) for chunk, _ in chunks}
        missing = {chunk.at.key: chunk.at for chunk, _ in chunks if here[chunk.at.key] is None}
        for key, content in self._objects.whole(missing):
            here[key] = content
            kept.put(missing[key], content)
        self._tell(len(missing))
        for chunk, target in chunks:
            with replacing(target, FILE_MODE) as out:
                out.write(here[chunk.at.key] or b"")
                out.flush()
                os.utime(out.fileno(), ns=(as_of_ns, as_of_ns))

    def _folders(self, parents: Sequence[str]) -> list[list[str]]:
        return self._each(self._objects.folders, parents)

    def _below(self, folders: Sequence[str]) -> list[list[Stream]]:
        """List the streams at and below some folders."""
        return self._each(lambda folder: _streams_of(self._objects.below(folder)), folders)

    def _each(self, ask: Callable[[str], Answer], folders: Sequence[str]) -> list[Answer]:
        """Ask of some folders at once."""
        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                return list(pool.map(ask, folders))
        finally:
            self._tell()

    def _tell(self, chunks: int = 0) -> None:
        """Count what was fetched since it was told last."""
        now = (self._objects.fetched_bytes, self._objects.requests_count)
        of_bytes, requests = (new - old for new, old in zip(now, self._told, strict=True))
        self._told = now
        count_chunks(self.place, bytes=of_bytes, requests=requests, chunks=chunks)


def address_of(place: str) -> str:
    """Check the address of a store, which the run directory keeps.

    Examples
    --------
    >>> address_of("S3://bucket/agents/")
    's3://bucket/agents'

    Raises
    ------
    UsageError
        If it is none, or holds credentials.
    """
    url = checked(place)
    if shown(url) != url or "?" in url:
        raise UsageError(
            f"{shown(url)}: credentials do not belong into the address of a store",
            "give them as the store's own tools take them (AWS_PROFILE,"
            " GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_…)",
        )
    return url


def _at_once(folders: Sequence[str]) -> Iterator[Sequence[str]]:
    return (folders[at : at + AT_ONCE] for at in range(0, len(folders), AT_ONCE))


def _reports(lives: Sequence[str]) -> list[str]:
    """Give the streams of the reports that agents write each minute, and last of all."""
    # The name of the file has the host's as part of a path already.
    files = (f"agent-{life.rpartition('/')[2]}.report.json" for life in lives)
    return [f"{life}/{part(file)}" for life, file in zip(lives, files, strict=True)]


def _is_over(report: Sequence[Stream], since_ns: int | None) -> bool:
    """Whether an agent has shipped nothing since a time, by its report and the store's clock."""
    arrived = [chunk.arrived_ns for stream in report for chunk in stream.chunks]
    known = [one for one in arrived if one is not None]
    return since_ns is not None and bool(known) and len(known) == len(arrived) and (
        max(known) < since_ns
    )  # fmt: skip


def _streams_of(files: dict[str, Object]) -> list[Stream]:
    """Make streams of a listing; what no agent puts there is passed over."""
    found: dict[str, list[Chunk]] = defaultdict(list)
    for name, one in sorted(files.items()):
        folder, _, file = name.rpartition("/")
        parts = folder.split("/")
        if is_chunk(file) and len(parts) <= MOST_DEPTH and not any(map(is_chunk, parts)):
            found[folder].append(Chunk(file, one, one.arrived_ns))
    return [Stream(folder, partial(tuple, chunks)) for folder, chunks in found.items()]


def _by_part(
    root: str, chunks: Sequence[tuple[Chunk, Path]]
) -> dict[str, list[tuple[Chunk, Path]]]:
    """Sort chunks by what is kept together: an application, or what hosts began on one day."""
    found: dict[str, list[tuple[Chunk, Path]]] = defaultdict(list)
    for chunk, target in chunks:
        parts = chunk.at.key[len(root) + 1 :].split("/")
        day = (begun(parts[2]) or 0) // (86_400 * 10**9) if tuple(parts[:2]) == OF_THE_HOST else ""
        found[f"{parts[0]} {day}"].append((chunk, target))
    return found


def _some(chunks: Sequence[tuple[Chunk, Path]]) -> Iterator[list[tuple[Chunk, Path]]]:
    """Cut chunks into pieces that are in memory at once."""
    some: list[tuple[Chunk, Path]] = []
    size_bytes = 0
    for chunk, target in chunks:
        if some and (size_bytes + chunk.at.size_bytes > 2 * PART_BYTES or len(some) == BATCH):
            yield some
            some, size_bytes = [], 0
        some.append((chunk, target))
        size_bytes += chunk.at.size_bytes
    if some:
        yield some
