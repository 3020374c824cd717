"""Runs of the same treatment over time: when its level changed, by how much, and what else did.

Written as a page for people, and as CSV, a row a run, for other programs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.core.schema import doubt
from pyrometer.experiments.judge.files import Rule
from pyrometer.pages.page import ReportData, write_page, write_text
from pyrometer.statistics.blocks import autocorrelation, residuals
from pyrometer.statistics.change_points import ALPHA, change_points, place_interval
from pyrometer.statistics.two import MARGIN, Verdict, compare, geometric_mean_of, logs

FEWEST = 8
"""Fewest runs in which cuts are looked for: six can be split into halves in only 20 ways."""

MOST_RUNS = 200
"""Newest runs of a series that are looked at, unless asked otherwise."""

ALIKE = 0.3
"""Correlation of neighbours within levels above which cuts are doubted."""


class Subject(BaseModel):
    """What the runs of a series have in common."""

    model_config = ConfigDict(frozen=True)

    workload: str
    scale: str
    treatment: str
    profile: str
    host: str


@dataclass(frozen=True)
class StoredRun:
    """A finished run; `facts` are what may differ within a series: versions, kernel, result."""

    subject: Subject
    wall_ns: int
    seconds: float
    folder: str
    facts: Mapping[str, str] = field(default_factory=dict)


class HistoryPoint(BaseModel):
    """A run in its series; `level` counts levels from 0."""

    wall_ns: int
    seconds: float
    folder: str
    level: int


class FactChange(BaseModel):
    """A fact in which every run before a change differs from every run after it."""

    name: str
    before: str
    behind: str


class ChangePoint(BaseModel):
    """A new level.

    Attributes
    ----------
    index : int
        First run of it, in its series.
    place : Estimate
        The same with the interval in which it may lie.
    p : float
        Share of permutations in which a cut as good was found.
    change : Estimate
        The new level over the one before, minus 1.
    now : Estimate
        The newest level over the one before this change, minus 1: whether it was undone since.
    facts : list of FactChange
        What else changed there.
    """

    index: int
    wall_ns: int
    folder: str
    place: Estimate
    p: float
    change: Estimate
    verdict: Verdict
    now: Estimate
    now_verdict: Verdict
    facts: list[FactChange] = Field(default_factory=list)


class Series(BaseModel):
    """Runs of one subject in the order of time; `reason` says why no change could be looked for."""

    subject: Subject
    runs: list[HistoryPoint]
    levels: list[Estimate]
    changes: list[ChangePoint] = Field(default_factory=list)
    autocorrelation: float | None = None
    left_out_count: int = 0
    reason: str | None = None


class HistoryReport(BaseModel):
    """Structure of ``experiment history --json`` (``pyrometer/history/1``)."""

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/history/1"] = Field("pyrometer/history/1", alias="schema")
    margin: float
    alpha: float
    series: list[Series]
    unread: dict[str, str] = Field(default_factory=dict)
    doubts: list[Doubt] = Field(default_factory=list)


def history(
    runs: Iterable[StoredRun],
    *,
    margin: float = MARGIN,
    most: int = MOST_RUNS,
    unread: Mapping[str, str] | None = None,
) -> HistoryReport:
    """Look for changes in the runs of each subject.

    Parameters
    ----------
    runs : iterable of StoredRun
        In any order.
    margin : float
        Relative difference below which two levels are the same.
    most : int
        How many of a series' newest runs to analyse.
    unread : mapping of str to str
        What could not be read, and why: kept in the report.
    """
    by_subject: dict[Subject, list[StoredRun]] = {}
    for run in runs:
        by_subject.setdefault(run.subject, []).append(run)
    report = HistoryReport(
        margin=margin,
        alpha=ALPHA,
        series=[_series(subject, members, margin, most) for subject, members in by_subject.items()],
        unread=dict(unread or {}),
    )
    report.series.sort(key=lambda one: (-len(one.changes), -len(one.runs)))
    alike = [one for one in report.series if (one.autocorrelation or 0.0) > ALIKE]
    if alike:
        correlations = "; ".join(f"{_name(one)} {one.autocorrelation:+.2f}" for one in alike[:3])
        report.doubts.append(doubt("runs_alike", f"correlation of neighbours: {correlations}"))
    return report


def regressions(report: HistoryReport, rule: Rule) -> list[tuple[Series, ChangePoint]]:
    """Return changes to a level that is surely slower by more than the limit, and not undone."""
    return [
        (series, change)
        for series in report.series
        for change in series.changes
        if change.verdict == change.now_verdict == "slower"
        and min(change.change.value or 0.0, change.now.value or 0.0) > rule.limit
    ]


def _name(series: Series) -> str:
    subject = series.subject
    return " ".join(part for part in (subject.workload, subject.treatment) if part)


def _series(subject: Subject, found: Sequence[StoredRun], margin: float, most: int) -> Series:
    ordered = sorted(found, key=lambda run: run.wall_ns)
    runs = ordered[-most:]
    values = [run.seconds for run in runs]
    cuts = change_points(logs(values)) if len(runs) >= FEWEST else []
    bounds = [0, *(cut.index for cut in cuts), len(runs)]
    levels = [values[first:last] for first, last in pairwise(bounds)]
    series = Series(
        subject=subject,
        runs=[
            HistoryPoint(wall_ns=run.wall_ns, seconds=run.seconds, folder=run.folder, level=level)
            for level, (first, last) in enumerate(pairwise(bounds))
            for run in runs[first:last]
        ],
        levels=[geometric_mean_of(level) for level in levels],
        left_out_count=len(ordered) - len(runs),
        reason=None if len(runs) >= FEWEST else f"{len(runs)} runs: at least {FEWEST} are needed",
    )
    deviations = residuals({str(number): level for number, level in enumerate(levels)})
    series.autocorrelation = autocorrelation(
        [one for level in deviations.values() for one in level]
    )
    for number, cut in enumerate(cuts, 1):
        first, last = bounds[number - 1], bounds[number + 1]
        before, behind = levels[number - 1], levels[number]
        difference = compare(before, behind, margin=margin, permutations=0)
        now = compare(before, levels[-1], margin=margin, permutations=0)
        series.changes.append(
            ChangePoint(
                index=cut.index, wall_ns=runs[cut.index].wall_ns, folder=runs[cut.index].folder,
                place=_place(cut.index, before, behind), p=cut.p,
                change=difference.change, verdict=difference.verdict,
                now=now.change, now_verdict=now.verdict,
                facts=_facts(runs[first : cut.index], runs[cut.index : last]),
            )
        )  # fmt: skip
    return series


def _place(index: int, before: Sequence[float], behind: Sequence[float]) -> Estimate:
    earlier, later = place_interval(logs(before), logs(behind))
    return Estimate(
        value=index, low=index - earlier, high=index + later, level=0.95,
        n=len(before) + len(behind), method="bai of logs",
    )  # fmt: skip


def _facts(before: Sequence[StoredRun], behind: Sequence[StoredRun]) -> list[FactChange]:
    """Return facts whose values before and after a change have none in common."""
    names = dict.fromkeys(name for run in (*before, *behind) for name in run.facts)
    changes = []
    for name in names:
        sides = [
            dict.fromkeys(run.facts.get(name, "not known") for run in side)
            for side in (before, behind)
        ]
        if not sides[0].keys() & sides[1].keys():
            # The runs next to the change say it best.
            one, other = list(sides[0])[-1], next(iter(sides[1]))
            changes.append(FactChange(name=name, before=one, behind=other))
    return changes


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
