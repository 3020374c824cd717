"""Layouts in the terminal: each with its time and what slots waited for, the best, the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrometer.core import units
from pyrometer.experiments.judge.terminal import headline, left_out
from pyrometer.terminal.drawing import doubts, ratio, spread, table

if TYPE_CHECKING:
    from pyrometer.layouts.schema import LayoutReport, LayoutResult, PlaceResult


COLUMNS = {
    "gc_share": "GC",
    "lock_share": "locks",
    "spin_share": "spin",
    "migrations_per_s": "moves/s",
    "remote_share": "remote",
}
LEGEND = (
    "JVMs × task slots of each, heap of each; ± to the further end of the 95 % interval;"
    " throughput: over one JVM at the same place, with its 95 % interval"
)
MEANING = "GC, locks, spin: of slots × time; remote: of memory accesses"


def show(console: Any, report: LayoutReport) -> None:
    """Print layouts, the best of each placement, and changes between placements."""
    headline(console, report.workload, report)
    if report.layouts:
        _layouts(console, report)
        _placements(console, report)
        _changes(console, report)
    left_out(console, report.left_out)
    doubts(console, report.doubts)


def _layouts(console: Any, report: LayoutReport) -> None:
    grid = table("place", "layout", "heap", "time, s", "throughput")
    for one in report.layouts:
        heap = "–" if one.heap_bytes is None else units.size(one.heap_bytes)
        grid.add_row(one.place, one.layout, heap, spread(one.elapsed_s), ratio(one.throughput))
    console.print(grid)
    console.print(f"[dim]{LEGEND}[/]\n")
    known = [name for name in COLUMNS if name not in report.missing]
    grid = table("place", "layout", *(COLUMNS[name] for name in known))
    for one in report.layouts:
        grid.add_row(one.place, one.layout, *(_measure(one, name) for name in known))
    if known:
        console.print(grid)
        console.print(f"[dim]{MEANING}[/]")
    for name, reason in report.missing.items():
        console.print(f"{COLUMNS[name]}: not known ({reason})", markup=False, style="dim")
    console.print()
    for one in report.layouts:
        console.print(f"{one.place} {one.layout}: {_executors(one)}", markup=False, soft_wrap=True)
    console.print()


def _executors(one: LayoutResult) -> str:
    """Executors of the last trial that was read, with the CPUs and memory they were allowed."""
    if not one.trials:
        return "where executors ran is not known: no trial could be read"
    last = one.trials[-1]
    if not last.executors:
        return f"trial {last.trial}: no executor reported where it ran"
    shown = [
        f"pid {place.pid} on CPUs {place.cpus or '?'}"
        + (f", memory {place.memory}" if place.memory not in (None, "default") else "")
        for place in last.executors
    ]
    return f"trial {last.trial}: {'; '.join(shown)}"


def _placements(console: Any, report: LayoutReport) -> None:
    for one in report.places:
        console.print(_best(one), markup=False, soft_wrap=True)
    console.print()


def _best(one: PlaceResult) -> str:
    if one.best is None:
        return f"{one.place} ({one.what}): {one.reason}"
    others = [name for name in one.best.could_be if name != one.best.layout]
    also = f", not surely ({', '.join(others)} could be)" if others else ""
    return f"{one.place} ({one.what}): best {one.best.layout}{also}; {one.best.told}"


def _changes(console: Any, report: LayoutReport) -> None:
    if not report.changes:
        return
    grid = table("from → to", "layouts", "speed-up", "it is")
    for one in report.changes:
        grid.add_row(
            f"{one.a} → {one.b}", f"{one.layout_a or '–'} → {one.layout_b or '–'}",
            ratio(one.speedup), one.reason or one.verdict,
        )  # fmt: skip
    console.print(grid)
    console.print(
        "[dim]time over time, within blocks; each place with the layout that the other blocks"
        " choose[/]\n"
    )


def _measure(one: LayoutResult, name: str) -> str:
    found = one.measures.get(name)
    if found is None or found.value is None:
        return "–"
    return units.percent(found.value) if name.endswith("_share") else units.short(found.value)
