"""``pyrometer experiment bisect``: the first slower level of an ordered list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared.endings import ended_by_interrupt, ending_with
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human, program

EXAMPLES = """\b
Examples:
  pyrometer experiment bisect kernels.yaml --over machine.kernel
  pyrometer experiment bisect kernels.yaml --error 1% --trials 100 -o kernels
  pyrometer experiment bisect kernels --trials 120       # go on, with more trials
"""


def bisect(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|DIR", help="An experiment file, or the folder of a search to go on with."
        ),
    ],
    over: Annotated[
        str | None,
        typer.Option(
            metavar="FACTOR", help="Factor with the ordered levels. Default: the only one varied."
        ),
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="Largest probability of a wrong answer. Default: 5%."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=4, help="Stop after so many trials. Default: 60.")
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="Slower means by at least this. Default: the file's."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of choices (default: the file's).")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Output folder: new or empty."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the first slower level of an ordered list (kernels, versions, sizes) in few trials.

    Levels are those of the file, in their order: the level found and all after it are slower than
    the first. Each trial is at the level that says most about the answer, until its probability of
    being wrong is at most --error.

    Exit code: 1 if it cannot tell yet, or was interrupted.
    """
    from pyrometer.experiments.folder import is_experiment

    if is_experiment(file):
        given = (over, error, margin, seed, output)
        if any(one is not None for one in given):
            raise UsageError(
                f"{file} was planned: only --trials can be changed",
                "give the experiment file, and a new folder with -o",
            )
        root = file
    else:
        root = output or Path("pyrometer-runs") / f"bisect-{file.stem}"
        _begin(file, root, over, error, trials, margin, seed)
    carry(root, most_trials=trials)
    show(root, as_json=as_json)


def _begin(
    file: Path,
    root: Path,
    over: str | None,
    error: str | None,
    trials: int | None,
    margin: str | None,
    seed: int | None,
) -> None:
    from pyrometer.cli.shared.margin import parse_margin
    from pyrometer.experiments.bisect.plan import ERROR, MOST_TRIALS, bisection_plan
    from pyrometer.experiments.bisect.state import bisection_of
    from pyrometer.experiments.judge.terminal import left_out, notes
    from pyrometer.experiments.run.loop import begin

    plan = bisection_plan(
        file, root, over=over, error=ERROR if error is None else _error(error),
        most_trials=trials or MOST_TRIALS, seed=seed,
        margin=None if margin is None else parse_margin(margin),
    )  # fmt: skip
    begin(root, plan)
    wanted = bisection_of(plan)
    err().print(
        f"{plan.name}: {len(wanted.levels)} levels of {wanted.over}, from {wanted.levels[0]} to"
        f" {wanted.levels[-1]}; at most {wanted.most_trials} trials ({root})",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    left_out(err(), plan.left_out)
    notes(err(), plan)


def _error(text: str) -> float:
    """Read ``--error``."""
    try:
        found = float(text.strip().removesuffix("%")) / 100 if text.strip().endswith("%") else 0.0
    except ValueError:
        found = 0.0
    if not 0 < found < 0.5:
        raise UsageError(f"--error {text}: a percentage above 0 and below 50", "--error 5%")
    return found


def carry(root: Path, *, retry: bool = False, most_trials: int | None = None) -> None:
    """Run trials until the answer is known; progress is shown on the screen."""
    from pyrometer.experiments.bisect.search import search
    from pyrometer.experiments.judge.screen import ExperimentScreen

    kept = f"finished trials are kept. Continue with: {program()} experiment resume {root}"
    with ended_by_interrupt(kept), ExperimentScreen() as screen:
        search(root, screen=screen, retry=retry, most_trials=most_trials)


def show(root: Path, *, as_json: bool) -> None:
    """Print what is known.

    Raises
    ------
    Exit
        With code 1, if it cannot tell yet.
    """
    from pyrometer.experiments.bisect import terminal
    from pyrometer.experiments.bisect.report import bisection_report
    from pyrometer.experiments.folder import read_plan
    from pyrometer.experiments.journal import read_journal

    report = bisection_report(root, read_plan(root), read_journal(root))
    with ending_with(typer.Exit(1) if report.status == "undecided" else None):
        terminal.show(human(as_json), report, root)
        if as_json:
            emit_json(report)
