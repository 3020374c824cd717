"""The report of a run or an experiment: one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyrometer.analyse.characterise import characterise
from pyrometer.analyse.ledger.walk import walk
from pyrometer.analyse.model import Summary
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.study import StudyReport
from pyrometer.analyse.summary import open_scope, summarise
from pyrometer.analyse.told import define_told
from pyrometer.analyse.windows import APPLICATION, choose
from pyrometer.errors import UsageError
from pyrometer.report.corun import write_corun
from pyrometer.report.data import ReportData, build
from pyrometer.report.experiment import write_experiment
from pyrometer.report.ledger import ledger_walk
from pyrometer.report.page import render, write_page
from pyrometer.store import Run
from pyrometer.store.experiment import is_experiment, read_plan
from pyrometer.store.layout import RunPaths

__all__ = [
    "ReportData",
    "build",
    "page_data",
    "render",
    "write_corun",
    "write_experiment",
    "write_page",
    "write_report",
    "write_study",
]


def page_data(scope: Scope, made: Summary) -> ReportData:
    """Collect what the page of a run shows.

    Parameters
    ----------
    scope : Scope
        The run, cut to the window of the summary; nothing else was cut out of it since.
    made : Summary
        Its summary.
    """
    run = scope.run
    shown = made.model_dump(mode="json", by_alias=True)
    walked = ledger_walk(walk(scope))
    define_told(Scope(run, choose(run, APPLICATION)))
    return build(shown, run.facts(), run.tables, _queries(run), walked)


def _queries(run: Run) -> dict[str, Any] | None:
    # Only the runner of a suite (or of a SQL file) names parts of an iteration.
    if run.manifest is None or not any(result.parts for result in run.manifest.results):
        return None
    try:
        return characterise(run).model_dump(mode="json", by_alias=True)
    except UsageError as error:
        return {"reason": f"{error.message}."}


def write_report(run: str | Path, path: str | Path | None = None) -> Path:
    """Summarise a run, or judge an experiment, and write its report.

    Parameters
    ----------
    run : str or Path
        A run directory, an event log, or the folder of an experiment.
    path : str or Path, optional
        The file to write. Unasked: ``report.html`` in the run directory; for an event log
        ``<log>.report.html`` in the current directory.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    UsageError
        If there is no run at ``run``, or the file cannot be written.
    """
    if is_experiment(Path(run)):
        write = write_corun if read_plan(Path(run)).kind == "corun" else write_experiment
        return write(Path(run), None if path is None else Path(path))
    with Run.open(run) as opened:
        scope = open_scope(opened, None)
        data = page_data(scope, summarise(scope))
    target = Path(path) if path is not None else _beside(Path(run))
    write_page(data, target)
    return target


def write_study(study: StudyReport, path: str | Path) -> Path:
    """Write the page of a study: published values with ours beside.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    content = study.model_dump(mode="json", by_alias=True)
    write_page(ReportData(study.title, content), path)
    return Path(path)


def _beside(run: Path) -> Path:
    paths = RunPaths(run)
    if paths.manifest.is_file() or paths.raw.is_dir() or paths.tables.is_dir():
        return paths.report
    return Path(f"{run.name}.report.html")
