"""The store: the only part that knows Parquet and DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyrometer.store.ingest import IngestReport, ingest_eventlogs, ingest_run
    from pyrometer.store.run import Run
    from pyrometer.store.tables import Tables
    from pyrometer.store.write_tables import write_rows

__all__ = ["IngestReport", "Run", "Tables", "ingest_eventlogs", "ingest_run", "write_rows"]


def __getattr__(name: str) -> Any:
    # Code that needs only names of files loads no database.
    if name in ("IngestReport", "ingest_eventlogs", "ingest_run"):
        from pyrometer.store import ingest

        return getattr(ingest, name)
    if name == "Run":
        from pyrometer.store.run import Run

        return Run
    if name == "Tables":
        from pyrometer.store.tables import Tables

        return Tables
    if name == "write_rows":
        from pyrometer.store.write_tables import write_rows

        return write_rows
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
