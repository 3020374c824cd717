"""A run that lies elsewhere, as a folder here in which files appear when they are asked for."""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.core.replacing import replacing
from pyrometer.core.user_files import MOST_BYTES
from pyrometer.store.private import FILE_MODE, make_private
from pyrometer.store.remote.address import name_of
from pyrometer.store.remote.blocks import Blocks
from pyrometer.store.remote.cache import Held, written_below
from pyrometer.store.remote.objects import PART_BYTES, Object, Objects
from pyrometer.store.remote.progress import Came
from pyrometer.store.tables_folder import STAMP, table_of

MANIFEST = "manifest.json"
_DERIVED = ".derived"
_PARTS = ".parts"
# Both lie beside the run, whose name never begins with a dot.
_SMALL = re.compile(
    r"raw/[^/]+\.json|raw/shipped/(?:[^/]+/){4}[^/]+\.report\.json|raw/iterations\.ndjson"
    r"|tables/tables\.json"
)
_SMALL_BYTES = 4 << 20
_OUTPUT_BYTES = 64 << 20
LOADED_BYTES = 256 << 10
"""Tables up to this size are fetched whole: they are read from memory."""


class Mirror:
    """One state of a run elsewhere.

    Small files of JSON are fetched at once, others when they are asked for; large tables in parts.

    Parameters
    ----------
    url : str
        The address, of a run directory, a folder of tables, or an event log.

    Attributes
    ----------
    url, shown : str
        The address, and as it may be printed.
    root : Path
        The folder here; of an event log that is one file, the file.
    listing : dict of str to Object
        What lies there, by names from the address on.
    objects : Objects
        What reads it.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.objects = Objects(url)
        self.shown = self.objects.shown
        self.listing = self._listed(("raw", "tables"))
        self._asked: set[str] = set()
        self._log = self._is_log()
        self._check_kind()
        if not self._log:
            # Pages that lie beside are no part of the run.
            self.listing = {
                name: one for name, one in self.listing.items() if "/" in name or name == MANIFEST
            }
        self._held = Held(_key(self.shown, self.listing))
        self.root = self._held.path / name_of(url)
        atexit.register(self.close)
        self._held.make_room(self._least_bytes())
        self._begin()

    @property
    def size_bytes(self) -> int:
        """Bytes of all its files there, as listed."""
        return sum(one.size_bytes for one in self.listing.values())

    @property
    def derived(self) -> bool:
        """Whether its tables are made here, of its raw files, and not those there."""
        return (self._held.path / _DERIVED).exists()

    def tables(self) -> dict[str, Object]:
        """List its tables there, by the names of their files; none where they are made here."""
        if self.derived:
            return {}
        return {
            name.partition("/")[2]: one
            for name, one in sorted(self.listing.items())
            if name.startswith("tables/") and table_of(name.partition("/")[2])
        }

    def has_raw(self) -> bool:
        """Whether it has raw files there."""
        return any(name.startswith("raw/") for name in self.listing)

    def outgrown(self) -> bool:
        """Whether its raw files there are more than its tables were made of, as far as is known."""
        try:
            stamp = parse_json((self.root / "tables" / STAMP).read_bytes())
            made_of = int(stamp["raw_bytes"])
        except (OSError, ValueError, TypeError, KeyError):
            return False
        raw = [one for name, one in self.listing.items() if name.startswith("raw/")]
        return not self.derived and sum(one.size_bytes for one in raw) > made_of

    def bring(self, names: Collection[str]) -> None:
        """Have files here; those that are not there are passed over.

        Raises
        ------
        UsageError
            If they cannot be fetched or written.
        """
        missing = {
            name: self.listing[name]
            for name in names
            if name in self.listing and not self._is_here(name)
        }
        self._asked.update(missing)
        came = Came(self.shown, sum(one.size_bytes for one in missing.values()))
        with written_below(self._held.path):
            for name, one in missing.items():
                if one.size_bytes > PART_BYTES:
                    self._bring_large(name, one, came)
            small = {name: one for name, one in missing.items() if one.size_bytes <= PART_BYTES}
            for name, content in self.objects.whole(small):
                with _written(self._here(name)) as out:
                    out.write(content)
                came.more(len(content))

    def bring_output(self) -> None:
        """Have what the workload printed here, for why it failed."""
        self.bring([
            name
            for name in ("raw/stdout", "raw/stderr")
            if name in self.listing and self.listing[name].size_bytes <= _OUTPUT_BYTES
        ])  # fmt: skip

    def bring_raw(self) -> None:
        """Have all raw files here, to make tables of them, which are kept here.

        What is here of the tables there goes: it is not whole, and new ones may never be.
        """
        raw = [name for name in self.listing if name.startswith("raw/")]
        self._held.make_room(sum(self.listing[name].size_bytes for name in raw))
        self.bring(raw)
        self.check()
        with suppress(FileNotFoundError):
            shutil.rmtree(self.root / "tables")
        (self._held.path / _DERIVED).touch(FILE_MODE)

    def part_of(self, table: str) -> Blocks:
        """Open one of its large tables, of which parts are fetched as they are read."""
        name = f"tables/{table}"
        one = self.listing[name]

        def fetch(start: int, end: int) -> bytes:
            self._asked.add(name)
            return self.objects.part(one, start, end)

        kept = self._held.path / _PARTS
        with written_below(kept):
            make_private(kept)
            return Blocks(kept / table, one.size_bytes, fetch)

    def close(self) -> None:
        """Let the folder be removed when room is needed."""
        atexit.unregister(self.close)
        self._held.close()

    def check(self) -> None:
        """Make sure that what was fetched is of the state that was listed.

        Raises
        ------
        UsageError
            If it is not: what was read may be of two states.
        """
        asked, self._asked = self._asked, set()
        if not asked:
            return
        folders = sorted({name.partition("/")[0] for name in asked if "/" in name})
        now = self._listed(folders)
        if any(now.get(name) != self.listing[name] for name in asked):
            self._held.forget()
            raise self.objects.changed()

    def _listed(self, folders: Collection[str]) -> dict[str, Object]:
        files, there = self.objects.top()
        for folder in folders:
            if folder in there:
                files |= self.objects.below(folder)
        self._folders = there
        return files

    def _is_log(self) -> bool:
        if "" in self.listing or name_of(self.url).startswith("eventlog_v2_"):
            return True
        events = any(name.startswith("events_") for name in self.listing)
        return events and "raw" not in self._folders

    def _check_kind(self) -> None:
        if self._log or MANIFEST in self.listing or {"raw", "tables"} & set(self._folders):
            return
        if "experiment.json" in self.listing:
            raise UsageError(
                f"{self.shown} is an experiment: at an address, only its single trials can be read",
                f"give one of {self.shown}/trials/, or copy the experiment",
            )
        some = ", ".join(self._folders[:5])
        raise UsageError(
            f"{self.shown}: neither a run directory nor an event log",
            f"give the folder of one run; here are {some}"
            if some
            else "give the folder that holds manifest.json",
        )

    def _least_bytes(self) -> int:
        """Bytes that reading may take: of a run, its tables; raw files are another matter."""
        return sum(
            one.size_bytes
            for name, one in self.listing.items()
            if self._log or name.startswith("tables/") or _SMALL.fullmatch(name)
        )

    def _begin(self) -> None:
        if self._log:
            self.bring(list(self.listing))
            self.check()
            return
        manifest = self.listing.get(MANIFEST)
        if manifest is not None and manifest.size_bytes > MOST_BYTES:
            raise UsageError(f"{self.shown}/{MANIFEST}: too large for a manifest", "copy the run")
        with written_below(self._held.path):
            _make_folder(self.root)
            for folder in {"raw", "tables"} & set(self._folders):
                _make_folder(self.root / folder)
        small = [
            name
            for name, one in self.listing.items()
            if _SMALL.fullmatch(name) and one.size_bytes <= _SMALL_BYTES
        ]
        self.bring([MANIFEST, *(small if not self.derived else _raw_only(small))])

    def _here(self, name: str) -> Path:
        return self.root / name if name else self.root

    def _is_here(self, name: str) -> bool:
        try:
            return self._here(name).stat().st_size == self.listing[name].size_bytes
        except OSError:
            return False

    def _bring_large(self, name: str, one: Object, came: Came) -> None:
        with _written(self._here(name)) as out:
            for start in range(0, one.size_bytes, PART_BYTES):
                end = min(one.size_bytes, start + PART_BYTES)
                out.write(self.objects.part(one, start, end))
                came.more(end - start)


@contextmanager
def _written(target: Path) -> Iterator[BinaryIO]:
    """Write a file whole or not at all, for its owner alone."""
    _make_folder(target.parent)
    with replacing(target, FILE_MODE) as out:
        yield out


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        make_private(folder)


def _raw_only(names: Collection[str]) -> list[str]:
    return [name for name in names if not name.startswith("tables/")]


def _key(shown: str, listing: Mapping[str, Object]) -> str:
    """Name one state of a run; a store that tells no states apart has a new one each time."""
    marks = [(name, one.size_bytes, one.mark) for name, one in sorted(listing.items())]
    unknown = os.urandom(8).hex() if any(not one.mark for one in listing.values()) else ""
    return hashlib.sha256(repr((shown, marks, unknown)).encode()).hexdigest()[:32]
