"""``pyrometer show RUN``: the summary of one run or event log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.terminal.console import JsonOption, emit_json, human

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
        help="measured, application or iteration/N. Default: all measured iterations together,"
        " else the application.",
        show_default=False,
    ),
]


SourceOption = Annotated[
    bool,
    typer.Option(
        "--source",
        help="Show the generated code around the lines where task CPU went, instead.",
    ),
]


@app.command()
def show(
    run: RunArgument,
    as_json: JsonOption = False,
    window: WindowOption = None,
    source: SourceOption = False,
) -> None:
    """Summarise a run: totals, stages, operators, CPU, I/O, ledger, doubts."""
    from pyrometer.summary.kept import summary_of

    if source:
        _source(run, as_json, window)
        return
    summary = summary_of(run, window)
    if as_json:
        emit_json(summary)
    else:
        from pyrometer.summary import terminal

        terminal.show(human(as_json), summary)


def _source(run: Path, as_json: bool, window: str | None) -> None:
    from pyrometer.store import Run
    from pyrometer.summary.hot_source import show_source, source_report

    with Run.open(run) as opened:
        report = source_report(opened, window)
    if as_json:
        emit_json(report)
    else:
        show_source(human(as_json), report)
