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
from pyrometer.cli.render_ledger_parts import difference_lines, group_lines, task_lines

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SMALL = 0.005
ALL = 99


def ledger(
    console: Console, report: LedgerReport, view: str | None = None, depth: int | None = None
) -> None:
    """Print what was asked of the ledger: both views or one, parts, a task, a difference.

    Parameters
    ----------
    console : Console
        Where to.
    report : LedgerReport
        What was accounted for.
    view : str, optional
        ``slot`` or ``core``; unasked, both.
    depth : int, optional
        Levels of rows; unasked, all.
    """
    look = Look.of(console)
    if report.against is not None:
        put(console, difference_lines(report, look, view, depth))
    elif report.slowest_task is not None:
        put(console, task_lines(report, look, depth))
    else:
        put(console, _parts(report, look, view, depth))


def _parts(
    report: LedgerReport, look: Look, view: str | None, depth: int | None
) -> Iterator[RenderableType]:
    yield window_line(report.window.name, report.window.iterations, report.window.length_ns)
    for name, title, one in (
        ("slot", "Slot view: what the task slots' time went to", report.slot_view),
        ("core", "Core view: what the host's CPU time went to", report.core_view),
    ):
        if view in (None, name):
            yield heading(title)
            yield from view_lines(one, look, deep=True, depth=depth)
    if report.by is not None and view != "core":
        yield from group_lines(report, look)
    if report.checks:
        yield heading("Checks between sources")
    for check in report.checks:
        mark = {True: "[green]agrees[/]", False: "[yellow]differs[/]", None: "no verdict"}
        sides = f"{units.duration(check.left_ns)} | {units.duration(check.right_ns)}"
        ratio = units.percent(check.difference_ratio, signed=True)
        yield f"  {escape(check.name)}: {sides} ({ratio}) {mark[check.ok]}"
        yield Padding(Text(check.explanation, style="dim"), (0, 0, 0, 4), expand=False)
    yield from doubt_lines(report.doubts)


def view_lines(
    view: View, look: Look, deep: bool = False, depth: int | None = None
) -> Iterator[RenderableType]:
    """Print one view of the ledger: a tree with bars, then its three figures.

    Parameters
    ----------
    view : View
        The view.
    look : Look
        How to draw.
    deep : bool
        All rows; else two levels, and what is at least 0.5 %.
    depth : int, optional
        So many levels of rows.
    """
    if view.total_ns is None:
        yield note(f"not available: {view.reason}")
        return
    rows = bars(look)
    hidden = 0
    for row in ordered(view.rows):
        level = row.path.count("/")
        small = not row.value_ns or (level > 0 and abs(row.share or 0) < SMALL)
        if level >= (depth or (ALL if deep else 2)) or (not deep and small):
            hidden += 1
            continue
        label = "  " * level + safe(row.path.rsplit("/", 1)[-1].replace("_", " "))
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
    if deep and view.ended_by:
        yield note("the same time asleep by who ended it, never added:")
        woken = bars(look)
        for row in view.ended_by:
            woken.add_row(safe(row.path.replace("_", " ")), bar(row.share, look.plain),
                          units.percent(row.share), units.duration(row.value_ns))  # fmt: skip
        yield indented(woken)
    known = view.closure_ratio is not None
    closure = [f"closure {units.percent(view.closure_ratio, signed=True)}"] if known else []
    figures = [
        f"total {units.duration(view.total_ns)}",
        *closure,
        f"unclassified {units.percent(view.unclassified_ratio)}",
    ]
    if view.sampling_error_ratio is not None:
        figures.append(f"sampling error ± {units.percent(view.sampling_error_ratio)}")
    if deep and view.resolution_ns:
        whole = units.percent(view.resolution_ns / view.total_ns)
        figures.append(f"resolution ± {whole}")
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
