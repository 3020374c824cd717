"""The report of a run: one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from pyrometer.analyse.summary import summary
from pyrometer.report.data import ReportData, build
from pyrometer.report.page import render, write_page
from pyrometer.store import Run
from pyrometer.store.layout import RunPaths

__all__ = ["ReportData", "build", "render", "write_page", "write_report"]


def write_report(run: str | Path, path: str | Path | None = None) -> Path:
    """Summarise a run and write its report.

    Parameters
    ----------
    run : str or Path
        A run directory or an event log.
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
    with Run.open(run) as opened:
        made = summary(opened).model_dump(mode="json", by_alias=True)
        data = build(made, opened.facts(), opened.tables)
    target = Path(path) if path is not None else _beside(Path(run))
    write_page(data, target)
    return target


def _beside(run: Path) -> Path:
    paths = RunPaths(run)
    if paths.manifest.is_file() or paths.raw.is_dir() or paths.tables.is_dir():
        return paths.report
    return Path(f"{run.name}.report.html")
