"""``pyrometer show RUN``: what one run or event log tells."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.common import JsonOption, emit_json, human

app = typer.Typer()

RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="A run directory, or a Spark event log (file or rolling directory).",
        show_default=False,
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        help="measured, application or iteration/N. Unasked: all measured iterations together,"
        " else the application.",
        show_default=False,
    ),
]


@app.command()
def show(run: RunArgument, as_json: JsonOption = False, window: WindowOption = None) -> None:
    """Summarise a run: totals, stages, operators, CPU, I/O, ledger, doubts."""
    from pyrometer.analyse import summary
    from pyrometer.cli import render
    from pyrometer.store import Run

    with Run.open(run) as opened:
        made = summary(opened, window)
    if as_json:
        emit_json(made)
    else:
        render.show(human(as_json), made)
