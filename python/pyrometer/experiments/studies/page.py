"""The page of a study."""

from __future__ import annotations

from pathlib import Path

from pyrometer.experiments.studies.schema import StudyReport
from pyrometer.pages.page import ReportData, write_page


def write_study(study: StudyReport, path: str | Path) -> Path:
    """Write the page of a study: published values next to ours.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    content = study.model_dump(mode="json", by_alias=True)
    write_page(ReportData(study.title, content), path)
    return Path(path)
