"""The store: the only part that knows Parquet and DuckDB."""

from __future__ import annotations

from pyrometer.store.ingest import IngestReport, ingest_eventlogs, ingest_run
from pyrometer.store.run import Run
from pyrometer.store.tables import Tables, write_rows

__all__ = ["IngestReport", "Run", "Tables", "ingest_eventlogs", "ingest_run", "write_rows"]
