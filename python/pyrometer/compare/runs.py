"""Runs compared: verdict, whether they are alike, and what the change consists of."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from pyrometer.compare.alike import differences_of_kind
from pyrometer.compare.cause_schema import Explanation, PlanChange, Unlike
from pyrometer.compare.changes import Change, OperatorChange, changes, operator_changes
from pyrometer.compare.explained import explain
from pyrometer.compare.lists import times_of, trials_of
from pyrometer.compare.plan_changes import plan_changes
from pyrometer.compare.sampled_shares import unknown_holders
from pyrometer.compare.side_by_side import side_by_side, without_settings
from pyrometer.compare.sides import Side, sides_of
from pyrometer.compare.stage_work import units_of
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.flame.difference.difference import FrameChange, frame_difference
from pyrometer.statistics.treatments import CompareReport, analyse
from pyrometer.store import Run
from pyrometer.store.remote.opened import address
from pyrometer.summary.kept import summary_of
from pyrometer.summary.schema import Summary

MOST = 50
MOST_FRAMES = 10
MOST_HOSTS = 3
_SURE = ("slower", "faster", "only in A", "only in B")


class RunsReport(CompareReport):
    """A comparison of runs.

    Attributes
    ----------
    differences : list of Change
        Parts of the change of elapsed time; they add up to it.
    operators : list of OperatorChange
        CPU by operator, the 50 largest changes.
    explanation : Explanation
        Why it changed: causes that add up to the change.
    side_by_side : list of Unlike
        Versions, executors, data and settings that are not the same.
    plans : list of PlanChange
        SQL executions whose plans are not the same, of the first run of each side.
    flame_difference : str or None
        The command for the flame graphs' difference, where both sides have profiles.
    frames : list of FrameChange
        The frames whose own CPU differs most, and significantly.
    """

    differences: list[Change] = Field(default_factory=list)
    operators: list[OperatorChange] = Field(default_factory=list)
    explanation: Explanation = Field(default_factory=Explanation)
    side_by_side: list[Unlike] = Field(default_factory=list)
    plans: list[PlanChange] = Field(default_factory=list)
    flame_difference: str | None = None
    frames: list[FrameChange] = Field(default_factory=list)


def compare_runs(a: Sequence[Path], b: Sequence[Path], margin: float) -> RunsReport:
    """Compare runs or event logs of two sides.

    Raises
    ------
    UsageError
        If one cannot be read, holds no time, or is given twice on one side.
    """
    for side in (a, b):
        _check_given_once(side)
    times = [[_times(path) for path in paths] for paths in (a, b)]
    summaries = [[(path, summary_of(path)) for path in paths] for paths in (a, b)]
    first, second = sides_of(*summaries)
    # Tasks before the statistics, whose modules would lie in memory beside them.
    explanation = _explanation(summaries)
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
    report.side_by_side = side_by_side(first, second)
    report.plans = plan_changes(first, second)[:MOST]
    report.explanation = explanation
    sampled = [all(_sampled(one) for one in side.summaries) for side in (first, second)]
    if no_log := _without_log(first, second):
        report.explanation.answer, report.explanation.cannot_tell = [no_log], []
    else:
        report.explanation.cannot_tell += [
            *_missing(sampled), *_cut(first, second), *_unset(first, second),
            *_not_divided(first, second),
        ]  # fmt: skip
    if all(sampled):
        report.flame_difference = " ".join(
            ["pyrometer", "flame", *map(_word, a), "--against", *map(_word, b)]
        )
        report.frames = _frames(a, b)
    return report


def _check_given_once(side: Sequence[Path]) -> None:
    """Refuse a run that is given twice, be it through a link; copies are not recognised."""
    seen: dict[Path, Path] = {}
    for path in side:
        first = seen.get(path.resolve())
        if first is not None:
            raise UsageError(
                f"{address(path)} is given twice on one side"
                + (f", also as {address(first)}" if first != path else ""),
                "give each run once: the same run counted twice says nothing about noise",
            )
        seen[path.resolve()] = path


def _explanation(summaries: Sequence[Sequence[tuple[Path, Summary]]]) -> Explanation:
    return explain(*([units_of(path, summary) for path, summary in side] for side in summaries))


def _without_log(a: Side, b: Side) -> str | None:
    """Say why there is no explanation, where runs have no application in an event log."""
    names = [side.name for side in (a, b) if not any(one.apps for one in side.summaries)]
    if not names:
        return None
    have = "have" if len(names) > 1 else "has"
    return (
        f"No causes: {' and '.join(names)} {have} no Spark event log to derive them from."
        " Measure with pyrometer run --profile light, or compare event logs."
    )


def _cut(a: Side, b: Side) -> list[str]:
    """Name sides whose applications were not seen to end."""
    return [
        f"{side.name}: its event log ends before the application, which counts up to the last event"
        for side in (a, b)
        if any(app.end_wall_ns is None for one in side.summaries for app in one.apps)
    ]


def _unset(a: Side, b: Side) -> list[str]:
    """Name the side whose settings are not known, where the other's are."""
    unset = [name for name, side in (("A", a), ("B", b)) if without_settings(side)]
    if len(unset) != 1:
        return []
    return [f"{unset[0]} has no settings in its event log: none is compared"]


def _not_divided(a: Side, b: Side) -> list[str]:
    """Name hosts where it is not known behind whom tasks waited for a CPU."""
    found = []
    for side in (a, b):
        hosts = sorted({host for one in side.summaries for host in unknown_holders(one)})
        if hosts:
            named = ", ".join(hosts[:MOST_HOSTS])
            more = f" and {len(hosts) - MOST_HOSTS} more" if len(hosts) > MOST_HOSTS else ""
            found.append(
                f"{side.name}: who had the CPUs that tasks waited for on {named}{more} is not"
                " known: these waits stay one cause"
            )
    return found


def _frames(a: Sequence[Path], b: Sequence[Path]) -> list[FrameChange]:
    try:
        found = frame_difference(a, b).frames
    except PyrometerError:
        return []
    sure = [one for one in found if one.event == "cpu" and one.own.verdict in _SURE]
    return sorted(sure, key=lambda one: -abs(one.own.change.value or 0.0))[:MOST_FRAMES]


def _word(path: Path) -> str:
    return shlex.quote(address(path))


def _sampled(summary: Summary) -> bool:
    return any(one.samples_count for one in summary.operators)


def _missing(sampled: Sequence[bool]) -> list[str]:
    """Say what samples would have shown."""
    if all(sampled):
        return []
    where = "either side" if not any(sampled) else ("A" if sampled[1] else "B")
    return [
        f"no profile of {where}: CPU is not known by operator and expression, nor waits by class"
        " (pyrometer run --profile full)"
    ]


def _times(path: Path) -> list[int]:
    with Run.open(path) as opened:
        return times_of(opened)
