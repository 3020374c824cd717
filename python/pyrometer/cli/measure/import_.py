"""``pyrometer import FILE…``: profiles of other tools become a run directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared.ingested import print_ingested
from pyrometer.terminal.console import JsonOption, err

app = typer.Typer()


@app.command("import")
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Profiles: folded stacks, perf script, JFR, pprof, speedscope.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="RUN", help="Run directory to create.", show_default=False
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="folded, perf-script, jfr, pprof or speedscope. Default: detected from content.",
            show_default=False,
        ),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(help="Event of folded stacks, which do not name it. Default: cpu."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Unit of folded stacks: ns, bytes, … Default: samples."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import profiles of other tools into a run directory, to show, compare and export."""
    from pyrometer.store.imported import import_profiles

    with err().status("reading profiles"):
        report = import_profiles(files, output, kind, event, unit)
    print_ingested(report, "pyrometer/import/1", output, "flame", as_json)
