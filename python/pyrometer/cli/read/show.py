"""``pyrometer show RUN``: the summary of one run or event log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared.run_named import run_named, run_path
from pyrometer.cli.shared.typed import refuse
from pyrometer.terminal.console import JsonOption, emit_json, err, human, program

app = typer.Typer()

RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        parser=run_path,
        help="A run directory or a Spark event log (file or rolling directory), here or at an"
        " address such as s3://bucket/run.",
        show_default=False,
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        help="measured, application, iteration/N, or a query: sql/N by the number of its SQL"
        " execution, query/NAME by its description. Default: all measured iterations together,"
        " else the application.",
        show_default=False,
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="Print every section, not one screen.")]
SectionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--section",
        metavar="NAME",
        help="Print this section whole, instead; may be given more than once: totals, iterations,"
        " stages, elapsed, operators, work, code, python, stacks, cpu, io, disks, latency, waits,"
        " gc, jvm, hardware, memory, processes, slots, cores, hosts, instruments, doubts.",
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
    context: typer.Context,
    run: RunArgument,
    as_json: JsonOption = False,
    window: WindowOption = None,
    everything: AllOption = False,
    section: SectionOption = None,
    source: SourceOption = False,
) -> None:
    """Summarise a run on one screen: verdict, doubts, where time went, top stages and operators."""
    from pyrometer.summary.kept import summary_of

    if source:
        refuse(context, "section", "everything", of="the summary", where="on --source")
    if as_json:
        refuse(context, "section", of="the screen", where="on --json")
    run = run_named(run)
    if source:
        _source(run, as_json, window)
        return
    names = _sections(section or [], everything)
    summary = summary_of(run, window)
    if as_json:
        emit_json(summary)
    elif names:
        from pyrometer.summary.terminal import show_sections

        show_sections(human(as_json), summary, names)
    else:
        from pyrometer.cli.shared.finding import Finder
        from pyrometer.store.remote.opened import address
        from pyrometer.summary import screen

        with err().status("explaining"):
            findings = Finder().lines_of_run(run, window, summary)
        screen.show(human(as_json), summary, address(run), program(), findings)


def _sections(asked: list[str], everything: bool) -> list[str]:
    """Names of the sections that were asked for; none for the one screen."""
    from pyrometer.core.errors import UsageError
    from pyrometer.summary.terminal import SECTIONS

    unknown = [name for name in asked if name not in SECTIONS]
    if unknown:
        raise UsageError(
            f"--section {unknown[0]}: no such section", "use one of " + ", ".join(SECTIONS)
        )
    return list(SECTIONS) if everything else asked


def _source(run: Path, as_json: bool, window: str | None) -> None:
    from pyrometer.store import Run
    from pyrometer.summary.hot_source import show_source, source_report

    with Run.open(run) as opened:
        report = source_report(opened, window)
    if as_json:
        emit_json(report)
    else:
        show_source(human(as_json), report)
