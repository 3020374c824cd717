"""Parts of a ledger as text: one line a part, a task beside others, the difference of two sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer import units
from pyrometer.analyse.model import LedgerReport, View
from pyrometer.cli.drawing import (
    Look,
    bar,
    bars,
    doubt_lines,
    grid,
    heading,
    indented,
    interval,
    note,
    safe,
    window_line,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.analyse.model.ledger_parts import RowDifference

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
    """List parts, each with the shares of its own time."""
    what = {"sql": "SQL execution", "task": "task attempt"}.get(report.by or "", report.by)
    told = sum(not group.rest for group in report.groups)
    yield heading(f"By {what}: {told} of {report.groups_count}")
    if not report.groups:
        yield note("no task of this window is of any")
        return
    used = [
        (name, paths)
        for name, paths in COLUMNS
        if any(_share(group.view, paths) for group in report.groups)
    ]
    rows = []
    for group in report.groups:
        shares = [units.percent(_share(group.view, paths)) for _, paths in used]
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


def _share(view: View, paths: Sequence[str]) -> float | None:
    found = [row.share for row in view.rows if row.path in paths and row.share is not None]
    return sum(found) if found else None


def task_lines(report: LedgerReport, look: Look, depth: int | None) -> Iterator[RenderableType]:
    """Print a task beside the middle of its stage: why in words, then row by row."""
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
        yield heading("What the event log tells")
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
        yield note("intervals are those of samples and readings: one window a side tells no more")
    yield from doubt_lines(report.doubts)


def _differences(
    given: Sequence[RowDifference], look: Look, depth: int, sides: tuple[str, str]
) -> Iterator[RenderableType]:
    rows = [row for row in _tree(given) if row.path.count("/") < depth]
    rows = [row for row in rows if row.a_ns or row.b_ns]
    if not rows:
        yield note("not available on both sides")
        return
    most = max(abs(row.difference.value or 0) for row in rows) or 1
    table = bars(look, *sides)
    hidden = 0
    for row in rows:
        value = row.difference.value or 0
        if abs(value) < most / 1000 and row.parent is not None:
            hidden += 1
            continue
        name = "  " * row.path.count("/") + safe(row.path.rsplit("/", 1)[-1].replace("_", " "))
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
            units.duration(row.a_ns),
            units.duration(row.b_ns),
        )
    yield indented(table)
    if hidden:
        yield note(f"{hidden} rows that hardly differ are left out")


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
