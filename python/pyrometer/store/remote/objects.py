"""What lies at an address, through fsspec: listed, read in parts, tried again, and counted."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pyrometer.core import units
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.store.remote.address import shown
from pyrometer.store.remote.failures import READING, explained, passing
from pyrometer.store.remote.schemes import file_system, read_as

PAUSES_S = (0.3, 1.0, 3.0)
"""Before each further try of a request that failed."""
PART_BYTES = 8 << 20
"""Most that one request for a part asks for, and that a batch of whole objects comes to."""
BATCH = 1_000
"""Most whole objects that are asked for at once, however small they are."""
MOST_OBJECTS = 200_000
MOST_BYTES = 1 << 50
_MARKS = (
    "ETag", "etag", "md5Hash", "generation", "VersionId", "version_id", "LastModified",
    "last_modified", "updated", "mtime", "modified", "created",
)  # fmt: skip
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Object:
    """A file there.

    Attributes
    ----------
    key : str
        Its whole name, for the store.
    size_bytes : int
        As listed.
    mark : str
        What changes with its content; empty where the store says nothing.
    arrived_ns : int or None
        When it was put there, by the store's clock, Unix time; ``None`` where it does not say.
    """

    key: str
    size_bytes: int
    mark: str
    arrived_ns: int | None = None


class TooManyObjectsError(UsageError):
    """A listing has more files than are held at once."""


class Objects:
    """The files below an address.

    Parameters
    ----------
    url : str
        The address.
    shared : bool
        Whether others write there, too: what has no name that can be one of ours, or no size, is
        passed over, and a folder that is not there is empty.

    Attributes
    ----------
    shown : str
        The address as it may be printed.
    fetched_bytes, requests_count : int
        What was read so far, and in how many requests (lists among them).

    Raises
    ------
    CapabilityError
        If a package or a library that reads such addresses is not installed.
    UsageError
        If nothing reads such addresses.
    """

    def __init__(self, url: str, shared: bool = False) -> None:
        self.shown = shown(url)
        self.fetched_bytes = self.requests_count = 0
        self._url = url
        self._shared = shared
        self._counting = threading.Lock()
        self._files = self._file_system()
        self.root: str = str(self._files._strip_protocol(read_as(url))).rstrip("/")

    def _file_system(self) -> Any:
        try:
            files = file_system(self._url)
        except PyrometerError:
            raise
        except Exception as error:
            raise explained(error, self._url) from error
        if hasattr(files, "retries"):
            # What failed is tried again here; s3fs would multiply that by its own tries.
            files.retries = 1
        return files

    def top(self) -> tuple[dict[str, Object], list[str]]:
        """List what lies right below the address: files, and names of folders.

        Of an address that is itself a file, that file by the name ``""``.
        """
        entries = self._listed(lambda: self._files.ls(self.root, detail=True))
        files, folders = {}, []
        for entry in entries:
            name = self._name(entry)
            if _is_folder(entry):
                folders.append(name)
            elif "/" not in name:
                files[name] = self._object(entry, name)
        return files, sorted(name for name in folders if inert(name))

    def folders(self, folder: str) -> list[str]:
        """List the folders right below a folder, by their names from the address on, in order."""
        return self.right_below(folder)[1]

    def right_below(
        self, folder: str, passed_over: list[str] | None = None
    ) -> tuple[dict[str, Object], list[str]]:
        """List what lies right below a folder: files, and folders in order, as `below` does."""
        entries = self._listed(lambda: self._files.ls(f"{self.root}/{folder}", detail=True))
        names = [self._name(entry) for entry in entries if _is_folder(entry)]
        names = [name for name in names if name.startswith(f"{folder}/")]
        if passed_over is not None:
            passed_over += [name for name in names if not inert(name)]
        return self._files_of(entries, passed_over), sorted(filter(inert, names))

    def below(self, folder: str, passed_over: list[str] | None = None) -> dict[str, Object]:
        """List all files below a folder, by their names from the address on.

        Parameters
        ----------
        folder : str
            Its name from the address on.
        passed_over : list of str, optional
            Takes the names of what is passed over, where others write there, too.

        Raises
        ------
        TooManyObjectsError
            If there are more than are held at once.
        """
        found = self._listed(
            lambda: list(self._files.find(f"{self.root}/{folder}", detail=True).values())
        )
        return self._files_of(found, passed_over)

    def _files_of(
        self, entries: Sequence[Mapping[str, Any]], passed_over: list[str] | None
    ) -> dict[str, Object]:
        files = {}
        for entry in entries:
            if _is_folder(entry):
                continue
            if self._shared and self._is_strange(entry):
                if passed_over is not None:
                    passed_over.append(str(entry.get("name", "")).removeprefix(f"{self.root}/"))
                continue
            name = self._name(entry)
            files[name] = self._object(entry, name)
        return files

    def _listed(self, ask: Callable[[], Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
        def ask_there() -> Sequence[Mapping[str, Any]]:
            try:
                return ask()
            except FileNotFoundError:
                if self._shared:
                    return []
                raise

        self._files.invalidate_cache()
        found = list(self._tried(ask_there))
        if len(found) > MOST_OBJECTS:
            raise TooManyObjectsError(
                f"{self.shown} lists {units.count(len(found))} files: no run has so many",
                "copy what is the run's" if self._shared else "give the folder of one run",
            )
        return found

    def _is_strange(self, entry: Mapping[str, Any]) -> bool:
        """Whether an entry is none that can be read: by its name, or without a size."""
        try:
            return not self._object(entry, self._name(entry))
        except UsageError:
            return True

    def _name(self, entry: Mapping[str, Any]) -> str:
        key = str(entry.get("name", ""))
        stripped = key.rstrip("/") if _is_folder(entry) else key
        if stripped == self.root:
            return ""
        if not stripped.startswith(f"{self.root}/"):
            raise self._strange(key)
        return stripped[len(self.root) + 1 :]

    def _object(self, entry: Mapping[str, Any], name: str) -> Object:
        size = entry.get("size")
        if name and not inert(name):
            raise self._strange(name)
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MOST_BYTES:
            raise UsageError(
                f"{self.shown}: the listing gives no size of {name!r}",
                "copy the run, or read it from a store that lists sizes",
            )
        said = {mark: str(entry[mark]) for mark in _MARKS if entry.get(mark) is not None}
        mark = hashlib.sha256(repr(sorted(said.items())).encode()).hexdigest() if said else ""
        return Object(str(entry["name"]), size, mark, _arrived_ns(entry))

    def _strange(self, name: str) -> UsageError:
        return UsageError(
            f"{self.shown}: the listing holds {name[:200]!r}, which is not a name of a file of"
            " a run",
            "remove or rename it there",
        )

    def whole(self, wanted: Mapping[str, Object]) -> Iterator[tuple[str, bytes]]:
        """Read files whole, many small ones at once; large ones come in order.

        Raises
        ------
        UsageError
            If one is not as it was listed.
        """
        small: dict[str, Object] = {}
        small_bytes = 0
        for name, one in wanted.items():
            if small_bytes + one.size_bytes > PART_BYTES or len(small) == BATCH:
                yield from self._batch(small)
                small, small_bytes = {}, 0
            small[name] = one
            small_bytes += one.size_bytes
        yield from self._batch(small)

    def _batch(self, wanted: Mapping[str, Object]) -> Iterator[tuple[str, bytes]]:
        yield from ((name, b"") for name, one in wanted.items() if not one.size_bytes)
        left = [name for name, one in wanted.items() if one.size_bytes]
        came: dict[str, bytes] = {}

        def ask() -> None:
            # What came before a failure is not asked for again.
            asked = [name for name in left if name not in came]
            self._count(len(asked) - 1)
            answers = self._files.cat_ranges(
                [wanted[name].key for name in asked],
                [0] * len(asked),
                [wanted[name].size_bytes for name in asked],
                on_error="return",
            )
            failed = None
            for name, content in zip(asked, answers, strict=True):
                if isinstance(content, Exception):
                    failed = content
                else:
                    came[name] = self._counted(content, wanted[name].size_bytes)
            if failed is not None:
                raise failed

        if left:
            self._tried(ask)
        yield from came.items()

    def remove(self, key: str) -> None:
        """Remove a file by its whole name, unless it is gone already.

        Raises
        ------
        UsageError
            If it may not be removed, or the store is away.
        """

        # Not ``rm``: to it names are patterns, HDFS takes no list, and of what S3 refuses to
        # remove of a list nothing is said.
        def ask() -> None:
            with suppress(FileNotFoundError):
                self._files.rm_file(key)

        self._tried(ask, "run it as whoever may list, get and delete there")

    def part(self, one: Object, start: int, end: int) -> bytes:
        """Read bytes ``start`` to ``end`` of a file.

        Raises
        ------
        UsageError
            If they are not there.
        """
        parts = []
        for at in range(start, end, PART_BYTES):
            upto = min(end, at + PART_BYTES)
            content = self._tried(
                lambda at=at, upto=upto: self._files.cat_file(one.key, start=at, end=upto)  # type: ignore[misc]
            )
            parts.append(self._counted(content, upto - at))
        return b"".join(parts)

    def _counted(self, content: bytes, size_bytes: int) -> bytes:
        with self._counting:
            self.fetched_bytes += len(content)
        if len(content) != size_bytes:
            raise self.changed()
        return content

    def _count(self, requests: int) -> None:
        with self._counting:
            self.requests_count += requests

    def changed(self) -> UsageError:
        """Give the error of a run that is not as it was listed."""
        return UsageError(f"{self.shown} changed while it was read", "run the command again")

    def _tried(self, ask: Callable[[], Answer], rights: str = READING) -> Answer:
        for pause_s in (*PAUSES_S, None):
            self._count(1)
            try:
                return ask()
            except PyrometerError:
                raise
            except Exception as error:
                if pause_s is None or not passing(error):
                    raise explained(error, self._url, len(PAUSES_S) + 1, rights) from error
            time.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311
        raise AssertionError


def _arrived_ns(entry: Mapping[str, Any]) -> int | None:
    """Read when an object was put: a moment, its text, or seconds, as the store's reader gives."""
    said = next((entry[name] for name in _TIMES if entry.get(name) is not None), None)
    try:
        if isinstance(said, str):
            said = datetime.fromisoformat(said)
        if isinstance(said, datetime):
            said = said.timestamp()
        return int(float(said) * 1e9) if isinstance(said, (int, float)) else None
    except (ValueError, OverflowError, OSError):
        return None


def _is_folder(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is a folder, or an object that stands for one."""
    return entry.get("type") == "directory" or str(entry.get("name", "")).endswith("/")


def inert(name: str) -> bool:
    r"""Whether a name from a listing leads to one place below a folder, and nowhere else.

    Examples
    --------
    >>> inert("raw/gc-7.log"), inert("raw/../../x"), inert("/etc/x"), inert("a\x00b")
    (True, False, False, False)
    """
    try:
        longest = max(len(part.encode()) for part in name.split("/"))
    except UnicodeEncodeError:
        return False
    return (
        len(name) <= 1_000
        and longest <= 240
        and name.isprintable()
        and all(part not in ("", ".", "..") for part in name.split("/"))
    )
