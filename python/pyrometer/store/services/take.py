"""Streams of services into a run: those of agents that found an executor of its applications."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.store.chunks import join_chunks
from pyrometer.store.paths import OF_THE_HOST, RunPaths
from pyrometer.store.services.chunk_files import copy_chunk, header_of, is_taken, listed
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
    folder : Path
        Where it lies in the store.
    streams : tuple of Path
        Those of its probe, its report, canaries of its host, and the records of the executors that
        are looked for.
    """

    folder: Path
    streams: tuple[Path, ...]

    def has_reached(self, wall_ns: int) -> bool:
        """Whether everything up to a moment has been shipped, or nothing more will be."""
        series = [one for one in self.streams if one.name.endswith(_SERIES)]
        return all(_has_reached(stream, wall_ns) for stream in series)


def lives(store: Path, wanted: Wanted, refused: list[OSError]) -> Iterator[Life]:
    """Find the agents of hosts that found an executor of a run.

    Parameters
    ----------
    store : Path
        The folder that they ship to; it is only read.
    wanted : Wanted
        Applications, and when: agents that had ended long before, or began long after, are not
        looked into.
    refused : list of OSError
        Takes why a folder cannot be listed.
    """
    for attempt in _folders(store.joinpath(*OF_THE_HOST), refused):
        begun_ns = _begun(attempt.name)
        late = wanted.until_ns is not None and (begun_ns or 0) > wanted.until_ns + MARGIN_NS
        for host in [] if begun_ns is None or late else _folders(attempt, refused):
            try:
                life = _life(host, store, wanted)
            except OSError as error:
                refused.append(error)
                continue
            if life is not None:
                yield life


def _life(host: Path, store: Path, wanted: Wanted) -> Life | None:
    """Give the streams of an agent that found an executor of the run; ``None`` if it did not."""
    streams = listed(host)[1]
    if wanted.since_ns is not None and _is_older(streams, wanted.since_ns - MARGIN_NS):
        return None
    ours = _records([one for one in streams if one.match(RECORDS)], store, wanted.apps)
    rest = [one for one in streams if one.name.startswith(_STREAMS)]
    return Life(host, (*rest, *ours)) if ours else None


def take_life(life: Life, store: Path, paths: RunPaths, wanted: Wanted, as_of_ns: int) -> None:
    """Copy what an agent had shipped by the end of a run, and a little more.

    Streams whose files are complete already are left out.

    Raises
    ------
    OSError
        If the store cannot be read, or the run not written.
    """
    for stream in life.streams:
        own = paths.chunks / stream.relative_to(store)
        if is_taken(stream, own, paths.shipped / stream.relative_to(store)):
            continue
        own.mkdir(parents=True, exist_ok=True)
        for chunk in listed(stream)[0]:
            if not (own / chunk.name).exists():
                copy_chunk(chunk, own / chunk.name, as_of_ns)
            if _is_later(chunk, wanted.until_ns):
                break


def _is_later(chunk: Path, until_ns: int | None) -> bool:
    cut_ns = header_of(chunk).get("cut_wall_ns")
    return until_ns is not None and type(cut_ns) is int and cut_ns > until_ns + MARGIN_NS


def _has_reached(stream: Path, wall_ns: int) -> bool:
    chunks, _ = listed(stream)
    if not chunks:
        return False
    header = header_of(chunks[-1])
    cut_ns = header.get("cut_wall_ns")
    return header.get("last") is True or (type(cut_ns) is int and cut_ns >= wall_ns)


def _begun(attempt: str) -> int | None:
    """Give the time that an attempt is named by."""
    try:
        return int(attempt, 16)
    except ValueError:
        return None


def _is_older(streams: Sequence[Path], wall_ns: int) -> bool:
    """Whether nothing has arrived in any stream since a time, by the clock of the store."""
    return all(stream.stat().st_mtime_ns < wall_ns for stream in streams)


def _folders(folder: Path, refused: list[OSError]) -> list[Path]:
    try:
        return listed(folder)[1]
    except OSError as error:
        refused.append(error)
        return []


def _records(records: Sequence[Path], store: Path, apps: frozenset[str]) -> list[Path]:
    """Choose the records that are of these applications, by what they say."""
    if not records:
        return []
    with tempfile.TemporaryDirectory(prefix="pyrometer-found-") as scratch:
        copied, made = Path(scratch, "chunks"), Path(scratch, "files")
        for record in records:
            own = copied / record.relative_to(store)
            own.mkdir(parents=True)
            for chunk in listed(record)[0][-1:]:
                copy_chunk(chunk, own / chunk.name, 0)
        join_chunks(copied, made)
        said = {one: read_record(made / one.relative_to(store)) for one in records}
    return [one for one, found in said.items() if found is not None and found.app in apps]
