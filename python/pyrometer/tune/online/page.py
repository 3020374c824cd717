"""The page of a recurring job: its nights, what was decided after them, and the risk spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyrometer.pages.links import report_link, without_report
from pyrometer.pages.page import ReportData, write_page
from pyrometer.tune.judge.page import PAGE, figure, negated
from pyrometer.tune.online.report import OnlineReport, online_report

SCHEMA = "pyrometer/tuning-online-page/1"


def write_online(
    folder: Path, path: Path | None = None, *, report: OnlineReport | None = None
) -> Path:
    """Write the page of a recurring job.

    Parameters
    ----------
    folder : Path
        Of its tuning.
    path : Path, optional
        The file to write. Default: ``report.html`` in the folder.
    report : OnlineReport, optional
        Its report; by default it is read from the journal.

    Raises
    ------
    UsageError
        If it is no recurring job, its journal was edited, or the file cannot be written.
    """
    found = report or online_report(folder)
    target = path or folder / PAGE
    title = f"Recurring job {found.name}"
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "title": title,
        "folder": str(folder),
        "verdict": found.told,
        "figures": figures(found),
        "report": found.model_dump(mode="json", by_alias=True),
        "runs": links(found, target.parent),
    }
    write_page(ReportData(title, content), target)
    return target


def figures(report: OnlineReport) -> list[dict[str, Any]]:
    """Return the key figures: what the incumbent saves, and what the promise has room for."""
    saved = None if report.change is None else negated(report.change)
    nights = max((one.night for one in report.runs), default=0)
    adopted = sum(one.what == "adopted" for one in report.decisions)
    back = sum(one.what == "rolled back" for one in report.decisions)
    return [
        figure(
            "Saved", saved, "ratio", "by the incumbent's last runs; below 0: it takes longer",
            reason="the job runs as it is",
        ),
        figure("Nights", nights, "count", f"{report.done_count} runs have done the job"),
        figure("Adopted", adopted, "count", f"{back} rolled back"),
        figure(
            "Time saved" if report.lost_runs < 0 else "Time lost", abs(report.lost_runs), "runs",
            f"by all runs together, in runs as it is; {report.allowed_runs:.2f} may be lost",
        ),
    ]  # fmt: skip


def links(report: OnlineReport, page_folder: Path) -> dict[str, str]:
    """Links to the reports of runs that have one, relative to the page, by run directory."""
    places = [one.folder for one in report.runs if one.folder]
    return {one: link for one in places if (link := report_link(Path(one), page_folder))}


def unreported(report: OnlineReport) -> list[Path]:
    """Run directories of runs that did the job, without a report yet; past ones may be removed."""
    done = [one.folder for one in report.runs if one.folder and one.value and not one.given_up]
    return without_report(map(Path, done))
