"""A comparison of runs in the terminal: on one screen what changed and why; the rest on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pyrometer.compare import explained_terminal as view
from pyrometer.compare.cause_words import signed
from pyrometer.compare.runs import RunsReport
from pyrometer.compare.terminal import percent, show_comparison, show_doubts, show_welch
from pyrometer.core import units
from pyrometer.summary.story import short
from pyrometer.terminal.drawing import Justify, Look, grid, heading, indented, note, put, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.core.doubt import Doubt

LINES = 40
"""Of the short view, in a terminal of 80 columns: one screen."""
LEAST_UNLIKE = 3
MOST_UNLIKE = 10
_WORTH = 0.01
_UNLIKE = "different_"
_OF_FEW_RUNS = ("one_run_each", "few_trials")


def show_runs(console: Any, report: RunsReport, whole: bool = False) -> None:
    """Print a comparison of runs: unlike sides, then the answer, then what it rests on."""
    if whole:
        _whole(console, report)
    else:
        _screen(console, report)


def _whole(console: Any, report: RunsReport) -> None:
    look = Look.of(console)
    different = [one for one in report.doubts if one.code.startswith(_UNLIKE)]
    if different:
        show_doubts(console, different)
        console.print()
    put(console, view.answer_lines(report.explanation))
    console.print()
    show_comparison(console, report, report.what)
    names = [one.name for one in report.treatments]
    put(console, view.causes(report.explanation, look))
    put(console, view.unknown(report.explanation))
    put(console, _operators(report, names, look))
    put(console, view.unlike(report.side_by_side, names, look))
    put(console, view.plans(report.plans))
    put(console, view.frames(report.frames, report.flame_difference, look))
    show_welch(console, report)
    show_doubts(console, [one for one in report.doubts if one not in different])


def _screen(console: Any, report: RunsReport) -> None:
    """Print one screen; what is not the same gets the lines that the rest leaves."""
    look = Look.of(console)
    names = [one.name for one in report.treatments]
    found = report.explanation
    first = [
        *(_doubt(one) for one in report.doubts if _grave(one)),
        *view.answer_lines(found),
        *_verdict(report, names),
        *view.top_causes(found, look),
        *view.unknown(found),
        *(_doubt(one) for one in report.doubts if _worth_a_line(one, report)),
    ]
    last = list(view.frame_hint(report.frames, report.flame_difference))
    for most_plans in (view.MOST_PLANS, 1):
        plans = list(view.top_plans(report.plans, most_plans))
        room = LINES - 4 - sum(_height(console, one) for one in (*first, *plans, *last))
        if room >= LEAST_UNLIKE:
            break
    most = max(LEAST_UNLIKE, min(MOST_UNLIKE, room))
    unlike = view.top_unlike(report.side_by_side, ("A", "B"), look, most)
    put(console, (*first, *unlike, *plans, *last))


def _height(console: Any, part: RenderableType) -> int:
    return len(console.render_lines(part, pad=False))


def _grave(doubt: Doubt) -> bool:
    return doubt.severity == "error"


def _worth_a_line(doubt: Doubt, report: RunsReport) -> bool:
    """Leave out what the table of differences has, and what another doubt says as well."""
    one_each = any(one.code == "one_run_each" for one in report.doubts)
    if _grave(doubt) or doubt.severity == "info":
        return False
    return not (doubt.code == "few_trials" and one_each)


def _doubt(doubt: Doubt) -> Text:
    remedy = f" {doubt.remedy}" if doubt.code in _OF_FEW_RUNS and doubt.remedy else ""
    style = "bold red" if _grave(doubt) else "yellow"
    text = f"{doubt.message}.{remedy}" if remedy else doubt.message
    return Text.assemble((doubt.severity, style), " ", short(view.plain(text), 150))


def _verdict(report: RunsReport, names: Sequence[str]) -> Iterator[RenderableType]:
    """Give the verdict, both times and the interval in a line."""
    a, b = report.treatments[:2]
    for pair in report.pairs[:1]:
        change = ""
        if pair.change.low is not None and pair.change.high is not None:
            ends = f"{percent(pair.change.low)} … {percent(pair.change.high)}"
            change = f", {percent(pair.change.value)} ({ends})"
        means = (one.mean.value for one in (a, b))
        times = " → ".join(units.duration(None if one is None else one * 1e9) for one in means)
        trials = f"{a.mean.n} and {b.mean.n} trials"
        yield Text(
            f"{pair.verdict.partition(':')[0]}: {report.what} {times}{change}; {trials}",
            style="dim",
        )
    if [*names] != ["A", "B"]:
        first, second = (view.plain(short(name, 70)) for name in names[:2])
        yield Text(f"A {first}, B {second}", style="dim")


def _operators(
    report: RunsReport, names: Sequence[str], look: Look
) -> Iterator[RenderableType]:  # fmt: skip
    if not any(one.seconds for one in report.operators):
        return
    yield heading("CPU by operator, Python workers included")
    rows = [
        (safe(short(one.operator, 60)), one.a_s, one.b_s, one.seconds) for one in report.operators
    ]
    yield from _table(rows, names, look)


def _table(
    rows: Sequence[tuple[str, float, float, float]], names: Sequence[str], look: Look
) -> Iterator[RenderableType]:
    most = max((abs(seconds) for *_, seconds in rows), default=0.0)
    worth = [row for row in rows if abs(row[3]) >= _WORTH * most and row[3]]
    columns: list[tuple[str, Justify]] = [("", "left")]
    columns += [(safe(short(name, 16)), "right") for name in names[:2]]
    columns += [("change", "right")]
    cells = [
        [name, units.duration(a * 1e9), units.duration(b * 1e9), signed(seconds)]
        for name, a, b, seconds in worth
    ]
    yield indented(grid(look, columns, cells))
    left = [row for row in rows if row not in worth]
    if left:
        together = signed(sum(seconds for *_, seconds in left))
        yield note(f"{len(left)} more, {together} together; --json has all")
