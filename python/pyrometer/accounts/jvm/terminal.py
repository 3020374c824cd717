"""Lines of a summary about the work of the JVM itself: compiling, collecting, stopping."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.core import units
from pyrometer.terminal.drawing import Justify, Look, grid, heading, indented, note

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.accounts.jvm.schema import Collections, HeapFlow, Jit, JvmWork, Safepoints
    from pyrometer.core.estimate import Estimate


MAX_CAUSES = 6


def jvm_lines(jvm: JvmWork, look: Look) -> Iterator[RenderableType]:
    """Draw causes of pauses, allocation and promotion, safepoints, compilations, code cache."""
    lines = [*_heap(jvm.gc), *_stops(jvm.safepoints), *_jit(jvm.jit)]
    cache = jvm.code_cache
    if cache.used_bytes is not None:
        room = f" of {units.size(cache.max_bytes)}" if cache.max_bytes else ""
        lines.append(f"code cache: at most {units.size(cache.used_bytes)}{room}")
    if not lines and not jvm.gc.by_cause:
        return
    yield heading("The JVM's own work")
    yield from _causes(jvm.gc, look)
    for line in lines:
        yield Padding(Text(line), (0, 0, 0, 2), expand=False)
    for reason in (jvm.jit.reason, jvm.jit.deoptimisations.reason if jvm.jit.by_tier else None):
        if reason:
            yield note(f"compilations: {reason}")


def _causes(gc: Collections, look: Look) -> Iterator[RenderableType]:
    if not gc.by_cause:
        return
    columns: tuple[tuple[str, Justify], ...] = (
        ("pauses by cause", "left"), ("kind", "left"), ("count", "right"), ("total", "right"),
        ("longest", "right"),
    )  # fmt: skip
    rows = [
        [
            one.cause,
            one.kind,
            units.count(one.pauses_count),
            units.duration(one.pause_total_ns),
            units.duration(one.pause_max_ns),
        ]
        for one in gc.by_cause[:MAX_CAUSES]
    ]
    yield indented(grid(look, columns, rows, elastic=0))
    if len(gc.by_cause) > MAX_CAUSES:
        yield note(f"the {MAX_CAUSES} with most time of {len(gc.by_cause)}; --json has all")


def _heap(gc: Collections) -> Iterator[str]:
    for verb, flow in (("allocated", gc.allocation), ("promoted", gc.promotion)):
        if flow.bytes is not None:
            yield f"{verb}, by the GC log: {units.size(flow.bytes)}{_rate(flow)}"
    if gc.concurrent:
        phase = gc.concurrent[0]
        yield (
            f"longest concurrent phase: {phase.phase}, {units.count(phase.count)}"
            f" times, {units.duration(phase.total_ns)}"
        )


def _rate(flow: HeapFlow) -> str:
    rate = flow.bytes_per_s
    if rate is None:
        return ""
    low, high = units.size(rate.low), units.size(rate.high)
    return f", {units.size(rate.value)} a second ({low} – {high} by rounding, n {rate.n})"


def _stops(stops: Safepoints) -> Iterator[str]:
    if stops.reaching_p50_ns is None or stops.reaching_p95_ns is None:
        return
    yield (
        f"reaching a safepoint: median {_time(stops.reaching_p50_ns)},"
        f" 95th percentile {_time(stops.reaching_p95_ns)},"
        f" longest {units.duration(stops.reaching_max_ns)}, n {stops.reaching_p50_ns.n}"
    )


def _time(estimate: Estimate) -> str:
    ends = " – ".join(units.duration(end) for end in (estimate.low, estimate.high))
    return f"{units.duration(estimate.value)} ({ends})"


def _jit(jit: Jit) -> Iterator[str]:
    if jit.compilations_count is not None:
        tiers = ", ".join(
            f"tier {tier.level}: {units.count(tier.compilations_count)}" for tier in jit.by_tier
        )
        failed = f"; {units.count(jit.failed_count)} came to nothing" if jit.failed_count else ""
        yield f"{units.count(jit.compilations_count)} compilations ({tiers}){failed}"
    if jit.cpu:
        cpu = ", ".join(f"{x.compiler.upper()} {units.duration(x.cpu_ns)}" for x in jit.cpu)
        yield f"CPU of the compilers: {cpu}"
    given = jit.deoptimisations
    if given.invalidated_count is not None:
        why = ", ".join(f"{x.reason} {units.count(x.count)}" for x in given.by_reason[:4])
        yield (
            f"code given up: {units.count(given.invalidated_count)} of the last tier,"
            f" {units.count(given.replaced_count)} of lower ones" + (f"; for {why}" if why else "")
        )
