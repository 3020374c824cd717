"""One opened run: its manifest, its tables, and what is doubtful about both."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.store.axis.probe_reports import with_shipped
from pyrometer.store.locate import Located, locate
from pyrometer.store.manifest import Manifest
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
        """Open a run directory, a folder of tables, or an event log, here or at an address.

        Tables that are missing, of an older version or older than the raw streams are built first.
        An event log (file or rolling directory) is ingested to the cache folder, once.

        Raises
        ------
        UsageError
            If there is nothing of the kind at ``path``, or a newer Pyrometer wrote it.
        """
        return cls.opened(locate(path))

    @classmethod
    def opened(cls, found: Located) -> Run:
        """Open the tables of a run that was located."""
        tables = Tables(found.paths.tables)
        raised = tables.query("SELECT code, severity, message FROM ingest_doubts")
        kept = [schema.known_doubt(*row) for row in raised]
        manifest = found.manifest and with_shipped(found.manifest, found.paths)
        return cls(found.paths, tables, manifest, [*found.doubts, *kept])

    def on_host(self, *hosts: str) -> Run:
        """Open the same run once more, with nothing but what one host, or several, recorded.

        Times stay on the axis of the run; of the event log, tasks and executors there are left.
        """
        return Run(self.paths, self.tables.of_hosts(*hosts), self.manifest)

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
