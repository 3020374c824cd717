"""Tables of a run elsewhere, for DuckDB: small ones here, of large ones the parts that it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from fsspec import AbstractFileSystem

from pyrometer.core.errors import PyrometerError
from pyrometer.store.remote.blocks import Blocks
from pyrometer.store.remote.mirror import LOADED_BYTES, Mirror

PROTOCOL = "pyrometer-run"
_ESCAPED = re.compile(r"\[(.)\]")


class RemoteFiles:
    """The files of the tables of a run elsewhere.

    Parameters
    ----------
    mirror : Mirror
        The run.
    """

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._sizes = {name: one.size_bytes for name, one in mirror.tables().items()}
        self._here = mirror.root / "tables"
        self._parts = _Parts(mirror, self._sizes)

    def attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Have small tables here, and a connection read large ones."""
        self._mirror.bring([
            f"tables/{name}" for name, size in self._sizes.items() if size <= LOADED_BYTES
        ])  # fmt: skip
        connection.register_filesystem(self._parts)

    def of(self, table: str) -> Iterator[tuple[str, int]]:
        """Give where DuckDB finds each file of a table, and its size; in the order of a folder."""
        whole = f"{table}.parquet"
        parts = sorted(name for name in self._sizes if name.startswith(f"{table}-"))
        for name in [*([whole] if whole in self._sizes else []), *parts]:
            size = self._sizes[name]
            here = str(self._here / name)
            yield here if size <= LOADED_BYTES else f"{PROTOCOL}://{name}", size

    def size_bytes(self) -> int:
        """Bytes of all of them."""
        return sum(self._sizes.values())

    def marks(self) -> list[str]:
        """Give what tells the state of each."""
        found = self._mirror.tables()
        return [f"{name} {one.size_bytes} {one.mark}" for name, one in sorted(found.items())]

    def failure(self) -> PyrometerError | None:
        """Give why a part could not be fetched, which DuckDB gives as an error of its own."""
        return self._parts.failure

    def check(self) -> None:
        """Make sure that all that was read was of one state."""
        self._parts.close()
        self._mirror.check()


class _Parts(AbstractFileSystem):  # type: ignore[misc]
    """Large tables as DuckDB opens them: by name, in no folder."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, mirror: Mirror, sizes: dict[str, int]) -> None:
        super().__init__()
        self._mirror = mirror
        self._sizes = sizes
        self._open: dict[str, Blocks] = {}
        self.failure: PyrometerError | None = None

    def open(self, path: str, mode: str = "rb", **_: Any) -> _Part:
        """Open a table; only for reading."""
        name = _named(path)
        if mode != "rb" or name not in self._sizes:
            raise FileNotFoundError(name)
        if name not in self._open:
            with self.remembered():
                self._open[name] = self._mirror.part_of(name)
        return _Part(self, self._open[name])

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Remember why something could not be read: DuckDB gives an error of its own for it."""
        try:
            yield
        except PyrometerError as error:
            self.failure = error
            raise

    def glob(self, path: str, **_: Any) -> list[str]:
        """Give the one file that a pattern without letters that stand for others names."""
        return [f"{PROTOCOL}://{_named(path)}"]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Describe a table."""
        name = _named(path)
        return {"name": name, "size": self._sizes[name], "type": "file"}

    def exists(self, path: str, **_: Any) -> bool:
        """Whether there is such a table."""
        return _named(path) in self._sizes

    def modified(self, path: str) -> datetime:
        """Give one moment: a state of a run never changes."""
        return datetime(2000, 1, 1, tzinfo=UTC)

    def close(self) -> None:
        """Close what is open."""
        for blocks in self._open.values():
            blocks.close()
        self._open.clear()


class _Part:
    """A table that is open, at a place of its own."""

    closed = False

    def __init__(self, parts: _Parts, blocks: Blocks) -> None:
        self._parts = parts
        self._blocks = blocks
        self._at = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        self._at = offset + (0, self._at, self._blocks.size_bytes)[whence]
        return self._at

    def tell(self) -> int:
        """Give the place."""
        return self._at

    def read(self, count: int = -1) -> bytes:
        """Read from the place on."""
        left = max(0, self._blocks.size_bytes - self._at)
        with self._parts.remembered():
            content = self._blocks.read(self._at, left if count < 0 else min(count, left))
        self._at += len(content)
        return content

    def close(self) -> None:
        """Do nothing: others may have it open."""


def _named(path: str) -> str:
    return _ESCAPED.sub(r"\1", path.removeprefix(f"{PROTOCOL}://"))


def remote_files(mirror: Mirror, folder: Path) -> RemoteFiles | None:
    """Give the files of the tables of a run elsewhere; ``None`` where they were made here."""
    whole = mirror.derived or folder != mirror.root / "tables"
    return None if whole else RemoteFiles(mirror)
