"""One opened run: its manifest, its tables, and what is doubtful about both."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.store import ingest
from pyrometer.store.manifest import Manifest, read_manifest
from pyrometer.store.paths import RunPaths
from pyrometer.store.tables import Tables


@dataclass
class Run:
    """A run that is open for reading.

    Attributes
    ----------
    paths : RunPaths
        Where it lies.
    tables : Tables
        Its tables, by SQL.
    manifest : Manifest or None
        ``None`` where only event logs are known, or where it is missing or cut (a doubt says so).
    doubts : list of Doubt
        Of the manifest, of the ingest, and of opening it.
    """

    paths: RunPaths
    tables: Tables
    manifest: Manifest | None
    doubts: list[Doubt] = field(default_factory=list)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open a run directory, a folder of tables, or an event log.

        Tables that are missing, of an older version or older than the raw streams are made first.
        An event log (file or rolling directory) is ingested to the cache folder, once.

        Raises
        ------
        UsageError
            If there is nothing of the kind at ``path``, or a newer Pyrometer wrote it.
        """
        root = Path(path)
        if not root.exists():
            raise UsageError(f"{root}: no such file or directory", "pyrometer run -- COMMAND…")
        if root.is_file() or _rolling(root):
            return cls._open_log(root)
        paths = RunPaths(root)
        if not paths.raw.is_dir() and not paths.tables.is_dir() and not paths.manifest.is_file():
            raise UsageError(
                f"{root}: neither a run directory nor an event log",
                "give the directory that `pyrometer run` printed (it holds manifest.json)",
            )
        manifest, doubts = _manifest(paths)
        if not ingest.is_current(paths.tables, paths.raw) and paths.raw.is_dir():
            ingest.ingest_run(root)
        return cls._opened(paths, manifest, doubts)

    @classmethod
    def _open_log(cls, log: Path) -> Run:
        folder = cache_folder(log)
        if not ingest.is_current(folder / "tables", None):
            ingest.ingest_eventlogs([log], folder)
        return cls._opened(RunPaths(folder), None, [])

    @classmethod
    def _opened(cls, paths: RunPaths, manifest: Manifest | None, doubts: list[Doubt]) -> Run:
        tables = Tables(paths.tables)
        raised = tables.query("SELECT code, severity, message FROM ingest_doubts")
        kept = [schema.known_doubt(*row) for row in raised]
        return cls(paths, tables, manifest, [*doubts, *kept])

    def facts(self) -> dict[str, Any]:
        """Manifest as plain data; empty where there is none."""
        return self.manifest.model_dump(by_alias=True) if self.manifest else {}

    def close(self) -> None:
        """Let go of the tables."""
        self.tables.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def cache_folder(log: Path) -> Path:
    """Folder of the tables made from one event log: by its path, size and time of change.

    Raises
    ------
    UsageError
        If there is no such log.
    """
    if not log.exists():
        raise UsageError(f"{log}: no such file or directory", "give a Spark event log")
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    marks = []
    # A file of a log that is being written may be renamed meanwhile.
    for file in sorted(_files(log)):
        with suppress(FileNotFoundError):
            status = file.stat()
            marks.append((str(file.resolve()), status.st_size, status.st_mtime_ns))
    name = hashlib.sha256(repr(marks).encode()).hexdigest()[:20]
    return root / "pyrometer" / "eventlogs" / name


def _files(log: Path) -> Iterator[Path]:
    if not log.is_dir():
        yield log
    for folder, _, names in os.walk(log):
        yield from (Path(folder, name) for name in names)


def _rolling(root: Path) -> bool:
    """Whether a directory is a rolling event log, or holds nothing but event log files."""
    if root.name.startswith("eventlog_v2_"):
        return True
    return any(root.glob("events_*")) and not (root / "raw").is_dir()


def _manifest(paths: RunPaths) -> tuple[Manifest | None, list[Doubt]]:
    if not paths.manifest.is_file():
        if paths.raw.is_dir():
            message = f"{paths.manifest}: missing; what ran and how it ended is not known"
            return None, [schema.doubt("manifest_unreadable", message)]
        return None, []
    try:
        manifest = read_manifest(paths.root)
    except PyrometerError as error:
        if "schema version" in error.message:
            raise
        return None, [schema.doubt("manifest_unreadable", error.message)]
    return manifest, list(manifest.doubts)
