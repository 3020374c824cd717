"""``pyrometer ls [DIR]``: the runs, experiments and tunings of a folder."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.cli.shared.run_named import local_path
from pyrometer.terminal.console import JsonOption, emit_json, human, program

if TYPE_CHECKING:
    from rich.console import Console

    from pyrometer.experiments.history.listing import Entry, Listing

app = typer.Typer()

SHOWS = {"run": "show", "experiment": "experiment show", "tuning": "tune show"}
"""The verb that shows an entry, by its kind."""

EXAMPLES = """\b
Examples:
  pyrometer ls
  pyrometer ls nightly/ --last 5
  pyrometer ls --json | tail -1 | jq -r '.entries[0].path'
"""


@app.command(epilog=EXAMPLES)
def ls(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            parser=local_path,
            help="A folder of runs, experiments and tunings. Default: ./pyrometer-runs.",
            show_default=False,
        ),
    ] = None,
    last: Annotated[
        int, typer.Option("--last", metavar="N", min=1, help="How many to list, the newest.")
    ] = 40,
    as_json: JsonOption = False,
) -> None:
    """List the runs, experiments and tunings of a folder, newest first.

    Doubts are those of the summary, where it was made already.
    """
    from pyrometer.collect.launch.record import HOME
    from pyrometer.experiments.history.listing import listing
    from pyrometer.tune.listed import listed

    found = listing(folder or HOME, last, [listed])
    _print(human(as_json), found)
    if as_json:
        emit_json(found)


def _print(console: Console, found: Listing) -> None:
    from rich.table import Table
    from rich.text import Text

    from pyrometer.core import units

    if not found.entries:
        console.print(f"{found.folder} holds no run, no experiment and no tuning", markup=False)
    else:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for title in ("began", "elapsed", "state", "doubts", "size", "folder and what ran"):
            right = title in ("elapsed", "doubts", "size")
            table.add_column(title, justify="right" if right else "left", overflow="fold",
                             no_wrap=not title.startswith("folder"))  # fmt: skip
        for one in found.entries:
            table.add_row(
                _moment(one.started_wall_ns),
                units.duration(one.elapsed_ns),
                Text(_state(one)),
                units.MISSING if one.doubts_count is None else str(one.doubts_count),
                units.size(one.size_bytes),
                Text.assemble((Path(one.path).name, "bold"), f"\n{_what(one)}"),
            )
        console.print(table)
        if found.older_count:
            console.print(f"… and {found.older_count} older (--last N)", style="dim")
        first = found.entries[0]
        verb = SHOWS[first.kind]
        console.print(f"next: {program()} {verb} {first.path}", markup=False, soft_wrap=True)
    for place, reason in found.unread.items():
        console.print(f"not read: {place}: {reason}", markup=False, soft_wrap=True)


def _moment(wall_ns: int | None) -> str:
    from pyrometer.core import units

    if wall_ns is None:
        return units.MISSING
    return f"{datetime.fromtimestamp(wall_ns / 1e9).astimezone():%Y-%m-%d %H:%M}"


def _state(one: Entry) -> str:
    from pyrometer.core import units

    if one.state == "recurring":
        if one.last_wall_ns is None:
            return "recurring\nno run yet"
        how = " failed" if one.last_failed else ""
        runs = units.counted(one.done_count or 0, "run")
        return f"recurring, {runs}\nlast{how}: {_moment(one.last_wall_ns)}"
    return one.state if one.kind == "run" else f"{one.done_count} of {one.trials_count} trials"


def _what(one: Entry) -> str:
    levels = ", ".join(f"{factor}={level}" for factor, level in one.treatment.items())
    kind = "" if one.kind == "run" else f"{one.kind} "
    return f"{kind}{one.name}{f' · {levels}' if levels else ''}"
