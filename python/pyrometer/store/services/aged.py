"""What of a store is old, whole, and certainly made by agents: what may be removed of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from pyrometer.store.paths import OF_THE_HOST
from pyrometer.store.services.chunk_files import is_chunk, part
from pyrometer.store.services.folder_store import begun

_FIRST_NS = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp()) * 10**9
"""No agent began earlier."""
_ABOVE_FILE = 4
"""Application, executor, attempt and host come before the file, whose path may have folders."""
_LONGEST_PART = 180
_FILE = re.compile(r"[0-9]{12,}\.(?:chunk|tmp)", re.ASCII)
_FOLDERS = re.compile(r"(?:[A-Za-z0-9_%@-][A-Za-z0-9_.%@-]*/)+", re.ASCII)


@dataclass(frozen=True)
class Entry:
    """What lies in a store: a file, or what is neither file nor folder.

    Attributes
    ----------
    name : str
        Its path in the store.
    size_bytes : int
        Of a file.
    arrived_ns : int or None
        When it came, by the clock of the store, Unix time.
    at : object
        Where its store finds it; ``None`` of what is no file.
    why : str or None
        Why what is there cannot be looked at.
    """

    name: str
    size_bytes: int
    arrived_ns: int | None
    at: Any
    why: str | None = None


@dataclass
class Batch:
    """What is removed as a whole: an application, or what a host's agents began on one day.

    Attributes
    ----------
    name : str
        What it is called.
    folders : set of str
        Its folders in the store.
    chunks_count, size_bytes : int
        All that is in them.
    newest_ns : int
        When the last of it came, or the last of its agents began.
    stays : str or None
        Why it is not removed, whatever its age.
    """

    name: str
    folders: set[str] = field(default_factory=set)
    chunks_count: int = 0
    size_bytes: int = 0
    newest_ns: int = 0
    stays: str | None = None

    def is_old(self, before_ns: int) -> bool:
        """Whether it may be removed: nothing of it is as young as a time."""
        return self.stays is None and self.chunks_count > 0 and self.newest_ns < before_ns


def is_ours(name: str) -> bool:
    """Whether an agent may have given a path: it means nothing to a file system or a shell.

    Examples
    --------
    >>> is_ours("app-1/1/18f0/h/gc.log/000000000000.chunk"), is_ours("app*/000000000000.chunk")
    (True, False)
    """
    folders, slash, file = name.rpartition("/")
    return _FOLDERS.fullmatch(folders + slash) is not None and is_file_of_ours(file)


def is_file_of_ours(name: str) -> bool:
    """Whether a file has the name of a chunk, or of one that an agent was killed over.

    Examples
    --------
    >>> is_file_of_ours("000000000007.tmp"), is_file_of_ours("notes.tmp")
    (True, False)
    """
    return _FILE.fullmatch(name) is not None


def batches(entries: Iterator[Entry], header: Callable[[Entry], dict[str, Any]]) -> list[Batch]:
    """Sort what lies in a store by what is removed as a whole.

    Parameters
    ----------
    entries : iterator of Entry
        All of it.
    header : callable
        Reads the header of a chunk: of each agent's life one is looked at.

    Returns
    -------
    list of Batch
        In order of their names.
    """
    found: dict[str, Batch] = {}
    seen: set[str] = set()
    unfinished: dict[str, tuple[Batch, str]] = {}
    for entry in entries:
        parts = entry.name.split("/")
        name, folder = _whose(parts)
        batch = found.setdefault(name, Batch(name))
        batch.folders.add(folder)
        strange = _strange(entry, parts)
        life = "/".join(parts[:_ABOVE_FILE])
        if strange is None and not is_chunk(parts[-1]):
            unfinished[life] = batch, entry.name
        elif strange is None and life not in seen:
            seen.add(life)
            if not _is_of(header(entry), parts):
                strange = f"{entry.name} is not the chunk that its name says"
        if strange is not None:
            batch.stays = batch.stays or strange
            continue
        batch.chunks_count += 1
        batch.size_bytes += entry.size_bytes
        began_ns = begun(parts[2]) or 0
        batch.newest_ns = max(batch.newest_ns, entry.arrived_ns or 0, began_ns)
    for life, (batch, name) in unfinished.items():
        if life not in seen:
            batch.stays = batch.stays or f"{name} is not a chunk, and no chunk says whose it is"
    return [found[name] for name in sorted(found)]


def _whose(parts: list[str]) -> tuple[str, str]:
    """Give the name of the batch of a path, and the folder of it that goes with it."""
    if parts[0] != OF_THE_HOST[0] or len(parts) <= _ABOVE_FILE:
        return parts[0], parts[0]
    if tuple(parts[:2]) != OF_THE_HOST:
        # An application of that name: not all that lies beside it.
        return parts[0], "/".join(parts[:_ABOVE_FILE])
    began_ns = begun(parts[2])
    day = "no day" if began_ns is None else _day(began_ns)
    return f"host {unquote(parts[3])}, {day}", "/".join(parts[:_ABOVE_FILE])


def _day(wall_ns: int) -> str:
    try:
        return datetime.fromtimestamp(wall_ns // 10**9, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return "no day"


def _strange(entry: Entry, parts: list[str]) -> str | None:
    """Say why something is nothing that an agent puts there; ``None`` if it may be."""
    if entry.why is not None:
        return entry.why
    if entry.at is None or len(parts) < _ABOVE_FILE + 2 or not is_ours(entry.name):
        return f"{entry.name} is not a chunk"
    if (begun(parts[2]) or 0) < _FIRST_NS:
        return f"{entry.name} bears no time of an agent"
    if entry.arrived_ns is None:
        return "the store does not say when it came"
    return None


def _is_of(header: dict[str, Any], parts: list[str]) -> bool:
    """Whether a chunk says itself whose it is, and lies there."""
    said = [header.get(name) for name in ("app", "executor", "attempt", "host")]
    return all(
        isinstance(one, str) and (part(one) == there or len(part(one)) > _LONGEST_PART)
        for one, there in zip(said, parts, strict=False)
    )
