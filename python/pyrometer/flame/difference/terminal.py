"""The difference of two profiles in the terminal: the verdict, then the largest changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.text import Text

from pyrometer.core import units
from pyrometer.flame.difference.difference import (
    NO_DIFFERENCE,
    Change,
    FrameChange,
    FrameDifference,
    NamedChange,
    SideFacts,
)
from pyrometer.terminal.drawing import (
    Justify,
    Look,
    brief,
    doubt_lines,
    grid,
    heading,
    indented,
    note,
    put,
    safe,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from pyrometer.window.windows import RunFacts


MAX_ROWS = 10
EVENTS = {"cpu": "CPU", "wall": "wall time"}
_COLOURS = {"slower": "red", "only in B": "red", "faster": "green", "only in A": "green"}


_COLUMNS: tuple[tuple[str, Justify], ...] = (
    ("", "left"),
    ("A → B", "right"),
    ("change", "right"),
    ("share", "right"),
    ("", "left"),
)
_NARROW_COLUMNS = (_COLUMNS[0], *_COLUMNS[2:4])
WIDE = 110  # a narrower terminal has room for the colour of the verdict, but not for both times


def show_difference(console: Console, difference: FrameDifference) -> None:
    """Print the largest significant changes, or that there is none."""
    put(console, _parts(difference, Look.of(console)))


def _parts(difference: FrameDifference, look: Look) -> Iterator[RenderableType]:
    for name, side in (("A", difference.a), ("B", difference.b)):
        yield Text.from_markup(f"[bold]{name}[/] {_label(side)}")
    if difference.verdict == NO_DIFFERENCE:
        yield Text.from_markup("[bold]No significant difference.[/]")
    yield from _table("Everything sampled", difference.whole, look, significant=False)
    yield from _table("Operators", difference.operators, look)
    yield from _table("Expressions", difference.expressions, look)
    for event, words in EVENTS.items():
        of_event = [f for f in difference.frames if f.event == event]
        yield from _frames(f"{words} of frames themselves", of_event, look, own=True)
        yield from _frames(f"{words} of frames and what they call", of_event, look, own=False)
    yield note(
        f"{units.count(difference.tests_count)} tests at a false discovery rate of"
        f" {units.percent(difference.false_discovery_rate)} (Benjamini-Hochberg);"
        f" {units.count(difference.too_few_samples_count)} more had too few samples to test."
        " Times are per iteration, in brackets the 95 % interval of the change."
    )
    yield from doubt_lines(difference.doubts)


def _label(side: SideFacts) -> str:
    names = ", ".join(_name(run) for run in side.runs)
    runs = f"{len(side.runs)} runs, " if len(side.runs) > 1 else ""
    n = side.iterations_count
    return f"{safe(names, 400)} [dim]({runs}{n} iteration{'s' if n != 1 else ''})[/]"


def _name(run: RunFacts) -> str:
    varied = " ".join(f"{k.rpartition('.')[2]}={v}" for k, v in run.treatment.items())
    return " ".join(filter(None, (run.workload, varied, run.run_dir)))


def _table(
    title: str, rows: Sequence[NamedChange], look: Look, significant: bool = True
) -> Iterator[RenderableType]:
    kept = [(f"{r.event:4} {r.name}" if significant else EVENTS[r.event], r.total) for r in rows]
    yield from _rows(title, kept, look, significant)


def _frames(
    title: str, rows: Sequence[FrameChange], look: Look, own: bool
) -> Iterator[RenderableType]:
    kept = [(row.name, row.own if own else row.total) for row in rows]
    kept.sort(key=lambda row: -abs(row[1].change.value or 0))
    yield from _rows(title, kept, look, significant=True)


def _rows(
    title: str, rows: Sequence[tuple[str, Change]], look: Look, significant: bool
) -> Iterator[RenderableType]:
    shown = [r for r in rows if not significant or r[1].verdict in _COLOURS]
    if not shown:
        return
    yield heading(title)
    wide = look.width >= WIDE
    cells = [_cells(name, c, wide) for name, c in shown[:MAX_ROWS]]
    yield indented(grid(look, _COLUMNS if wide else _NARROW_COLUMNS, cells))
    if len(shown) > MAX_ROWS:
        yield note(f"and {len(shown) - MAX_ROWS} more; --json has all")


def _ends(c: Change) -> str:
    return escape(f"[{_signed(c.change.low)}, {_signed(c.change.high)}]")


def _cells(name: str, c: Change, wide: bool) -> list[str]:
    colour = _COLOURS.get(c.verdict, "dim")
    change = f"{_signed(c.change.value)} [dim]{_ends(c)}[/]"
    share = f"{units.percent(c.share_a)} → {units.percent(c.share_b)}"
    shown = safe(brief(name), 400)
    if not wide:
        return [shown, f"[{colour}]{change}[/]", share]
    times = f"{units.duration(c.a.value)} → {units.duration(c.b.value)}"
    return [shown, times, change, share, f"[{colour}]{c.verdict}[/]"]


def _signed(ns: float | None) -> str:
    return f"+{units.duration(ns)}" if ns is not None and ns > 0 else units.duration(ns)
