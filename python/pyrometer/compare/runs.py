"""Runs compared: verdict, whether they are alike, and what the change consists of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from pyrometer.compare.alike import differences_of_kind
from pyrometer.compare.changes import Change, OperatorChange, changes, operator_changes
from pyrometer.compare.lists import times_of, trials_of
from pyrometer.compare.sides import sides_of
from pyrometer.statistics.treatments import CompareReport, analyse
from pyrometer.store import Run
from pyrometer.summary.kept import summary_of

MOST = 50


class RunsReport(CompareReport):
    """A comparison of runs.

    Attributes
    ----------
    differences : list of Change
        Parts of the change of elapsed time; they add up to it.
    operators : list of OperatorChange
        CPU by operator, the 50 largest changes.
    """

    differences: list[Change] = Field(default_factory=list)
    operators: list[OperatorChange] = Field(default_factory=list)


def compare_runs(a: Sequence[Path], b: Sequence[Path], margin: float) -> RunsReport:
    """Compare runs or event logs of two sides.

    Raises
    ------
    UsageError
        If one cannot be read, or holds no time.
    """
    times = [[_times(path) for path in paths] for paths in (a, b)]
    summaries = [[(path, summary_of(path)) for path in paths] for paths in (a, b)]
    first, second = sides_of(*summaries)
    trials, doubts = trials_of(times[0], times[1], (first.name, second.name))
    what = "time of an iteration" if summaries[0][0][1].window.iterations else "elapsed time"
    found = analyse(trials, what=what, unit="s", margin=margin, names=(first.name, second.name))
    report = RunsReport(**{name: getattr(found, name) for name in CompareReport.model_fields})
    # The two lists of runs say nothing about the order in time.
    report.order.fixed = False
    few = [one for one in report.doubts if one.code == "few_trials"]
    report.doubts = [*differences_of_kind(first, second), *doubts, *few]
    report.differences = changes(first, second)
    report.operators = operator_changes(first, second)[:MOST]
    return report


def _times(path: Path) -> list[int]:
    with Run.open(path) as opened:
        return times_of(opened)
