"""A comparison of runs in the terminal: what makes it doubtful, verdict, what the change is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pyrometer.compare import explained_terminal as view
from pyrometer.compare.cause_words import signed
from pyrometer.compare.changes import Change
from pyrometer.compare.runs import RunsReport
from pyrometer.compare.terminal import show_comparison, show_doubts, show_welch
from pyrometer.core import units
from pyrometer.summary.story import short
from pyrometer.terminal.drawing import Justify, Look, grid, heading, indented, note, put, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST = 5
_WORTH = 0.01
_UNLIKE = "different_"


def show_runs(console: Any, report: RunsReport, whole: bool = False) -> None:
    """Print a comparison of runs: unlike sides, then the answer, then what it rests on."""
    look = Look.of(console)
    different = [one for one in report.doubts if one.code.startswith(_UNLIKE)]
    if different:
        show_doubts(console, different)
        console.print()
    put(console, view.answer_lines(report.explanation))
    console.print()
    show_comparison(console, report, report.what)
    names = [one.name for one in report.treatments]
    put(console, view.causes(report.explanation, look, whole))
    put(console, _parts(report, names, look, whole))
    put(console, view.unlike(report.side_by_side, names, look, whole))
    put(console, view.plans(report.plans, whole))
    put(console, view.frames(report.frames, report.flame_difference, look))
    put(console, view.unknown(report.explanation))
    show_welch(console, report)
    show_doubts(console, [one for one in report.doubts if one not in different])


def _parts(
    report: RunsReport, names: Sequence[str], look: Look, whole: bool
) -> Iterator[RenderableType]:
    total = sum(one.seconds for one in report.differences)
    most = len(report.differences) + len(report.operators) if whole else MOST
    if any(one.seconds for one in report.differences):
        yield heading("By stage")
        change = signed(total)
        yield Text.from_markup(
            f"What the change of elapsed time consists of ({change} an iteration, along the"
            " critical path):"
        )
        rows = [(_called(one), one.a_s, one.b_s, one.seconds) for one in report.differences]
        yield from _table(rows, names, look, most)
    if any(one.seconds for one in report.operators):
        yield ""
        yield Text("CPU by operator, Python workers included:")
        rows = [
            (safe(short(one.operator, 60)), one.a_s, one.b_s, one.seconds)
            for one in report.operators
        ]
        yield from _table(rows, names, look, most)


def _called(one: Change) -> str:
    place = safe(short(one.place, 60))
    return f"{place} [dim]only {safe(one.only)}[/]" if one.only else place


def _table(
    rows: Sequence[tuple[str, float, float, float]], names: Sequence[str], look: Look, shown: int
) -> Iterator[RenderableType]:
    most = max((abs(seconds) for *_, seconds in rows), default=0.0)
    worth = [row for row in rows if abs(row[3]) >= _WORTH * most and row[3]]
    columns: list[tuple[str, Justify]] = [("", "left")]
    columns += [(safe(short(name, 16)), "right") for name in names[:2]]
    columns += [("change", "right")]
    cells = [
        [name, units.duration(a * 1e9), units.duration(b * 1e9), signed(seconds)]
        for name, a, b, seconds in worth[:shown]
    ]
    yield indented(grid(look, columns, cells))
    left = [row for row in rows if row not in worth[:shown]]
    if left:
        together = signed(sum(seconds for *_, seconds in left))
        yield note(f"{len(left)} more, {together} together; --json has all")
