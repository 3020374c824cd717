"""Iterations of a summary for a terminal: their times, page caches, and what they counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyrometer.accounts.schema import Iteration
from pyrometer.core import units
from pyrometer.terminal.drawing import (
    Justify,
    Look,
    grid,
    heading,
    indented,
    note,
    safe,
    words,
)

if TYPE_CHECKING:
    from rich.console import RenderableType


def iteration_lines(iterations: Sequence[Iteration], look: Look) -> Iterator[RenderableType]:
    """Draw everything about the iterations themselves."""
    if len(iterations) > 1:
        yield heading("Iterations")
        yield _times(iterations, look)
    yield from _cache_states(iterations)
    if any(it.counters for it in iterations):
        yield heading("What the workload counted")
        yield _counters(iterations, look)


def _times(iterations: Sequence[Iteration], look: Look) -> RenderableType:
    columns: tuple[tuple[str, Justify], ...] = (
        ("iteration", "left"), ("elapsed", "right"), ("task CPU", "right"), ("tasks", "right"),
        ("result rows", "right"), ("status", "left"),
    )  # fmt: skip
    rows = [
        [
            _numbered(it),
            units.duration(it.elapsed_ns),
            units.duration(it.totals.get("executor_cpu_time_ns")),
            units.count(it.totals.get("tasks_count")),
            units.count(it.result_rows_count),
            safe(it.status),
        ]
        for it in iterations
    ]
    return indented(grid(look, columns, rows, elastic=5))


def _cache_states(iterations: Sequence[Iteration]) -> Iterator[RenderableType]:
    asked = [it.cache for it in iterations if it.cache and it.cache.state]
    if not asked:
        return
    shares = [cache.resident_ratio for cache in asked if cache.resident_ratio is not None]
    reason = next((cache.reason for cache in asked if cache.reason), "not recorded")
    text = f"resident share not known: {reason}"
    if shares:
        low, high = (f"{100 * end(shares):.1f}" for end in (min, max))
        text = f"{low if low == high else f'{low} to {high}'} % resident before each iteration"
    yield note(f"page cache: {asked[0].state}, {text}")


def _counters(iterations: Sequence[Iteration], look: Look) -> RenderableType:
    names = list(dict.fromkeys(name for it in iterations for name in it.counters))
    rows = [
        [_numbered(it), *(units.quantity(name, it.counters.get(name)) for name in names)]
        for it in iterations
    ]
    columns: list[tuple[str, Justify]] = [("iteration", "left")]
    return indented(grid(look, [*columns, *((words(name), "right") for name in names)], rows))


def _numbered(it: Iteration) -> str:
    return f"{it.iteration}{' (warm-up)' if it.warmup else ''}"
