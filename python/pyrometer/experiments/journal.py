"""The journal of an experiment: records that are appended, synced, and never changed."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.core.redaction import redacted
from pyrometer.core.user_files import limited_bytes
from pyrometer.experiments.folder import Began, Ended, ExperimentPaths, PlannedTrial
from pyrometer.store.private import FILE_MODE

_KINDS: dict[str, type[Began] | type[Ended]] = {"begin": Began, "end": Ended}

Kinds = Mapping[str, type[BaseModel]]
"""Records, by their ``k``, that a journal may hold besides those of every experiment."""

STRAGGLE_S = 3.0
"""Longest time in which a child of a killed experiment calls exec, or dies."""


@dataclass
class Entries:
    """The entries of a journal.

    Attributes
    ----------
    ended : dict of int to Ended
        The last end of each trial, by its number, in the order of their ends.
    disturbed : list of Ended
        Attempts that were repeated.
    before : list of Ended
        Ends of trials that were tried again, and ended again.
    open : dict of int to Began
        Trials that began and did not end.
    attempts : dict of int to int
        Attempts at each trial so far.
    others : list of BaseModel
        Records of further kinds, in their order.
    torn_bytes : int
        Length of a last line that was cut.
    """

    ended: dict[int, Ended] = field(default_factory=dict)
    disturbed: list[Ended] = field(default_factory=list)
    before: list[Ended] = field(default_factory=list)
    open: dict[int, Began] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    others: list[BaseModel] = field(default_factory=list)
    torn_bytes: int = 0

    def end(self, record: Ended) -> None:
        """Take the end of a trial; one that was tried again ended now, not when it did first."""
        earlier = self.ended.pop(record.trial, None)
        if earlier is not None:
            self.before.append(earlier)
        self.ended[record.trial] = record

    def ends_of(self, trials: Iterable[PlannedTrial]) -> list[Ended]:
        """Give the ends of some trials in the order of time.

        A retried trial stands where its last attempt ended.

        Examples
        --------
        >>> Entries().ends_of([])
        []
        """
        wanted = {one.number for one in trials}
        return [one for number, one in self.ended.items() if number in wanted]


def read_journal(root: Path, more: Kinds | None = None) -> Entries:
    """Read a journal; a missing one is empty, and a last line that was cut does not count.

    Parameters
    ----------
    more : mapping, optional
        Further kinds of records that it may hold.

    Raises
    ------
    UsageError
        If it cannot be read or is larger than 64 MiB (some 40 000 trials), or a whole line is no
        record: somebody edited it, or a newer version wrote it.
    """
    path = ExperimentPaths(root).journal
    entries = Entries()
    try:
        file = io.BytesIO(limited_bytes(path))
    except FileNotFoundError:
        return entries
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", "start again in another folder with -o"
        ) from error
    for number, line in enumerate(file, 1):
        if line.endswith(b"\n") and _take(entries, line, more or {}):
            continue
        if not _torn(line) or file.read(1):
            raise UsageError(
                f"{path}:{number}: not a record of an experiment",
                "if a newer Pyrometer wrote it, use that one; else restore it from a copy, or"
                " start again in another folder with -o",
            )
        # Left by a kill in the middle of a write: append() never returned for it.
        entries.torn_bytes = len(line)
    return entries


def _torn(line: bytes) -> bool:
    """Whether a last line may be part of a record.

    A write puts the end of the line last. After a power failure its length may be on the disk and
    part of its bytes not: they read as zeros, which no record has.
    """
    return not line.endswith(b"\n") or b"\0" in line


def _take(entries: Entries, line: bytes, more: Kinds) -> bool:
    """Add one line; return whether it is a record."""
    try:
        data = parse_json(line)
        if data["k"] in more:
            entries.others.append(more[data["k"]].model_validate(data))
            return True
        record = _KINDS[data["k"]].model_validate(data)
    except (ValueError, KeyError, TypeError):
        return False
    entries.attempts[record.trial] = max(entries.attempts.get(record.trial, 0), record.attempt)
    if isinstance(record, Began):
        entries.open[record.trial] = record
        return True
    entries.open.pop(record.trial, None)
    if record.status == "disturbed":
        entries.disturbed.append(record)
    elif (
        record.status == "finished" or entries.ended.get(record.trial, record).status != "finished"
    ):
        entries.end(record)
    return True


class Journal:
    """A journal that is open for appending, by one process at a time.

    Parameters
    ----------
    then : str
        The command that goes on, for whoever has made room.
    """

    def __init__(self, descriptor: int, path: Path, then: str) -> None:
        self._descriptor = descriptor
        self._path = path
        self._then = then

    def append(self, record: BaseModel) -> None:
        """Add a record; it is on the disk when this returns.

        Raises
        ------
        CapabilityError
            If it cannot be written; nothing of it remains then.
        """
        if reason := getattr(record, "reason", None):
            record = record.model_copy(update={"reason": redacted(reason)})
        line = record.model_dump_json(exclude_none=True).encode() + b"\n"
        size = os.fstat(self._descriptor).st_size
        written = 0
        try:
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            os.fsync(self._descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise CapabilityError(
                f"{self._path} cannot be written: {error.strerror}",
                f"make room, then: {self._then}",
            ) from error


@contextlib.contextmanager
def opened_journal(
    root: Path, more: Kinds | None = None, verb: str = "experiment", then: str | None = None
) -> Iterator[Journal]:
    """Open a journal; a last line that a kill cut short is removed.

    Parameters
    ----------
    more : mapping, optional
        As for :func:`read_journal`.
    verb : str
        Whose folder it is.
    then : str, optional
        The command that goes on with it; by default ``pyrometer VERB resume ROOT``.

    Raises
    ------
    UsageError
        If another process holds it, or it cannot be written.
    """
    path = ExperimentPaths(root).journal
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    try:
        if not _locked(descriptor):
            raise UsageError(f"{root}: another process runs this {verb}", "wait for it, or end it")
        torn = read_journal(root, more).torn_bytes
        if torn:
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - torn)
            os.fsync(descriptor)
        yield Journal(descriptor, path, then or f"pyrometer {verb} resume {root}")
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Take the lock, unless another process holds it.

    A child that was forked, but had not called exec yet when its experiment was killed, holds the
    lock for a moment longer (``flock(2)``: duplicates of a descriptor share a lock).
    """
    deadline = time.monotonic() + STRAGGLE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        else:
            return True
