"""Lines of a summary about Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer import units
from pyrometer.analyse.model import Python
from pyrometer.cli.drawing import Look, bar, bars, heading, indented, note, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_FUNCTIONS = 5


def python_lines(python: Python, look: Look) -> Iterator[RenderableType]:
    """Draw CPU of Python workers by kind of work and by function."""
    if not python.workers_ns:
        return
    yield heading("CPU of Python workers")
    line = (
        f"{units.duration(python.workers_ns)} in {python.workers_count} worker(s), "
        f"{units.duration(python.in_tasks_ns or 0)} of it for known tasks"
    )
    if python.driver_ns:
        line += f"; the driver's Python {units.duration(python.driver_ns)}"
    yield Padding(Text(line), (0, 0, 0, 2), expand=False)
    rows = bars(look)
    for w in python.work:
        share = units.percent(w.share)
        rows.add_row(safe(w.work), bar(w.share, look.plain), share, units.duration(w.on_cpu_ns))
    yield indented(rows)
    functions = python.functions[:MAX_FUNCTIONS]
    if functions:
        said = [f"{safe(f.function, 80)} {units.percent(f.share)}" for f in functions]
        yield note(f"in functions, with what they call: {', '.join(said)}")
    if python.seen_ratio is not None:
        yield note(f"stacks tell {units.percent(python.seen_ratio)} of what the OS probe counted")
