"""Stores that are folders, as file systems that several hosts share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyrometer.store.paths import DRIVER, OF_THE_HOST
from pyrometer.store.services.chunk_files import copy_chunk, header_of, listed, streams_below
from pyrometer.store.services.chunk_store import Chunk, Refusals, Stream


class FolderStore:
    """A folder that agents ship to; it is only read.

    Parameters
    ----------
    root : Path
        The folder.
    """

    copied_at_once = 1

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def place(self) -> str:
        """Where it is, as messages call it."""
        return str(self.root)

    def has_services(self) -> bool:
        """Whether any agent that runs as a service ships there."""
        return self.root.joinpath(*OF_THE_HOST).is_dir()

    def streams(self, folder: str, refused: Refusals) -> Iterator[Stream]:
        """Give the streams below a folder that hold chunks; each folder is listed once."""
        for stream, chunks in streams_below(self.root / folder, refused):
            found = [Chunk(chunk.name, chunk) for chunk in chunks]
            yield Stream(str(stream.relative_to(self.root)), partial(tuple, found))

    def lives(self, since_ns: int | None, until_ns: int | None, refused: Refusals) -> Iterator[str]:
        """Give the folders of agents of hosts that may have shipped something of a time."""
        for attempt in self._folders(self.root.joinpath(*OF_THE_HOST), refused):
            begun_ns = begun(attempt.name)
            if begun_ns is None or (until_ns is not None and begun_ns > until_ns):
                continue
            for host in self._folders(attempt, refused):
                try:
                    is_over = since_ns is not None and _is_older(listed(host)[1], since_ns)
                except OSError as error:
                    refused.append(error)
                    continue
                if not is_over:
                    yield str(host.relative_to(self.root))

    def drivers(self, since_ns: int, refused: Refusals) -> Iterator[str]:
        """Give the folders of drivers that began to ship since a time, by their own clocks."""
        for application in self._folders(self.root, refused):
            for attempt in self._folders(application / DRIVER, refused):
                if (begun(attempt.name) or 0) >= since_ns:
                    for host in self._folders(attempt, refused):
                        yield str(host.relative_to(self.root))

    def files(self, folder: str) -> Sequence[Stream]:
        """Give the streams right in a folder, in order; their chunks are listed when asked for."""
        return [
            Stream(f"{folder}/{stream.name}", partial(_chunks, stream))
            for stream in listed(self.root / folder)[1]
        ]

    def headers(self, chunks: Sequence[Chunk]) -> list[dict[str, Any]]:
        """Read the headers of chunks, which nobody has checked; empty of what is no chunk."""
        return [header_of(chunk.at) for chunk in chunks]

    def copy(self, chunks: Sequence[tuple[Chunk, Path]], as_of_ns: int) -> None:
        """Copy chunks, each whole or not at all, in order; of what is too large, a part."""
        for chunk, target in chunks:
            copy_chunk(chunk.at, target, as_of_ns)

    def _folders(self, folder: Path, refused: Refusals) -> list[Path]:
        try:
            return listed(folder)[1]
        except OSError as error:
            refused.append(error)
            return []


def begun(attempt: str) -> int | None:
    """Give the time that an attempt is named by; ``None`` of what is none.

    Examples
    --------
    >>> begun("18f0"), begun("notes")
    (6384, None)
    """
    try:
        return int(attempt, 16)
    except ValueError:
        return None


def _chunks(stream: Path) -> Sequence[Chunk]:
    return [Chunk(chunk.name, chunk) for chunk in listed(stream)[0]]


def _is_older(streams: Sequence[Path], wall_ns: int) -> bool:
    """Whether nothing has arrived in any stream since a time, by the clock of the store."""
    return all(stream.stat().st_mtime_ns < wall_ns for stream in streams)
