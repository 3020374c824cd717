"""``pyrometer ingest EVENTLOG…``: event logs to tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared.agents import AgentsOption, checked
from pyrometer.cli.shared.ingested import print_ingested
from pyrometer.cli.shared.run_named import run_path
from pyrometer.cli.shared.typed import typed
from pyrometer.terminal.console import JsonOption

app = typer.Typer()


@app.command()
def ingest(
    context: typer.Context,
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="EVENTLOG...",
            parser=run_path,
            help="Event log files and rolling directories (plain, lz4, lzf, snappy, zstd, gzip),"
            " or one run directory whose tables to rebuild.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Folder for the tables. Default: a cache folder."),
    ] = None,
    agents: AgentsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn Spark event logs into tables, which `pyrometer show` then reads.

    With --agents and -o, event logs become a run directory that has what executors of their
    applications, and agents that saw them, shipped to that store.
    """
    from pyrometer.core.errors import UsageError
    from pyrometer.store import ingest_eventlogs, ingest_run
    from pyrometer.store.locate import cache_folder, drop_former
    from pyrometer.store.remote.opened import mirror_of

    if len(logs) == 1 and (logs[0] / "raw").is_dir():
        if out is not None:
            raise UsageError("-o cannot be used with a run directory: its tables belong inside it")
        folder = logs[0]
        if (mirror := mirror_of(folder)) is not None:
            mirror.bring_raw()
        report = ingest_run(folder, agents=checked(agents))
    elif agents is not None and typed(context, "agents"):
        # That of the environment is for runs.
        from pyrometer.store.eventlog_run import ingest_shipped

        if out is None:
            raise UsageError(
                "--agents makes a run directory of event logs, and needs a folder for it",
                "pyrometer ingest EVENTLOG --agents STORE -o DIR",
            )
        folder = out
        report = ingest_shipped(logs, folder, checked(agents) or agents)
    else:
        if out is None and len(logs) > 1:
            raise UsageError("several event logs need a folder", "pyrometer ingest LOG… -o DIR")
        folder = out or cache_folder(logs[0])
        report = ingest_eventlogs(logs, folder)
        if out is None:
            drop_former(folder)
    print_ingested(report, "pyrometer/ingest/1", folder, "show", as_json)
