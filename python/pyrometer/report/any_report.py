"""The report of whatever a path is: a run, an event log, or an experiment."""

from __future__ import annotations

from pathlib import Path

from pyrometer.report.corun import write_corun
from pyrometer.report.experiment import write_experiment
from pyrometer.report.run_page import write_run_report
from pyrometer.store.experiment import is_experiment, read_plan


def write_report(run: str | Path, path: str | Path | None = None) -> Path:
    """Summarise a run, or judge an experiment, and write its report.

    Parameters
    ----------
    run : str or Path
        A run directory, an event log, or the folder of an experiment.
    path : str or Path, optional
        The file to write. Default: ``report.html`` in the run directory; for an event log
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
    return write_run_report(run, path)
