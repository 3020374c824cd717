"""Lines of a summary about extended stacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer import units
from pyrometer.analyse.model import ExtendedStacks, SleepLength
from pyrometer.cli.drawing import Look, bar, bars, heading, indented, note, safe, words

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_CLASSES = 10


def extended_stack_lines(stacks: ExtendedStacks, look: Look) -> Iterator[RenderableType]:
    """Draw what tasks waited for, and how well their states and stacks were joined."""
    ratio = stacks.joined_ratio
    if not stacks.asleep_ns or ratio is None:
        return
    yield heading("What tasks waited for, by states of their threads")
    line = (
        f"{units.duration(stacks.asleep_ns)} asleep in tasks, "
        f"{units.percent(ratio.value or 0)} of it with a Java stack"
    )
    yield Padding(Text(line), (0, 0, 0, 2), expand=False)
    rows = bars(look)
    for wait in stacks.classes[:MAX_CLASSES]:
        share = wait.share.value or 0.0
        told = f"{units.percent(share)}"
        rows.add_row(
            words(wait.wait_class), bar(share, look.plain), told, units.duration(wait.asleep_ns)
        )
    yield indented(rows)
    lengths = [f"{_length(row)} {units.percent(row.joined_ratio.value or 0)}"
               for row in stacks.by_length]  # fmt: skip
    yield note(f"with a Java stack, by length of the sleep: {', '.join(lengths)}")
    missing = [
        f"{words(row.status)} {units.duration(row.asleep_ns)}"
        for row in stacks.by_status
        if not row.status.startswith("joined")
    ]
    if missing:
        yield note(f"without one: {', '.join(missing)}")
    caused = f"{stacks.wake_ups.caused_count} sleeps interrupted by the profiler's signals"
    if stacks.wake_ups.ratio is not None:
        caused += f" ({units.percent(stacks.wake_ups.ratio)} of these threads' switches)"
    if stacks.skew.p95_ns is not None:
        caused += f"; pass and sample at most {units.duration(stacks.skew.p95_ns)} apart (95 %)"
    yield note(caused)
    if stacks.unclassified:
        told = ", ".join(
            f"{safe(row.symbols, 120)} {units.duration(row.asleep_ns)}"
            for row in stacks.unclassified[:2]
        )
        yield note(f"unclassified: {told}")


def _length(row: SleepLength) -> str:
    if row.low_ns is None:
        return "seen once"
    if row.high_ns is None:
        return f"{units.duration(row.low_ns)} and more"
    return f"up to {units.duration(row.high_ns)}"
