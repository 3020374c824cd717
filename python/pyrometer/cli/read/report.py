"""``pyrometer report RUN|EXPERIMENT``: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from pyrometer.cli.shared.run_named import beside, run_named, run_path
from pyrometer.core import units
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human

app = typer.Typer()


@app.command()
def report(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            parser=run_path,
            help="A run directory, a Spark event log (file or rolling directory), or the folder of"
            " an experiment or a tuning.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Output file. Default: report.html in the run directory; for an event log"
            " LOG.report.html"
            " here; for a run at an address RUN.report.html here.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        bool,
        typer.Option(
            "--runs",
            help="For an experiment or a tuning: write the reports of its finished trials first.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run or an experiment: one HTML file that opens anywhere, offline.

    The page of an experiment or a tuning leads to the reports of its trials that have one.
    """
    from pyrometer.api import write_report
    from pyrometer.cli.shared.finding import Finder
    from pyrometer.experiments.folder import is_experiment
    from pyrometer.report.page import write_run_report
    from pyrometer.store.remote.opened import mirror_of
    from pyrometer.tune.place import is_tuning

    if runs:
        _report_trials(run)
    named = run if is_tuning(run) else run_named(run)
    if output is None and mirror_of(named) is not None and named.is_dir():
        output = beside(named, "report.html")
    if is_experiment(named) or is_tuning(named):
        path = write_report(named, output)
    else:
        path = write_run_report(named, output, Finder().of_report(named))
    size = path.stat().st_size
    human(as_json).print(f"Report: {escape(str(path))} ({units.size(size)})", soft_wrap=True)
    if as_json:
        emit_json({"schema": "pyrometer/report/1", "report": str(path), "size_bytes": size})


def _report_trials(folder: Path) -> None:
    """Write reports of finished trials that have none; print why where a trial cannot be read."""
    from rich.progress import track

    from pyrometer.api import write_report

    wanted = track(
        _unreported(folder), "reports of trials", console=err(), transient=True,
        disable=not err().is_terminal,
    )  # fmt: skip
    for root in wanted:
        try:
            write_report(root)
        except PyrometerError as error:
            err().print(f"{root}: no report: {error.message}", markup=False, soft_wrap=True)


def _unreported(folder: Path) -> list[Path]:
    from pyrometer.experiments.folder import is_experiment
    from pyrometer.tune.place import is_tuning

    if is_tuning(folder):
        return _unreported_of_tuning(folder)
    if not is_experiment(folder):
        raise UsageError(f"--runs: {folder} is not an experiment's folder, nor a tuning's")
    from pyrometer.experiments.judge.page import unreported

    return unreported(folder)


def _unreported_of_tuning(folder: Path) -> list[Path]:
    from pyrometer.tune.trials.folder import read_tuning

    if read_tuning(folder).online is not None:
        from pyrometer.tune.online.page import unreported as of_nights
        from pyrometer.tune.online.report import online_report

        return of_nights(online_report(folder))
    from pyrometer.tune.judge.page import unreported as of_tuning
    from pyrometer.tune.judge.report import tuning_report

    return of_tuning(tuning_report(folder))
