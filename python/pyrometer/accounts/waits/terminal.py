"""Lines of a summary about time off the CPU, who ended it, and latencies of I/O.

Lines of a summary about extended stacks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.accounts.waits.schema import ExtendedStacks, SleepLength
from pyrometer.core import units
from pyrometer.terminal.drawing import (
    Justify,
    Look,
    bar,
    bars,
    grid,
    heading,
    indented,
    note,
    safe,
    words,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.accounts.waits.schema import IoLatency, Waits
    from pyrometer.core.estimate import Estimate


ROLES = 8
ENDS = 6
MARKS, MARKS_PLAIN = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
WORDS = {
    "disk_interrupt": "disk (its interrupt)",
    "interrupt": "timer or device (an interrupt)",
    "nobody_or_several": "nobody, or several",
    "other_threads": "other threads of its processes",
    "other_processes": "other processes",
}
"""Names of those who ended a wait; all others are shown by their role."""


def wait_lines(waits: Waits, look: Look) -> Iterator[RenderableType]:
    """Draw time off the CPU by role and kind, and who ended the sleep of tasks."""
    if waits.off_ns is None:
        return
    yield heading("Time off the CPU, by the scheduler's events")
    kinds = ("sleeping", "disk", "preempted", "other")
    columns: list[tuple[str, Justify]] = [("threads", "left"), ("count", "right")]
    columns += [(kind, "right") for kind in (*kinds, "of it: run queue", "intervals")]
    rows = []
    for role in waits.roles[:ROLES]:
        by_kind = {kind.kind: kind.off_ns for kind in role.kinds}
        rows.append(
            [
                role.role,
                units.count(role.threads_count),
                *(units.duration(by_kind.get(kind, 0)) for kind in kinds),
                units.duration(role.run_queue_ns),
                units.count(role.count),
            ]
        )
    yield indented(grid(look, columns, rows))
    ends = [end for end in waits.ended_by if end.role == "task"][:ENDS]
    if ends:
        yield note("task threads were woken by")
        table = bars(look)
        for end in ends:
            table.add_row(
                WORDS.get(end.ended_by, end.ended_by),
                bar(end.share, look.plain),
                units.percent(end.share),
                f"{units.duration(end.asleep_ns)} in {units.count(end.count)}",
            )
        yield indented(table)
    if waits.lost_count:
        yield note(f"{units.count(waits.lost_count)} event(s) found no room and are not counted")


def latency_lines(latencies: Sequence[IoLatency], look: Look) -> Iterator[RenderableType]:
    """Draw latencies of block requests and of calls that read files."""
    if not latencies:
        return
    yield heading("Latencies of I/O")
    columns: tuple[tuple[str, Justify], ...] = (
        ("what", "left"), ("count", "right"), ("moved", "right"), ("mean", "right"),
        ("median", "right"), ("99 %", "right"),
    )  # fmt: skip
    rows = [
        [
            _what(one),
            units.count(one.count),
            units.size(one.bytes),
            units.duration(round(one.mean_ns)),
            _between(one.p50_ns),
            _between(one.p99_ns),
        ]
        for one in latencies
    ]
    yield indented(grid(look, columns, rows))
    yield note("counts by latency, a column for each power of two; most time by")
    histograms = [[_what(one), *_histogram(one, look.plain), _who(one)] for one in latencies]
    named: tuple[tuple[str, Justify], ...] = (
        ("what", "left"), ("from", "right"), ("", "left"), ("to", "left"), ("process", "left"),
    )  # fmt: skip
    yield indented(grid(look, named, histograms))


def _what(one: IoLatency) -> str:
    stage = {"block": ", at the device", "queue": ", queue included"}.get(one.kind, "")
    return safe(f"{one.device or 'calls'} {one.operation}{stage}", 60)


def _histogram(one: IoLatency, plain: bool) -> tuple[str, str, str]:
    """Lower end, a mark for each bucket as high as the root of its count, upper end."""
    marks = MARKS_PLAIN if plain else MARKS
    counts = {max(1, bucket.low_ns): bucket.count for bucket in one.buckets}
    low, high = min(counts), max(counts)
    most = max(counts.values())
    drawn, at = "", low
    while at <= high:
        # Counts span orders of magnitude; even a single one is to be visible.
        level = math.sqrt(counts.get(at, 0) / most) * (len(marks) - 1)
        drawn += marks[math.ceil(level)]
        at *= 2
    return units.duration(low), drawn, units.duration(2 * high)


def _who(one: IoLatency) -> str:
    if not one.processes:
        return units.MISSING
    first = one.processes[0]
    name = safe(first.comm or "process not known", 20)
    share = units.percent(first.sum_ns / one.sum_ns) if one.sum_ns else ""
    return f"{name} {first.pid if first.pid else ''} {share}".replace("  ", " ")


def _between(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return units.MISSING
    return f"{units.duration(round(estimate.low))} – {units.duration(round(estimate.high))}"


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
        percent = f"{units.percent(share)}"
        rows.add_row(
            words(wait.wait_class), bar(share, look.plain), percent, units.duration(wait.asleep_ns)
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
        examples = ", ".join(
            f"{safe(row.symbols, 120)} {units.duration(row.asleep_ns)}"
            for row in stacks.unclassified[:2]
        )
        yield note(f"unclassified: {examples}")


def _length(row: SleepLength) -> str:
    if row.low_ns is None:
        return "seen once"
    if row.high_ns is None:
        return f"{units.duration(row.low_ns)} and more"
    return f"up to {units.duration(row.high_ns)}"
