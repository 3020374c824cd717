"""What the verbs that make tables print: rows, doubts with what to do, the next command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyrometer.terminal.console import emit_json, human, program

if TYPE_CHECKING:
    from pyrometer.store.ingest import IngestReport


def print_ingested(
    report: IngestReport, schema: str, run_dir: Path, verb: str, as_json: bool
) -> None:
    """Print what was written, as text or as data.

    Parameters
    ----------
    schema : str
        Name of the data's structure.
    run_dir : Path
        Where the tables are.
    verb : str
        The verb that reads them best.
    """
    from pyrometer.core import units
    from pyrometer.store.remote.opened import address
    from pyrometer.terminal.drawing import safe

    if as_json:
        emit_json(
            {
                "schema": schema,
                "run_dir": address(run_dir),
                "tables": report.tables,
                "stats": report.stats,
                "doubts": [doubt.model_dump() for doubt in report.doubts],
            }
        )
        return
    console = human(as_json)
    for name, rows in report.tables.items():
        if rows:
            console.print(f"  {name:<18}{units.count(rows):>14} rows")
    for doubt in report.doubts:
        console.print(f"  [yellow]{doubt.severity}[/] {safe(doubt.message)}", soft_wrap=True)
        console.print(f"    [dim]→ {safe(doubt.remedy)}[/]", soft_wrap=True)
    console.print(
        f"next: [bold]{safe(program())} {verb} {safe(address(run_dir))}[/]", soft_wrap=True
    )
