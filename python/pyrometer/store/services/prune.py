"""Old applications and days of hosts, found in a store and removed from it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.store.remote.objects import BATCH, Objects
from pyrometer.store.services.aged import Batch, Entry, batches, is_ours
from pyrometer.store.services.chunk_files import folder_of, header_of, is_chunk
from pyrometer.store.services.chunk_store import Chunk
from pyrometer.store.services.object_store import ObjectStore, address_of


class FolderOfAgents:
    """A store that is a folder, whose owner removes what is old.

    Links are neither followed nor removed.

    Parameters
    ----------
    root : Path
        The folder.

    Raises
    ------
    UsageError
        If it cannot be listed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        try:
            os.scandir(root).close()
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

    def remove(self, batch: Batch) -> int:
        """Remove the chunks of a batch and the folders that are empty then; gives how many.

        Raises
        ------
        UsageError
            If they may not be removed.
        """
        removed = 0
        for folder in sorted(batch.folders):
            path = self._root / folder
            try:
                for _, folders, files, at in os.fwalk(path, topdown=False, follow_symlinks=False):
                    for name in filter(is_chunk, files):
                        if stat.S_ISREG(os.lstat(name, dir_fd=at).st_mode):
                            os.unlink(name, dir_fd=at)
                            removed += 1
                    for name in folders:
                        with suppress(OSError):  # what is not empty stays
                            os.rmdir(name, dir_fd=at)
            except OSError as error:
                raise UsageError(
                    f"{path}: {error.strerror}", "run it as whoever may write into the store"
                ) from error
            self._clear(path)
        return removed

    def _clear(self, path: Path) -> None:
        """Remove a folder and those above it in the store, as far as they are empty."""
        with suppress(OSError):
            for folder in (path, *path.parents):
                if folder == self._root:
                    return
                folder.rmdir()

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


def _raise(error: OSError) -> None:
    # What cannot be listed may be young.
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
        """List what is removed as a whole."""
        return batches(self._entries(), self._header)

    def remove(self, batch: Batch) -> int:
        """Remove the chunks of a batch; gives how many.

        Raises
        ------
        UsageError
            If they may not be removed, or the store is away.
        """
        removed = 0
        for folder in sorted(batch.folders):
            keys = [one.key for name, one in self._objects.below(folder).items() if is_ours(name)]
            for at in range(0, len(keys), BATCH):
                self._objects.remove(keys[at : at + BATCH])
            removed += len(keys)
        return removed

    def _header(self, entry: Entry) -> dict[str, Any]:
        return self._store.headers([Chunk(entry.name.rpartition("/")[2], entry.at)])[0]

    def _entries(self) -> Iterator[Entry]:
        files, folders = self._objects.top()
        yield from (Entry(name, one.size_bytes, one.arrived_ns, one) for name, one in files.items())
        for folder in folders:
            for below in self._parts(folder):
                for name, one in self._objects.below(below).items():
                    yield Entry(name, one.size_bytes, one.arrived_ns, one)

    def _parts(self, folder: str) -> Sequence[str]:
        """Give what is listed at once: of hosts, which go on for ever, each start of an agent."""
        if folder != "host":
            return [folder]
        return [
            attempt
            for executor in self._objects.folders(folder)
            for attempt in self._objects.folders(executor)
        ]


def agents_store(place: str) -> FolderOfAgents | ObjectsOfAgents:
    """Open a store to remove what is old.

    Raises
    ------
    PyrometerError
        If there is none.
    """
    folder = folder_of(place)
    return ObjectsOfAgents(place) if folder is None else FolderOfAgents(folder)
