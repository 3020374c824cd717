"""A comparison of runs in the terminal: what makes it doubtful, verdict, what the change is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pyrometer.compare.changes import Change
from pyrometer.compare.runs import RunsReport
from pyrometer.compare.terminal import show_comparison, show_doubts, show_welch
from pyrometer.core import units
from pyrometer.summary.story import short
from pyrometer.terminal.drawing import Justify, Look, grid, indented, note, put, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST = 6
_WORTH = 0.01
_UNLIKE = "different_"


def show_runs(console: Any, report: RunsReport) -> None:
    """Print a comparison of runs: unlike sides first."""
    unlike = [one for one in report.doubts if one.code.startswith(_UNLIKE)]
    if unlike:
        show_doubts(console, unlike)
        console.print()
    show_comparison(console, report, report.what)
    put(console, _parts(report, Look.of(console)))
    show_welch(console, report)
    show_doubts(console, [one for one in report.doubts if one not in unlike])


def _parts(report: RunsReport, look: Look) -> Iterator[RenderableType]:
    names = [one.name for one in report.treatments]
    total = sum(one.seconds for one in report.differences)
    yield ""
    if report.differences:
        change = _signed(total)
        yield Text.from_markup(
            f"What the change of elapsed time consists of ({change} an iteration, along the"
            " critical path):"
        )
        rows = [(_called(one), one.a_s, one.b_s, one.seconds) for one in report.differences]
        yield from _table(rows, names, look)
    if report.operators:
        yield ""
        yield Text("CPU by operator, Python workers included:")
        rows = [
            (safe(short(one.operator, 60)), one.a_s, one.b_s, one.seconds)
            for one in report.operators
        ]
        yield from _table(rows, names, look)


def _called(one: Change) -> str:
    place = safe(short(one.place, 60))
    return f"{place} [dim]only {safe(one.only)}[/]" if one.only else place


def _table(
    rows: Sequence[tuple[str, float, float, float]], names: Sequence[str], look: Look
) -> Iterator[RenderableType]:
    most = max((abs(seconds) for *_, seconds in rows), default=0.0)
    worth = [row for row in rows if abs(row[3]) >= _WORTH * most and row[3]]
    columns: list[tuple[str, Justify]] = [("", "left")]
    columns += [(safe(short(name, 16)), "right") for name in names[:2]]
    columns += [("change", "right")]
    cells = [
        [name, units.duration(a * 1e9), units.duration(b * 1e9), _signed(seconds)]
        for name, a, b, seconds in worth[:MOST]
    ]
    yield indented(grid(look, columns, cells))
    left = [row for row in rows if row not in worth[:MOST]]
    if left:
        together = _signed(sum(seconds for *_, seconds in left))
        yield note(f"{len(left)} more, {together} together; --json has all")


def _signed(seconds: float) -> str:
    return ("+" if seconds > 0 else "") + units.duration(seconds * 1e9)
