"""Streams of services into a run: those of agents that found an executor of its applications."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pyrometer.store.chunks import join_chunks
from pyrometer.store.paths import RunPaths
from pyrometer.store.services.chunk_files import is_taken
from pyrometer.store.services.chunk_store import ChunkStore, Refusals, Stream
from pyrometer.store.services.executors import RECORDS, read_record

MARGIN_NS = 600 * 10**9
"""Clocks of hosts may be so far apart, and streams go on so long, for a run to be theirs."""

_STREAMS = ("probe-", "agent-", "canary-")
_SERIES = "-series.arrows"


@dataclass(frozen=True)
class Wanted:
    """What is looked for in a store.

    Attributes
    ----------
    apps : frozenset of str
        Ids of the run's applications.
    since_ns, until_ns : int or None
        Begin and end of the run, Unix time; ``None`` where it is not known.
    """

    apps: frozenset[str]
    since_ns: int | None = None
    until_ns: int | None = None


@dataclass(frozen=True)
class Life:
    """What one agent shipped from its start to its end, or by now.

    Attributes
    ----------
    store : ChunkStore
        Where it lies.
    folder : str
        Its folder there.
    streams : tuple of Stream
        Those of its probe, its report, canaries of its host, and the records of the executors that
        are looked for.
    """

    store: ChunkStore
    folder: str
    streams: tuple[Stream, ...]

    def again(self) -> Life:
        """Give it with all that has arrived by now in the same streams."""
        names = {stream.name for stream in self.streams}
        streams = tuple(one for one in self.store.files(self.folder) if one.name in names)
        return Life(self.store, self.folder, streams)

    def has_reached(self, wall_ns: int) -> bool:
        """Whether everything up to a moment has been shipped, or nothing more will be."""
        series = [one for one in self.streams if one.file.endswith(_SERIES)]
        if not all(stream.chunks for stream in series):
            return False
        newest = self.store.headers([stream.chunks[-1] for stream in series])
        return all(one.get("last") is True or _is_after(one, wall_ns - 1) for one in newest)


def lives(store: ChunkStore, wanted: Wanted, refused: Refusals) -> Iterator[Life]:
    """Find the agents of hosts that found an executor of a run.

    Parameters
    ----------
    store : ChunkStore
        Where they ship to.
    wanted : Wanted
        Applications, and when: agents that had ended long before, or began long after, are not
        looked into.
    refused : list
        Takes why a folder cannot be listed.

    Raises
    ------
    PyrometerError
        If the store cannot be read at all.
    """
    since_ns = None if wanted.since_ns is None else wanted.since_ns - MARGIN_NS
    until_ns = None if wanted.until_ns is None else wanted.until_ns + MARGIN_NS
    for folder in store.lives(since_ns, until_ns, refused):
        try:
            streams = store.files(folder)
            ours = _records(
                [one for one in streams if fnmatchcase(one.file, RECORDS)], store, wanted
            )
        except OSError as error:
            refused.append(error)
            continue
        if ours:
            rest = [one for one in streams if one.file.startswith(_STREAMS)]
            yield Life(store, folder, (*rest, *ours))


def take_life(life: Life, paths: RunPaths, wanted: Wanted, as_of_ns: int) -> None:
    """Copy what an agent had shipped by the end of a run, and a little more.

    Streams whose files are complete already are left out.

    Raises
    ------
    OSError
        If the store cannot be read, or the run not written.
    PyrometerError
        If the store cannot be read at all.
    """
    missing = [
        stream
        for stream in life.streams
        if not is_taken(stream.file, paths.chunks / stream.name, paths.shipped / stream.name)
    ]
    until_ns = None if wanted.until_ns is None else wanted.until_ns + MARGIN_NS
    absent = []
    for stream, count in _cut(life.store, missing, until_ns).items():
        own = paths.chunks / stream.name
        own.mkdir(parents=True, exist_ok=True)
        chunks = stream.chunks[:count]
        absent += [(one, own / one.name) for one in chunks if not (own / one.name).exists()]
    life.store.copy(absent, as_of_ns)


def _cut(
    store: ChunkStore, streams: Sequence[Stream], until_ns: int | None
) -> Mapping[Stream, int]:
    """Say how many chunks of each stream reach to a time: up to the first that was cut after it.

    All streams are halved at once, as what is asked of a store elsewhere takes long one by one. A
    chunk that does not say when it was cut is taken, and what arrived by then was cut by then.
    """
    low = {stream: _arrived(stream, until_ns) for stream in streams}
    high = {stream: 0 if until_ns is None else len(stream.chunks) for stream in streams}
    while halves := {one: (low[one] + high[one]) // 2 for one in streams if low[one] < high[one]}:
        headers = store.headers([stream.chunks[at] for stream, at in halves.items()])
        for (stream, at), header in zip(halves.items(), headers, strict=True):
            if _is_after(header, until_ns):
                high[stream] = at
            else:
                low[stream] = at + 1
    return {
        one: len(one.chunks) if until_ns is None else min(low[one] + 1, len(one.chunks))
        for one in streams
    }


def _arrived(stream: Stream, until_ns: int | None) -> int:
    """Count the chunks that arrived by a time, before any that may have come later."""
    for number, chunk in enumerate(stream.chunks if until_ns is not None else ()):
        if chunk.arrived_ns is None or chunk.arrived_ns > (until_ns or 0):
            return number
    return len(stream.chunks)


def _is_after(header: Mapping[str, Any], wall_ns: int | None) -> bool:
    """Whether a chunk was cut after a moment."""
    cut_ns = header.get("cut_wall_ns")
    return wall_ns is not None and type(cut_ns) is int and cut_ns > wall_ns


def _records(records: Sequence[Stream], store: ChunkStore, wanted: Wanted) -> list[Stream]:
    """Choose the records that are of a run's applications, by what they say."""
    if not records:
        return []
    with tempfile.TemporaryDirectory(prefix="pyrometer-found-") as scratch:
        copied, made = Path(scratch, "chunks"), Path(scratch, "files")
        newest = []
        for record in records:
            (copied / record.name).mkdir(parents=True)
            newest += [(one, copied / record.name / one.name) for one in record.chunks[-1:]]
        store.copy(newest, 0)
        join_chunks(copied, made)
        said = {one: read_record(made / one.name) for one in records}
    return [one for one, found in said.items() if found is not None and found.app in wanted.apps]
