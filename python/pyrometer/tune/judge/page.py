"""The page of a tuning: verdict, trials, factors, confirmation, and why the winner is faster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyrometer.core.estimate import Estimate
from pyrometer.pages.links import report_link, without_report
from pyrometer.pages.page import ReportData, write_page
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.judge.schema import TuningReport

SCHEMA = "pyrometer/tuning-page/1"
PAGE = "report.html"


def write_tuning(
    folder: Path, path: Path | None = None, *, report: TuningReport | None = None
) -> Path:
    """Judge a tuning, finished or not, and write its page.

    Parameters
    ----------
    folder : Path
        Of the tuning.
    path : Path, optional
        The file to write. Default: ``report.html`` in the folder.
    report : TuningReport, optional
        Its report; by default it is computed from the runs.

    Raises
    ------
    UsageError
        If it is no tuning, or the file cannot be written.
    """
    report = report or tuning_report(folder)
    target = path or folder / PAGE
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "title": f"Tuning of {report.name}",
        "folder": str(folder),
        "verdict": report.told,
        "figures": figures(report),
        "report": report.model_dump(mode="json", by_alias=True),
        "runs": links(report, target.parent),
    }
    write_page(ReportData(f"Tuning of {report.name}", content), target)
    return target


def figures(report: TuningReport) -> list[dict[str, Any]]:
    """Return the key figures: what was confirmed, what it cost, when it is earned back."""
    found, earned = report.confirmation, report.earned_back
    saved = None
    if found is not None and found.verdict.outcome in ("confirmed", "slower", "no difference"):
        saved = negated(found.verdict.change)
    unit = {"cost": report.currency or "cost", "memory": "bytes"}.get(report.objective, "ns")
    budget = report.budget
    return [
        figure(
            "Saved", saved, "ratio", "of fresh blocks; below 0: it costs more",
            reason=found.told if found else "nothing was confirmed",
        ),
        figure("Baseline", report.baseline, unit, f"{report.objective} of the job as it is",
                reason="no trial of it has finished"),
        figure("Core time spent", budget.core_s * 1e9, "ns", "in all trials, confirmation too"),
        figure(
            "Earned back after", earned.runs, "runs", "runs of the job",
            reason=earned.reason or "not known",
        ),
    ]  # fmt: skip


def negated(one: Estimate) -> Estimate:
    """Give an estimate the other way round: what is saved, of what more is taken."""
    value, low, high = (None if end is None else -end for end in (one.value, one.high, one.low))
    return one.model_copy(update={"value": value, "low": low, "high": high})


def figure(
    label: str,
    value: Estimate | float | None,
    unit: str,
    note: str,
    *,
    reason: str = "not known",
) -> dict[str, Any]:
    """Give a key figure as pages show it; where its value is not known, the reason."""
    known = value if isinstance(value, Estimate) else None
    point = known.value if known else value if not isinstance(value, Estimate) else None
    return {
        "label": label, "unit": unit, "note": note, "value": point,
        "low": known.low if known else None, "high": known.high if known else None,
        "n": known.n if known else None, "reason": reason if point is None else None, "help": None,
    }  # fmt: skip


def links(report: TuningReport, page_folder: Path) -> dict[str, str]:
    """Links to the reports of runs that have one, relative to the page, by run directory."""
    places = [one.folder for one in report.trials if one.folder]
    places += _of_confirmation(report)
    return {one: link for one in places if (link := report_link(Path(one), page_folder))}


def unreported(report: TuningReport) -> list[Path]:
    """Run directories of trials that finished, of the confirmation too, without a report yet."""
    places = [one.folder for one in report.trials if one.folder and one.status == "finished"]
    return without_report(map(Path, [*places, *_of_confirmation(report)]))


def _of_confirmation(report: TuningReport) -> list[str]:
    """Run directories of all blocks, and of those of which it is said why the winner is faster."""
    why = report.why
    parts = [one for one in (report.confirmation, *report.elsewhere) if one is not None]
    places = [place for part in parts for pair in part.runs for place in pair]
    return [*places, *why.baseline_runs, *why.winner_runs] if why else places
