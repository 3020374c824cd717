"""``pyrometer ledger RUN``: where every slot- and core-second of a window went."""

from __future__ import annotations

import typer

from pyrometer.cli.common import JsonOption, emit_json, human
from pyrometer.cli.show import RunArgument, WindowOption

app = typer.Typer()


@app.command()
def ledger(run: RunArgument, as_json: JsonOption = False, window: WindowOption = None) -> None:
    """Account for all time of a window, twice: by task slots and by CPU cores."""
    from pyrometer.analyse import ledger_report
    from pyrometer.cli import render_ledger
    from pyrometer.store import Run

    with Run.open(run) as opened:
        made = ledger_report(opened, window)
    if as_json:
        emit_json(made)
    else:
        render_ledger.ledger(human(as_json), made)
