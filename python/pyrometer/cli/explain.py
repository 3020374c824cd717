"""``pyrometer explain RUN``: why it is slow, what to change, and how many seconds that saves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared.run_named import run_named
from pyrometer.cli.show import WindowOption
from pyrometer.terminal.console import JsonOption, emit_json, err, human

app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer explain RUN
  pyrometer explain application_1_0001.zstd --all
  pyrometer explain RUN --json | jq '.findings[] | {code, saving: .saving.elapsed_ns.value}'
"""


@app.command(epilog=EXAMPLES)
def explain(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="A run directory, or a Spark event log.", show_default=False
        ),
    ],
    as_json: JsonOption = False,
    window: WindowOption = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also findings below the noise of the run, their evidence, and all that could"
            " not be judged.",
        ),
    ] = False,
    application: Annotated[
        int | None,
        typer.Option(
            "--app", metavar="N", help="Application ID. Default: the one with most task time."
        ),
    ] = None,
) -> None:
    """Say why a run is slow, what to change, and how many seconds that saves."""
    from pyrometer.explain.findings import explain as find
    from pyrometer.store import Run

    with Run.open(run_named(run)) as opened, err().status("explaining"):
        found = find(opened, window, app_index=application)
    if as_json:
        emit_json(found)
        return
    from pyrometer.explain import terminal

    terminal.show(human(as_json), found, everything)
