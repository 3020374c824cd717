"""What several verbs share: the report of tables that were made, a margin, another's exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import emit_json, human

if TYPE_CHECKING:
    from pyrometer.store.ingest import IngestReport


class CommandExit(Exception):  # noqa: N818
    """Ends Pyrometer with the exit code of the command that it ran.

    Its cause, if it has one, is what went wrong on our side meanwhile: that is printed.

    Parameters
    ----------
    code : int
        The exit code.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def print_ingested(
    report: IngestReport, schema: str, run_dir: Path, verb: str, as_json: bool
) -> None:
    """Print what was made, or as data.

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
    from pyrometer.terminal.drawing import safe

    if as_json:
        emit_json(
            {
                "schema": schema,
                "run_dir": str(run_dir),
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
    console.print(f"next: [bold]pyrometer {verb} {safe(run_dir)}[/]", soft_wrap=True)


def parse_margin(text: str) -> float:
    """Read a margin.

    Raises
    ------
    UsageError
        If it is no percentage that can be one.
    """
    try:
        found = float(text.removesuffix("%")) / 100
    except ValueError:
        found = -1.0
    if not 0 < found < 0.5:
        raise UsageError(f"--margin {text}: a percentage above 0 and below 50", "--margin 2%")
    return found
