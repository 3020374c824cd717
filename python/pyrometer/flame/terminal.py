"""The hottest frames of a flame graph, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from pyrometer.core import units
from pyrometer.flame.facts import TASKS
from pyrometer.flame.page import FlameView
from pyrometer.terminal.drawing import Look, brief, grid, heading, indented, note, put, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from pyrometer.core.estimate import Estimate


MAX_FRAMES = 15
MAX_GROUPS = 12
_WORDS = {
    "cpu": "CPU",
    "wall": "Wall time",
    "state": "Time off the CPU",
    "both": "CPU and waiting",
    "alloc": "Allocation",
    "lock": "Locks",
}


def show_flame(console: Console, view: FlameView) -> None:
    """Print what the page opens with, and where it is."""
    put(console, _parts(view, Look.of(console)))
    if view.page is not None and view.size_bytes is not None:
        size = units.size(view.size_bytes)
        console.print(f"\nFlame graph: {safe(view.page)} ({size})", soft_wrap=True)


def _parts(view: FlameView, look: Look) -> Iterator[RenderableType]:
    runs = (
        "all samples"
        if view.iterations is None
        else f"iterations {view.iterations}".replace("[", "").replace("]", "")
    )
    of = "tasks" if view.serves == TASKS else "all threads"
    taken = "" if view.unit == "samples" else f" in {units.counted(view.samples_count, 'sample')}"
    yield Text.from_markup(
        f"[bold cyan]{_WORDS.get(view.event, safe(view.event))}[/]: {_weight(view, view.weight)}"
        f"{taken} [dim]({of}, {runs})[/]"
    )
    if view.note:
        yield note(view.note)
    if view.groups:
        yield heading(f"By {', '.join(view.by)}")
        yield indented(
            grid(
                look,
                [
                    (" › ".join(view.by), "left"),
                    ("share", "right"),
                    ("95 %", "right"),
                    ("", "right"),
                ],
                [
                    [
                        " › ".join("–" if v is None else safe(v, 120) for v in group.values),
                        units.percent(group.share.value),
                        _range(group.share),
                        _weight(view, group.weight),
                    ]
                    for group in view.groups[:MAX_GROUPS]
                ],
            )
        )
    for title, name in (("Hottest by self", "self"), ("Hottest by total", "total")):
        yield heading(title)
        told = [f for f in view.frames if name == "self" or f.decides] or view.frames
        rows = sorted(told, key=lambda f: -getattr(f, f"{name}_weight"))[:MAX_FRAMES]
        yield indented(
            grid(
                look,
                [("frame", "left"), ("share", "right"), ("95 %", "right"), (name, "right")],
                [
                    [
                        safe(brief(row.frame).removeprefix("GeneratedClass$"), 300),
                        units.percent(getattr(row, f"{name}_share").value),
                        _range(getattr(row, f"{name}_share")),
                        _weight(view, getattr(row, f"{name}_weight")),
                    ]
                    for row in rows
                ],
            )
        )

    yield note(
        "By total without frames that decide nothing: those of all stacks, thread pools and"
        " Spark's task runner, and callees that weigh what their caller weighs (--json has all)."
    )


def _range(share: Estimate) -> str:
    if share.low is None or share.high is None:
        return ""
    return f"{units.percent(share.low)} – {units.percent(share.high)}"


def _weight(view: FlameView, value: float) -> str:
    if view.unit == "bytes":
        return units.size(value)
    if view.unit == "ns":
        return units.duration(value)
    return f"{units.count(round(value))} {safe(view.unit, 40)}"
