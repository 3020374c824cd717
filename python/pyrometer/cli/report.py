"""``pyrometer report RUN``: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from pyrometer.cli.common import JsonOption, emit_json, human

app = typer.Typer()


@app.command()
def report(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A run directory, or a Spark event log (file or rolling directory).",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write. Unasked: report.html in the run directory; for an event log"
            " LOG.report.html here.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run: one HTML file that opens anywhere, without a network."""
    from pyrometer.report import write_report

    path = write_report(run, output)
    size = path.stat().st_size
    human(as_json).print(f"Report: {escape(str(path))} ({size / 1e6:.1f} MB)", soft_wrap=True)
    if as_json:
        emit_json({"schema": "pyrometer/report/1", "report": str(path), "size_bytes": size})
