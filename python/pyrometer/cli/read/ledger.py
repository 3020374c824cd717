"""``pyrometer ledger RUN``: where every slot- and core-second of a window went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pyrometer.cli.read.show import WindowOption
from pyrometer.cli.shared.against import SeveralAgainst
from pyrometer.cli.shared.run_named import run_named, run_path
from pyrometer.cli.shared.typed import refuse, typed
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human

if TYPE_CHECKING:
    from pyrometer.accounts.ledger.report import Request


app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer ledger RUN
  pyrometer ledger RUN --by stage
  pyrometer ledger RUN --stage 4 --by operator
  pyrometer ledger RUN --task slowest
  pyrometer ledger BEFORE BEFORE2 --against AFTER AFTER2
"""
SLOWEST = "slowest"


@app.command(cls=SeveralAgainst, epilog=EXAMPLES)
def ledger(
    context: typer.Context,
    run: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN…",
            parser=run_path,
            help="A run directory, or a Spark event log; with --against, the runs of side A.",
            show_default=False,
        ),
    ],
    as_json: JsonOption = False,
    window: WindowOption = None,
    view: Annotated[
        Literal["elapsed", "slot", "core"] | None,
        typer.Option("--view", help="Only this view.", show_default="all"),
    ] = None,
    by: Annotated[
        Literal["iteration", "sql", "stage", "operator", "task"] | None,
        typer.Option("--by", help="Break the window down by these parts, longest first."),
    ] = None,
    stage: Annotated[
        int | None, typer.Option("--stage", metavar="N", help="Only tasks of this stage.")
    ] = None,
    sql: Annotated[
        int | None, typer.Option("--sql", metavar="N", help="Only tasks of this SQL execution.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            metavar="ID|slowest",
            help="Compare one task with the median task of its stage: a task ID, or slowest."
            " Default stage: the one with the worst straggler.",
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            "--top", metavar="N", min=1, help="How many parts to show; the rest is summed."
        ),
    ] = 20,
    depth: Annotated[
        int | None,
        typer.Option("--depth", metavar="N", min=1, help="Levels of rows shown."),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            "--against",
            metavar="RUN…",
            parser=run_path,
            help="Side B: show what changed per iteration from the first runs to these.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Account for all time of a window: elapsed time, task slots and CPU cores."""
    from pyrometer.accounts.ledger import terminal
    from pyrometer.accounts.ledger.report import ledger_against, ledger_report
    from pyrometer.store import Run

    if as_json:
        refuse(context, "view", "depth", of="the screen", where="on --json")
    if against:
        if given := typed(context, "by", "stage", "sql", "task", "top"):
            raise UsageError(f"--against cannot be combined with {given[0]}", "leave it out")
        with err().status("comparing ledgers"):
            report = ledger_against(run, against, window)
    else:
        if len(run) > 1:
            raise UsageError(
                "give one run, or two sides", "pyrometer ledger RUN… --against RUN… compares them"
            )
        if by is None:
            refuse(context, "top", of="--by PART", where="without it")
        if by == "iteration":
            refuse(context, "top", of="other parts", where="on iterations, which are all shown")
        asked = _request(by, stage, sql, task, top)
        with Run.open(run_named(run[0])) as opened, err().status("adding up"):
            report = ledger_report(opened, window, asked)
    if as_json:
        emit_json(report)
    else:
        terminal.ledger(human(as_json), report, view=view, depth=depth)


def _request(
    by: Literal["iteration", "sql", "stage", "operator", "task"] | None,
    stage: int | None,
    sql: int | None,
    task: str | None,
    top: int,
) -> Request:
    from pyrometer.accounts.ledger.report import Request
    from pyrometer.accounts.ledger.sums import Only

    if task is None:
        return Request(by=by, only=Only(stage_id=stage, sql_id=sql), most=top)
    if by or sql is not None:
        raise UsageError("--task cannot be combined with --by or --sql")
    if task == SLOWEST:
        return Request(only=Only(stage_id=stage), slowest=True)
    if not task.isdecimal():
        raise UsageError(f"--task {task}: neither a task ID nor {SLOWEST}")
    return Request(only=Only(stage_id=stage, task_attempt_id=int(task)), slowest=True)
