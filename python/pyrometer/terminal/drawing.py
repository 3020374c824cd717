"""Pieces of terminal output: safe strings, tables, bars, intervals.

Every string that comes from a log goes through :func:`safe`: it can hold no markup and no control
characters.

Tables of estimates in the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Group
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from pyrometer.core import units
from pyrometer.terminal.harmless import PLAIN

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from pyrometer.core.doubt import Doubt
    from pyrometer.core.estimate import Estimate


BAR_WIDTH = 16
EIGHTHS = " ▏▎▍▌▋▊▉"
COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}
Justify = Literal["left", "right"]
NARROW = 100


@dataclass(frozen=True)
class Look:
    """How to draw: with ASCII alone, and with how many columns in all and for names."""

    plain: bool
    names: int
    width: int

    @classmethod
    def of(cls, console: Console) -> Look:
        """Fit a console: its encoding and its width."""
        width = console.width
        names = 46 if width >= NARROW else max(12, min(30, width - 50))
        return cls(console.options.ascii_only, names, width)


def put(console: Console, parts: Iterable[RenderableType]) -> None:
    """Print parts; what a terminal of ASCII cannot show is written in other words."""
    for part in parts:
        if not console.options.ascii_only:
            console.print(part)
            continue
        with console.capture() as held:
            console.print(part)
        console.file.write(held.get().translate(PLAIN))


def safe(text: object, most: int = 2000) -> str:
    """Make a string from a log fit to print: no control characters, no markup."""
    kept = "".join(c if c.isprintable() else "\ufffd" for c in str(text)[:most])
    return escape(kept)


def heading(title: str, close: bool = False) -> RenderableType:
    """Rule off a section with its title, below an empty line unless it is to be close."""
    rule = Rule(f"[bold]{title}[/]", align="left", style="dim")
    return rule if close else Group("", rule)


def grid(
    look: Look,
    columns: Sequence[tuple[str, Justify]],
    rows: Sequence[Sequence[str]],
    elastic: int = 0,
) -> Table:
    """Make a table of which one column gives way where the terminal is narrow.

    Parameters
    ----------
    look : Look
        How wide the terminal is.
    columns : sequence of (str, str)
        Headers, and how the cells are justified.
    rows : sequence of sequences of str
        Cells, in console markup.
    elastic : int
        The column that is cut; the others are as wide as they need.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    widths = [
        max([len(name), *(Text.from_markup(row[number]).cell_len for row in rows)])
        for number, (name, _) in enumerate(columns)
    ]
    room = look.width - 2 - 2 * len(columns) - (sum(widths) - widths[elastic])
    widths[elastic] = min(widths[elastic], max(6, room))
    for (name, justify), width in zip(columns, widths, strict=True):
        table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", width=width)
    for row in rows:
        table.add_row(*row)
    return table


def indented(table: Table) -> RenderableType:
    """Indent a table by two columns."""
    return Padding(table, (0, 0, 0, 2), expand=False)


def note(text: str) -> RenderableType:
    """Make a dim line of remarks."""
    return Padding(Text(text, style="dim"), (0, 0, 0, 2), expand=False)


def window_line(name: str, iterations: Sequence[int], length_ns: int | None) -> Text:
    """Say what the numbers are about."""
    runs = ""
    if len(iterations) > 1:
        runs = f", iterations {', '.join(map(str, iterations))}"
    return Text.from_markup(f"[dim]window: {escape(name)}{runs}, {units.duration(length_ns)}[/]")


def doubt_lines(doubts: Sequence[Doubt]) -> Iterator[RenderableType]:
    """List doubts with their remedies."""
    if not doubts:
        return
    yield heading("Doubts")
    for d in doubts:
        colour = COLOURS.get(d.severity, "yellow")
        text = f"[{colour}]{d.severity}[/] {safe(d.message)} [dim]({safe(d.code)})[/]"
        yield Padding(Text.from_markup(text), (0, 0, 0, 2), expand=False)
        yield Padding(Text.from_markup(f"[dim]→ {safe(d.remedy)}[/]"), (0, 0, 0, 4), expand=False)


def bars(look: Look, *extra: str) -> Table:
    """Make a table of name, bar, share, value, and more numbers where named."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.show_header = bool(extra)
    table.add_column("", no_wrap=True, overflow="ellipsis", max_width=look.names)
    table.add_column("", no_wrap=True, width=BAR_WIDTH)
    table.add_column("", no_wrap=True, justify="right")
    table.add_column("", no_wrap=True)
    for name in extra:
        table.add_column(name, no_wrap=True, justify="right")
    return table


def bar(share: float | None, plain: bool = False) -> str:
    """Draw a share as a bar of at most 16 cells.

    Examples
    --------
    >>> bar(0.5), bar(0.5, plain=True), bar(None)
    ('████████', '########', '')
    """
    if share is None or share <= 0:
        return ""
    cells = min(1.0, share) * BAR_WIDTH
    if plain:
        return "#" * max(1, round(cells))
    whole, part = int(cells), round((cells - int(cells)) * 8)
    if part == 8:
        whole, part = whole + 1, 0
    return "█" * whole + (EIGHTHS[part] if part else "" if whole else EIGHTHS[1])


def interval(value: int | None, low: float | None, high: float | None) -> str:
    """Write a time, and how far the further end of its interval lies.

    Examples
    --------
    >>> interval(9_000, 5_000, 10_000), interval(9_000, None, None)
    ('9.00 µs [dim]± 4.00 µs[/]', '9.00 µs')
    """
    text = units.duration(value)
    if value is None or low is None or high is None:
        return text
    return f"{text} [dim]± {units.duration(max(high - value, value - low))}[/]"


def words(name: str) -> str:
    """Write the name of a quantity in words, without its unit.

    Examples
    --------
    >>> words("executor_cpu_time_ns"), words("jvm_gc_time_ns")
    ('executor CPU time', 'JVM GC time')
    """
    for unit in ("_ns", "_bytes", "_count"):
        name = name.removesuffix(unit)
    return name.replace("_", " ").replace("cpu", "CPU").replace("jvm gc", "JVM GC")


_PACKAGE = re.compile(r"^(?:[a-z_]\w*\.)+(?=[A-Z$])")


def brief(name: str) -> str:
    """Leave out the package of a frame.

    Examples
    --------
    >>> brief("java.math.BigDecimal.setScale"), brief("itable stub")
    ('BigDecimal.setScale', 'itable stub')
    """
    return _PACKAGE.sub("", name)


def doubts(console: Any, found: Sequence[Doubt]) -> None:
    """Print doubts with what to do about them."""
    for one in found:
        console.print(f"{one.severity}: {one.message} ({one.code})", markup=False)
        console.print(f"  → {one.remedy}", markup=False)


def _ends(one: Estimate, between: str) -> str:
    if one.low is None and one.high is None:
        return "–"
    return between.join("∞" if end is None else _number(end, 3) for end in (one.low, one.high))


def spread(one: Estimate) -> str:
    """Write a value, and how far the further end of its interval lies."""
    if one.value is None or one.low is None or one.high is None:
        return _number(one.value)
    # A time's interval ends at 0, a ratio's is not even: the further end is the honest one.
    return (
        f"{_number(one.value)} ± {units.short(max(one.high - one.value, one.value - one.low), 2)}"
    )


def ratio(one: Estimate | None, unit: str = "×") -> str:
    """Write a ratio, or another positive value, with its interval."""
    if one is None or one.value is None:
        return "–"
    if one.low is None or one.high is None:
        return f"{units.short(one.value)}{unit}"
    low, high = units.short(one.low), units.short(one.high)
    return f"{units.short(one.value)}{unit} [{low}, {high}]"


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else units.short(value, digits)


def table(*titles: str) -> Any:
    """Make a table: numbers to the right; what has no room is folded, never cut off."""
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for at, title in enumerate(titles):
        shown.add_column(title, justify="right" if at else "left")
    return shown
