"""A history for people and other programs: its page, and a row a run as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from pyrometer.analyse.history import HistoryReport
from pyrometer.report.data import ReportData
from pyrometer.report.experiment_files import write_text
from pyrometer.report.page import write_page

_SUBJECT = ("workload", "scale", "treatment", "profile", "host")
_RUN = ("wall_ns", "seconds", "level", "folder")
MOST_SERIES = 60
"""Series that the page holds; those with most changes come first."""


def write_history(report: HistoryReport, path: Path) -> Path:
    """Write the page.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    changes = [change for series in report.series for change in series.changes]
    shown = report.model_copy(update={"series": report.series[:MOST_SERIES]})
    content = {
        **shown.model_dump(mode="json", by_alias=True),
        "series_count": len(report.series),
        "changes_count": len(changes),
        "slower_count": sum(one.verdict == one.now_verdict == "slower" for one in changes),
    }
    write_page(ReportData("History", content), path)
    return path


def write_csv(report: HistoryReport, path: Path) -> Path:
    """Write a row a run, series by series in the order of time.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*_SUBJECT, *_RUN])
    for series in report.series:
        subject = [getattr(series.subject, name) for name in _SUBJECT]
        rows.writerows([*subject, *(getattr(run, name) for name in _RUN)] for run in series.runs)
    return write_text(path, text.getvalue())
