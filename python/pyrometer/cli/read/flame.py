"""``pyrometer flame RUN``: the flame graph as a page, the hottest frames on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared.against import AgainstOption, SeveralAgainst, print_difference
from pyrometer.cli.shared.run_named import beside, run_named, run_path
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, human

app = typer.Typer()


@app.command(cls=SeveralAgainst)
def flame(
    run: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN…",
            parser=run_path,
            help="A run directory; with --against one or several.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Output file. Default: flame.html in the run directory; for a run at an"
            " address RUN.flame.html here.",
            show_default=False,
        ),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            "--event",
            help="cpu, wall, alloc, lock, or both: time on a CPU and time off it in one picture.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="DIMENSION,…",
            help="What to group stacks by, from the root, in order: stage, operator, expression,"
            " sql, job, task, iteration, serves, role, thread, executor, process, state, wait,"
            " what.",
            show_default=False,
        ),
    ] = "",
    iteration: Annotated[
        str | None,
        typer.Option(
            "--iteration",
            help="Which iterations: measured (default), all, or a number.",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads",
            help="tasks (default where there are any): threads that worked for tasks, their Python"
            " workers among them; or all, as with --by role.",
            show_default=False,
        ),
    ] = None,
    against: AgainstOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the flame graph as one HTML file, and print the hottest frames."""
    if against:
        if event or by or iteration or threads:
            raise UsageError(
                "--event, --by, --iteration and --threads take one run",
                "leave them out: a difference shows CPU and wall time of all measured iterations",
            )
        print_difference(run, against, output, as_json)
        return
    if len(run) > 1:
        raise UsageError(
            "flame takes one run; use --against to compare two",
            "pyrometer flame RUN… --against RUN…",
        )
    from pyrometer.flame.page import write_flame
    from pyrometer.flame.selection import Selection
    from pyrometer.flame.terminal import show_flame

    names = tuple(name.strip() for name in by.split(",") if name.strip())
    named = run_named(run[0])
    asked = Selection(event, names, iteration, threads)
    graph = write_flame(named, output or beside(named, "flame.html"), asked)
    show_flame(human(as_json), graph)
    if as_json:
        emit_json(graph)
