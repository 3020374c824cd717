"""What is read of a store that agents ship to, whatever kind of store it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from pyrometer.core.errors import PyrometerError

Refusals = list[OSError | PyrometerError]
"""Why a store or a folder of it cannot be read, or the run not written."""


@dataclass(frozen=True)
class Chunk:
    """A chunk that arrived.

    Attributes
    ----------
    name : str
        Name of its file.
    at : object
        Where its store finds it.
    arrived_ns : int or None
        When it arrived, by the store's clock, Unix time; ``None`` where the listing does not say.
    """

    name: str
    at: Any
    arrived_ns: int | None = None


@dataclass(frozen=True)
class Stream:
    """A folder of chunks.

    Attributes
    ----------
    name : str
        Its path in the store.
    listed : callable
        Lists its chunks, in order.
    """

    name: str
    listed: Callable[[], Sequence[Chunk]]

    @property
    def file(self) -> str:
        """Name of the file that is made of it, as part of a path."""
        return self.name.rpartition("/")[2]

    @cached_property
    def chunks(self) -> Sequence[Chunk]:
        """Its chunks, in order, as they are listed once.

        Raises
        ------
        OSError
            If they cannot be listed.
        """
        return self.listed()


class ChunkStore(Protocol):
    """A store, of which nothing is changed.

    What makes one folder unreadable is an ``OSError``; what makes the store so, a
    ``PyrometerError``.
    """

    copied_at_once: int
    """Chunks that are best copied together."""

    @property
    def place(self) -> str:
        """Where it is, as messages call it."""

    def has_services(self) -> bool:
        """Whether any agent that runs as a service ships there."""

    def streams(self, folder: str, refused: Refusals) -> Iterator[Stream]:
        """Give the streams below a folder that hold chunks."""

    def lives(self, since_ns: int | None, until_ns: int | None, refused: Refusals) -> Iterator[str]:
        """Give the folders of agents of hosts that may have shipped something of a time."""

    def drivers(self, since_ns: int, refused: Refusals) -> Iterator[str]:
        """Give the folders of drivers that began to ship since a time, by their own clocks."""

    def files(self, folder: str) -> Sequence[Stream]:
        """Give the streams right in a folder, in order."""

    def headers(self, chunks: Sequence[Chunk]) -> list[dict[str, Any]]:
        """Read the headers of chunks, which nobody has checked; empty of what is no chunk."""

    def copy(self, chunks: Sequence[tuple[Chunk, Path]], as_of_ns: int) -> None:
        """Copy chunks in order, each whole or not at all; what is too large never whole.

        Copies bear a time, that of Unix.
        """


def why(refusal: OSError | PyrometerError) -> str:
    """Say why something was refused, with what to do where that is known."""
    if isinstance(refusal, OSError):
        return f"{refusal.filename}: {refusal.strerror}"
    return "; ".join(part for part in (refusal.message, refusal.remedy) if part)
