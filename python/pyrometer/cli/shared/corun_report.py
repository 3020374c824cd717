"""The report of a co-run, for the verbs that run one or go on with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyrometer.cli.shared.experiment_file import print_report, reading_trials

if TYPE_CHECKING:
    from pyrometer.corun.schema import CorunReport


def show_corun(root: Path, *, as_json: bool) -> None:
    """Print what workloads lost together, finished or not, and write the page.

    Raises
    ------
    Exit
        With code 1, if there is nothing to compare.
    """
    from pyrometer.corun import terminal
    from pyrometer.corun.page import write_corun

    report = _report(root)

    def page() -> Path:
        return write_corun(root, report=report)

    print_report(
        root, report, terminal.show, page, anything=bool(report.encounters), as_json=as_json
    )


def _report(root: Path) -> CorunReport:
    from pyrometer.corun.analysis import corun_report
    from pyrometer.experiments.folder import read_plan
    from pyrometer.experiments.journal import read_journal

    with reading_trials() as reading:
        return corun_report(root, read_plan(root), read_journal(root), reading=reading)
