"""The ledger as text: a tree with bars, and the three figures under it.

Parts of a ledger as text: one line a part, a task against others, the difference of two sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from pyrometer.accounts.ledger.schema import LedgerReport, Row, View
from pyrometer.accounts.ledger.terminal_hosts import MOST_HOSTS, host_lines, share_of, whose
from pyrometer.core import units
from pyrometer.terminal.drawing import (
    Look,
    bar,
    bars,
    doubt_lines,
    grid,
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

    from pyrometer.accounts.ledger.schema import HostLedger, RowDifference


# Columns of a list of parts: rows that most differ between stages and between tasks.
COLUMNS = (
    ("CPU", ("task/on_cpu", "on_cpu")),
    ("queue", ("task/run_queue",)),
    ("GC", ("task/gc_pause",)),
    ("waiting", ("task/waiting", "waiting", "task/shuffle_fetch")),
    ("off CPU", ("task/off_cpu",)),
    ("around", ("deserialize", "getting_result", "scheduler_delay", "result_serialization")),
    ("idle", ("idle",)),
)
MOST_ROWS = 40


def group_lines(report: LedgerReport, look: Look) -> Iterator[RenderableType]:
    """List parts, each with shares of the part's time."""
    what = {"sql": "SQL execution", "task": "task attempt"}.get(report.by or "", report.by)
    shown = sum(not group.rest for group in report.groups)
    yield heading(f"By {what}: {shown} of {report.groups_count}")
    if not report.groups:
        yield note("no task of this window is of any")
        return
    used = [
        (name, paths)
        for name, paths in COLUMNS
        if any(share_of(group.view, paths) for group in report.groups)
    ]
    rows = []
    for group in report.groups:
        shares = [units.percent(share_of(group.view, paths)) for _, paths in used]
        closure = group.view.closure_ratio
        rows.append(
            [
                safe(group.label, 200),
                "" if group.tasks_count is None else str(group.tasks_count),
                units.duration(group.view.total_ns),
                *shares,
                "" if closure is None else units.percent(closure, signed=True),
            ]
        )
    columns = [("", "left"), ("tasks", "right"), ("time", "right")]
    columns += [(name, "right") for name, _ in used] + [("closure", "right")]
    yield indented(grid(look, columns, rows))  # type: ignore[arg-type]
    reasons = {group.view.reason for group in report.groups if group.view.reason}
    for reason in sorted(reasons):
        yield note(reason)


def task_lines(report: LedgerReport, look: Look, depth: int | None) -> Iterator[RenderableType]:
    """Print a task against the middle of its stage: why in words, then row by row."""
    found = report.slowest_task
    assert found is not None
    yield window_line(report.window.name, report.window.iterations, report.window.length_ns)
    yield heading("Why this one")
    for text in found.why:
        yield Padding(Text(f"· {text}"), (0, 0, 0, 2), expand=False)
    yield heading(f"{safe(found.task.label)}, beside the {safe(found.middle.label)}")
    yield from _differences(found.differences, look, depth or 3, ("middle", "task"))
    if found.ended_by:
        yield note("the same time asleep by who ended it, never added:")
        yield from _differences(found.ended_by, look, depth or 3, ("middle", "task"))
    if found.facts:
        facts = [
            [safe(f.name), _fact(f.middle, f.unit), _fact(f.task, f.unit)] for f in found.facts
        ]
        yield heading("From the event log")
        yield indented(grid(look, [("", "left"), ("middle", "right"), ("task", "right")], facts))
    view = found.task.view
    figures = f"the task's own ledger: closure {units.percent(view.closure_ratio, signed=True)}"
    figures += f" · unclassified {units.percent(view.unclassified_ratio)}"
    if view.sampling_error_ratio is not None:
        figures += f" · sampling error ± {units.percent(view.sampling_error_ratio)}"
    yield note(figures)
    if view.reason:
        yield note(view.reason)
    yield from doubt_lines(report.doubts)


def _fact(value: float | str | None, unit: str) -> str:
    if isinstance(value, str):
        return safe(value, 60)
    if value is None:
        return units.MISSING
    return units.size(value) if unit == "bytes" else units.count(round(value))


def difference_lines(
    report: LedgerReport, look: Look, view: str | None, depth: int | None
) -> Iterator[RenderableType]:
    """Print what changed from side A to side B, row by row."""
    found = report.against
    assert found is not None
    for name, side in (("A", found.a), ("B", found.b)):
        runs = ", ".join(safe(run) for run in side.runs)
        plural = "s" if side.n != 1 else ""
        yield Text.from_markup(f"[dim]{name}: {runs} ({side.n} {found.unit}{plural})[/]")
    for which, title, rows in (
        ("slot", "Slot view, B less A", found.slot_view),
        ("core", "Core view, B less A", found.core_view),
    ):
        if view in (None, which):
            yield heading(title + (", per iteration" if found.unit != "window" else ""))
            yield from _differences(rows, look, depth or 3, ("A", "B"))
    if found.reason:
        yield note(found.reason)
    if found.unit == "window":
        yield note(
            "intervals are those of samples and readings: one window on each side shows no more"
        )
    yield from doubt_lines(report.doubts)


def _differences(
    given: Sequence[RowDifference], look: Look, depth: int, sides: tuple[str, str]
) -> Iterator[RenderableType]:
    unknown = {row.path for row in given if row.reason}
    rows = [row for row in _tree(given) if row.path.count("/") < depth]
    rows = [row for row in rows if (row.a_ns or row.b_ns) and row.parent not in unknown]
    if not rows:
        yield note("not available on both sides")
        return
    most = max(abs(row.difference.value or 0) for row in rows) or 1
    table = bars(look, *sides)
    hidden = 0
    for row in rows:
        value = row.difference.value or 0
        if abs(value) < most / 1000 and row.parent is not None and not row.reason:
            hidden += 1
            continue
        name = "  " * row.path.count("/") + safe(row.path.rsplit("/", 1)[-1].replace("_", " "))
        times = units.duration(row.a_ns), units.duration(row.b_ns)
        if row.reason:
            table.add_row(name, "", "", "not known", *times)
            continue
        low, high = row.difference.low, row.difference.high
        sure = low is not None and high is not None and (low > 0 or high < 0)
        if low == high:
            low = high = None
        text = ("+" if value > 0 else "") + interval(round(value), low, high)
        table.add_row(
            name,
            bar(abs(value) / most, look.plain),
            "" if row.share is None else units.percent(row.share),
            f"[bold]{text}[/]" if sure else text,
            *times,
        )
    yield indented(table)
    if hidden:
        yield note(f"{hidden} rows that hardly differ are left out")
    yield from _not_known((row.path, row.reason) for row in rows)


def _not_known(reasons: Iterable[tuple[str, str | None]]) -> Iterator[RenderableType]:
    """Say which rows have no value, and why: those of one reason on one line."""
    paths: dict[str, list[str]] = {}
    for path, reason in reasons:
        if reason:
            paths.setdefault(reason, []).append(safe(path.replace("_", " ")))
    for reason, names in paths.items():
        yield note(f"{', '.join(names)}: {reason}")


def _tree(given: Sequence[RowDifference]) -> Iterator[RowDifference]:
    """Rows with their children below them, the largest difference first."""
    children: dict[str | None, list[RowDifference]] = {}
    for row in given:
        children.setdefault(row.parent, []).append(row)

    def walk(parent: str | None) -> Iterator[RowDifference]:
        for row in sorted(children.get(parent, ()), key=lambda r: -abs(r.difference.value or 0)):
            yield row
            yield from walk(row.path)

    return walk(None)


SMALL = 0.005
TOGETHER = "together"
ALL = 99


def ledger(
    console: Console, report: LedgerReport, view: str | None = None, depth: int | None = None
) -> None:
    """Print what was asked of the ledger: both views or one, parts, a task, a difference.

    Parameters
    ----------
    console : Console
        Where to print.
    report : LedgerReport
        What was accounted for.
    view : str, optional
        ``elapsed``, ``slot`` or ``core``; by default, all.
    depth : int, optional
        Levels of rows; by default, all.
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
        ("elapsed", "Elapsed view: what the application waited for", report.elapsed_view),
        ("slot", "Slot view: what the task slots' time went to", report.slot_view),
        ("core", f"Core view: what {whose(report.hosts)} CPU time went to", report.core_view),
    ):
        if view in (None, name):
            yield heading(title)
            yield from view_lines(one, look, deep=True, depth=depth)
    if report.hosts:
        yield heading("Hosts")
        yield from host_lines(report.hosts, look)
        if view in ("slot", "core"):
            yield from _views_of_hosts(report.hosts, look, view, depth)
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


def _views_of_hosts(
    hosts: Sequence[HostLedger], look: Look, which: str, depth: int | None
) -> Iterator[RenderableType]:
    for one in hosts[:MOST_HOSTS]:
        yield heading(f"{which.capitalize()} view of {safe(one.host, 60)}")
        view = one.core_view if which == "core" else one.slot_view
        yield from view_lines(view, look, deep=True, depth=depth)


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
        All levels, with rows below 0.5 % in one line; else two levels, and what is at least 0.5 %.
    depth : int, optional
        So many levels of rows.
    """
    if view.total_ns is None:
        yield note(f"not available: {view.reason}")
        return
    rows = bars(look)
    hidden = 0
    for row in ordered(view.rows, SMALL if deep else 0):
        level = row.path.count("/")
        small = not row.value_ns or (level > 0 and abs(row.share or 0) < SMALL)
        if level >= (depth or (ALL if deep else 2)) or (not deep and small):
            hidden += 1
            continue
        label = "  " * level + safe(row.path.rsplit("/", 1)[-1].replace("_", " "))
        if row.source == TOGETHER:
            label = f"[dim]{label}[/]"
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
    if deep:
        yield from _not_known((m.path, m.source) for m in view.memos if m.value_ns is None)
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


def ordered(rows: Iterable[Row], small: float = 0) -> list[Row]:
    """Rows as a tree: children under their parent, in the order given.

    Parameters
    ----------
    rows : iterable of Row
        The rows of a view.
    small : float
        Rows of a parent with a share below this become one row with their sum, if they are several.
    """
    given = list(rows)
    children: dict[str | None, list[Row]] = {}
    for row in given:
        children.setdefault(row.parent, []).append(row)

    def walk(parent: str | None) -> Iterator[Row]:
        among = children.get(parent, [])
        rest = [r for r in among if r.share is not None and abs(r.share) < small]
        for row in among:
            if len(rest) < 2 or row not in rest:
                yield row
                yield from walk(row.path)
        if len(rest) > 1:
            yield _together(rest, parent)

    return list(walk(None))


def _together(rest: Sequence[Row], parent: str | None) -> Row:
    name = f"{len(rest)} smaller rows"
    total = sum(row.value_ns or 0 for row in rest)
    return Row(
        path=name if parent is None else f"{parent}/{name}", parent=parent, value_ns=total, n=None,
        method="exact", source=TOGETHER, share=sum(row.share or 0 for row in rest),
    )  # fmt: skip
