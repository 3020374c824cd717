"""The ledger as text: a tree with bars, and the three figures under it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from pyrometer import units
from pyrometer.analyse.model import LedgerReport, Row, View
from pyrometer.cli.drawing import (
    Look,
    bar,
    bars,
    doubt_lines,
    heading,
    indented,
    interval,
    note,
    put,
    safe,
    window_line,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SMALL = 0.005


def ledger(console: Console, report: LedgerReport) -> None:
    """Print both views of the ledger, down to the last row, and the checks."""
    put(console, _parts(report, Look.of(console)))


def _parts(report: LedgerReport, look: Look) -> Iterator[RenderableType]:
    yield window_line(report.window.name, report.window.iterations, report.window.length_ns)
    for title, view in (
        ("Slot view: what the task slots' time went to", report.slot_view),
        ("Core view: what the host's CPU time went to", report.core_view),
    ):
        yield heading(title)
        yield from view_lines(view, look, deep=True)
    if report.checks:
        yield heading("Checks between sources")
    for check in report.checks:
        mark = {True: "[green]agrees[/]", False: "[yellow]differs[/]", None: "no verdict"}
        sides = f"{units.duration(check.left_ns)} | {units.duration(check.right_ns)}"
        ratio = units.percent(check.difference_ratio, signed=True)
        yield f"  {escape(check.name)}: {sides} ({ratio}) {mark[check.ok]}"
        yield Padding(Text(check.explanation, style="dim"), (0, 0, 0, 4), expand=False)
    yield from doubt_lines(report.doubts)


def view_lines(view: View, look: Look, deep: bool = False) -> Iterator[RenderableType]:
    """Print one view of the ledger: a tree with bars, then its three figures.

    Parameters
    ----------
    view : View
        The view.
    look : Look
        How to draw.
    deep : bool
        All rows; else two levels, and what is at least 0.5 %.
    """
    if view.total_ns is None:
        yield note(f"not available: {view.reason}")
        return
    rows = bars(look)
    hidden = 0
    for row in ordered(view.rows):
        depth = row.path.count("/")
        if not deep and (depth > 1 or not row.value_ns or (depth and abs(row.share or 0) < SMALL)):
            hidden += 1
            continue
        label = "  " * depth + safe(row.path.rsplit("/", 1)[-1].replace("_", " "))
        if row.method == "by_complement":
            label += " *"
        elif row.method == "unavailable":
            label += " [dim](not available)[/]"
        rows.add_row(
            label,
            bar(row.share, look.plain),
            units.percent(row.share),
            interval(row.value_ns, row.low_ns, row.high_ns),
        )
    for row in view.memos if deep else ():
        label = f"[dim]memo: {safe(row.path.replace('_', ' '))}[/]"
        rows.add_row(label, "", units.percent(row.share), units.duration(row.value_ns))
    yield indented(rows)
    figures = [
        f"total {units.duration(view.total_ns)}",
        f"closure {units.percent(view.closure_ratio, signed=True)}",
        f"unclassified {units.percent(view.unclassified_ratio)}",
    ]
    if view.sampling_error_ratio is not None:
        figures.append(f"sampling error ± {units.percent(view.sampling_error_ratio)}")
    yield Padding(Text(" · ".join(figures), style="bold"), (0, 0, 0, 2), expand=False)
    if any(row.method == "by_complement" and (deep or row.value_ns) for row in view.rows):
        yield note("* by subtraction, not measured by itself")
    if view.reason:
        yield note(view.reason)
    if hidden and not deep:
        yield note("smaller and deeper rows: pyrometer ledger RUN")


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Rows as a tree: children under their parent, in the order given."""
    given = list(rows)
    children: dict[str | None, list[Row]] = {}
    for row in given:
        children.setdefault(row.parent, []).append(row)

    def walk(parent: str | None) -> Iterator[Row]:
        for row in children.get(parent, []):
            yield row
            yield from walk(row.path)

    return list(walk(None))
