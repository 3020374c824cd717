"""Times of rows on the axis, in the files of the tables, beside those that hosts recorded.

Clocks of hosts bend at thousands of places, and every question would look for each row's again.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pyrometer.core import schema
from pyrometer.store.sql.host_groups import host_groups
from pyrometer.store.sql.host_times import timed, with_times
from pyrometer.store.sql.host_views import AXIS_HOSTS, HostRows
from pyrometer.store.sql.text import from_parquet, literal
from pyrometer.store.tables import Tables

MOST_ROWS = 100_000
"""Rows whose places are looked for at once; of one host all are."""


def write_times(folder: Path) -> None:
    """Give every file of a table of several hosts the times of its rows on the axis.

    Parameters
    ----------
    folder : Path
        Folder of the tables, with ``hosts`` and ``host_clocks``; without them nothing is written.
    """
    if not (folder / "hosts.parquet").is_file():
        return
    with (
        Tables(folder, HostRows.AS_RECORDED, only=()) as tables,
        TemporaryDirectory(prefix=".times-", dir=folder) as scratch,
    ):
        tables.define_for_hosts("axis_hosts", AXIS_HOSTS)
        tables.define("lines", "FROM host_clocks")
        for table in schema.tables().values():
            if not timed(table):
                continue
            for file in [folder / f"{table.name}.parquet", *folder.glob(f"{table.name}-*.parquet")]:
                if file.is_file():
                    _write(tables, table, file, Path(scratch))


def _write(tables: Tables, table: schema.Table, file: Path, scratch: Path) -> None:
    source = from_parquet(file)
    found = {name for name, *_ in tables.query(f"DESCRIBE FROM {source}")}
    columns = ", ".join(
        f'"{c.name}"' if c.name in found else f'NULL::{c.sql_type} AS "{c.name}"'
        for c in table.columns
    )
    rows = f"SELECT {columns} FROM {source}"
    counts = tables.query(f"SELECT host, count(*) FROM ({rows}) GROUP BY host ORDER BY host")
    groups = list(host_groups([one for one in counts if one[0] is not None], MOST_ROWS))
    if None in dict(counts):
        groups.append([])
    if len(groups) < 2:
        tables.write(with_times(table, rows, "FROM lines"), file)
        return
    parts: list[Path] = []
    for group in groups:
        of_group = f"IN ({', '.join(map(literal, group))})" if group else "IS NULL"
        names = f"SELECT host FROM axis_hosts WHERE name {of_group}"
        lines = f"FROM lines WHERE host IN ({names})"
        parts.append(scratch / f"{file.stem}-{len(parts)}.parquet")
        tables.write(with_times(table, f"{rows} WHERE host {of_group}", lines), parts[-1], "snappy")
    tables.write(f"FROM {from_parquet(*parts)}", file)
    for part in parts:
        part.unlink()
