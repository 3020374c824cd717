"""Old applications and days of hosts, found in a store and removed from it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.store.paths import OF_THE_HOST
from pyrometer.store.remote.objects import BATCH, Object, Objects, TooManyObjectsError
from pyrometer.store.services.aged import Batch, Entry, batches, is_file_of_ours, is_ours
from pyrometer.store.services.chunk_files import folder_of, header_of
from pyrometer.store.services.chunk_store import Chunk
from pyrometer.store.services.object_store import AT_ONCE, ObjectStore, address_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderOfAgents:
    """A store that is a folder, whose owner removes what is old.

    Links in it are neither followed nor removed.

    Parameters
    ----------
    root : Path
        The folder, or a link to it.

    Raises
    ------
    UsageError
        If it cannot be listed.
    """

    def __init__(self, root: Path) -> None:
        try:
            # What walks folders would find nothing below a link.
            self._root = Path(os.path.realpath(root, strict=True))
            os.scandir(self._root).close()
        except OSError as error:
            raise UsageError(
                f"{root}: {error.strerror}", "give the folder that agents ship to (their --to)"
            ) from error

    def batches(self) -> list[Batch]:
        """List what is removed as a whole."""
        try:
            return batches(self._entries(), lambda entry: header_of(entry.at))
        except (OSError, RecursionError) as error:
            why = (
                error.strerror if isinstance(error, OSError) else "too many folders in one another"
            )
            where = getattr(error, "filename", None) or self._root
            raise UsageError(
                f"{where}: {why}", "run it as whoever may read all of the store"
            ) from error

    def remove(self, batch: Batch, before_ns: int) -> int:
        """Remove the chunks of a batch and the folders that are empty then; gives how many.

        Parameters
        ----------
        batch : Batch
            One that is old.
        before_ns : int
            What came later, as after it was listed, stays; Unix time.

        Raises
        ------
        UsageError
            If they may not be removed.
        """
        removed = 0
        for folder in sorted(batch.folders):
            parts = folder.split("/")
            try:
                with suppress(FileNotFoundError), self._opened(parts) as opened:
                    removed += _remove_below(opened, before_ns)
            except OSError as error:
                raise UsageError(
                    f"{self._root / folder}: {error.strerror}",
                    "run it as whoever may write into the store",
                ) from error
            self._clear(parts)
        return removed

    @contextmanager
    def _opened(self, parts: Sequence[str]) -> Iterator[int]:
        """Open a folder from part to part: a link that came since it was listed leads nowhere."""
        opened = os.open(self._root, _FOLDER)
        try:
            for name in parts:
                below = os.open(name, _FOLDER, dir_fd=opened)
                os.close(opened)
                opened = below
            yield opened
        finally:
            os.close(opened)

    def _clear(self, parts: Sequence[str]) -> None:
        """Remove a folder and those above it in the store, as far as they are empty."""
        with suppress(OSError):
            for count in range(len(parts), 0, -1):
                with self._opened(parts[: count - 1]) as above:
                    os.rmdir(parts[count - 1], dir_fd=above)

    def _entries(self) -> Iterator[Entry]:
        walk = os.fwalk(self._root, follow_symlinks=False, onerror=_raise)
        for at, folders, files, opened in walk:
            above = os.path.relpath(at, self._root)
            prefix = "" if above == "." else f"{above}/"
            for name in (*files, *folders):
                with suppress(FileNotFoundError):
                    about = os.lstat(name, dir_fd=opened)
                    if not stat.S_ISDIR(about.st_mode):
                        place = Path(at, name) if stat.S_ISREG(about.st_mode) else None
                        yield Entry(f"{prefix}{name}", about.st_size, about.st_mtime_ns, place)


def _remove_below(folder: int, before_ns: int) -> int:
    removed = 0
    walk = os.fwalk(".", topdown=False, onerror=_raise, follow_symlinks=False, dir_fd=folder)
    for _, folders, files, at in walk:
        for name in filter(is_file_of_ours, files):
            with suppress(FileNotFoundError):
                about = os.lstat(name, dir_fd=at)
                if stat.S_ISREG(about.st_mode) and about.st_mtime_ns < before_ns:
                    os.unlink(name, dir_fd=at)
                    removed += 1
        for name in folders:
            with suppress(OSError):  # what is not empty stays
                os.rmdir(name, dir_fd=at)
    return removed


def _raise(error: OSError) -> None:
    # What cannot be listed may be young; what is gone is not.
    if not isinstance(error, FileNotFoundError):
        raise error


class ObjectsOfAgents:
    """A store at an address, whose owner removes what is old.

    Parameters
    ----------
    place : str
        The address.

    Raises
    ------
    PyrometerError
        If it is none, or what reads it is not installed.
    """

    def __init__(self, place: str) -> None:
        self._store = ObjectStore(place)
        self._objects = Objects(address_of(place), shared=True)

    def batches(self) -> list[Batch]:
        """List what is removed as a whole.

        Raises
        ------
        UsageError
            If nothing is there, or the store cannot be read.
        """
        return batches(self._entries(), self._header)

    def remove(self, batch: Batch, before_ns: int) -> int:
        """Remove the chunks of a batch; gives how many.

        Parameters
        ----------
        batch : Batch
            One that is old.
        before_ns : int
            What came later, as after it was listed, stays; Unix time.

        Raises
        ------
        UsageError
            If they may not be removed, or the store is away.
        """
        removed = 0
        for folder in sorted(batch.folders):
            for entries in self._below(folder):
                keys = [
                    one.at.key
                    for one in entries
                    if one.at is not None and is_ours(one.name)
                    and one.arrived_ns is not None and one.arrived_ns < before_ns
                ]  # fmt: skip
                for at in range(0, len(keys), BATCH):
                    # The first failure ends it, and what goes on beside it meanwhile.
                    with ThreadPoolExecutor(AT_ONCE) as pool:
                        list(pool.map(self._objects.remove, keys[at : at + BATCH]))
                removed += len(keys)
        return removed

    def _header(self, entry: Entry) -> dict[str, Any]:
        return self._store.headers([Chunk(entry.name.rpartition("/")[2], entry.at)])[0]

    def _entries(self) -> Iterator[Entry]:
        files, folders = self._objects.top()
        if not files and not folders:
            # A store has no folders: one that is empty and one that nobody ever named are the same.
            raise UsageError(
                f"{self._store.place}: nothing is there",
                "give the address that agents ship to (their --to)",
            )
        yield from _entries(files)
        for folder in folders:
            for entries in self._below(folder):
                yield from entries

    def _below(self, folder: str) -> Iterator[list[Entry]]:
        """List what lies below a folder, in parts that are held at once.

        Of an application that of each executor, of hosts, which go on for ever, that of each start
        of an agent, and less where these have too much.
        """
        passed_over: list[str] = []
        names = folder.split("/")
        try:
            if len(names) < (3 if names[0] == OF_THE_HOST[0] else 2):
                files, folders = self._objects.right_below(folder, passed_over)
            else:
                files, folders = self._objects.below(folder, passed_over), []
        except TooManyObjectsError:
            try:
                files, folders = self._objects.right_below(folder, passed_over)
            except TooManyObjectsError:
                why = f"{folder} has too many files to be listed: remove it with the store's tools"
                yield [Entry(folder, 0, None, None, why)]
                return
        yield [*_entries(files), *(Entry(name, 0, None, None) for name in passed_over)]
        for one in folders:
            yield from self._below(one)


def _entries(files: Mapping[str, Object]) -> list[Entry]:
    return [Entry(name, one.size_bytes, one.arrived_ns, one) for name, one in files.items()]


def agents_store(place: str) -> FolderOfAgents | ObjectsOfAgents:
    """Open a store to remove what is old.

    Raises
    ------
    PyrometerError
        If there is none.
    """
    folder = folder_of(place)
    return ObjectsOfAgents(place) if folder is None else FolderOfAgents(folder)
