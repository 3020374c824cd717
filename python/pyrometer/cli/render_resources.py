"""Lines of a summary about memory and about interpreted and compiled code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer import units
from pyrometer.cli.drawing import Look, bar, bars, heading, indented, interval

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.analyse.model import Code, Io, Memory, SampledBytes


def code_lines(code: Code, look: Look) -> Iterator[RenderableType]:
    """Draw task CPU by how the JVM ran its code."""
    if not code.kinds:
        return
    yield heading("Task CPU in interpreted and compiled code")
    rows = bars(look)
    for kind in (one for one in code.kinds if one.share):
        part = kind.estimate
        ends = (part.low, part.high) if part else (None, None)
        rows.add_row(
            kind.kind.replace("no_java_frame", "no Java frame"),
            bar(kind.share, look.plain),
            units.percent(kind.share),
            interval(kind.on_cpu_ns, *ends),
        )
    yield indented(rows)


def _sampled(memory: Memory) -> Iterator[str]:
    """Tell bytes by samples, as far as there are any, with the classes of most of them."""
    parts: tuple[tuple[str, SampledBytes], ...] = (
        ("allocated by tasks, by samples", memory.allocation.sampled),
        ("in use at the end, by samples", memory.live_heap),
        ("native memory not given back, by samples", memory.native),
    )
    for what, part in parts:
        if part.bytes is None or part.estimate is None:
            continue
        ends = " – ".join(units.size(end) for end in (part.estimate.low, part.estimate.high))
        line = f"{what}: {units.size(part.bytes)} ({ends}, n {units.count(part.samples_count)})"
        if part.ratio is not None:
            low, high = units.percent(part.ratio.low), units.percent(part.ratio.high)
            line += f", {units.percent(part.ratio.value)} ({low} – {high}) of the JVM's count"
        yield line
        if part.by_class:
            yield "  most of it: " + ", ".join(
                f"{one.class_name} {units.percent(one.share)}" for one in part.by_class[:4]
            )


def thread_io_lines(io: Io) -> Iterator[str]:
    """Tell which roles of threads read and wrote most, by calls."""
    for part in [one for one in io.threads if one.rchar_bytes or one.wchar_bytes][:4]:
        line = f"{part.role} threads ({units.count(part.threads_count)}):"
        line += f" {units.size(part.rchar_bytes)} read, {units.size(part.wchar_bytes)} written"
        if part.read_bytes is not None:
            line += f"; {units.size(part.read_bytes)} fetched from disks"
        yield line


def memory_lines(memory: Memory) -> Iterator[RenderableType]:
    """Tell what tasks allocated, page faults and swap, as far as it is known."""
    lines = []
    allocation, faults, swap = memory.allocation, memory.faults, memory.swap
    if allocation.allocated_bytes is not None:
        line = f"tasks allocated {units.size(allocation.allocated_bytes)}"
        if allocation.bytes_per_s is not None:
            line += f", {units.size(allocation.bytes_per_s)} a second"
        lines.append(f"{line} ({allocation.reason})" if allocation.reason else line)
    lines += _sampled(memory)
    if faults.minor_count is not None:
        lines.append(
            f"page faults of its processes: {units.count(faults.minor_count)} minor,"
            f" {units.count(faults.major_count)} major"
        )
    if swap.peak_bytes:
        lines.append(f"its processes had at most {units.size(swap.peak_bytes)} in swap")
    if swap.host_read_bytes or swap.host_written_bytes:
        read, written = units.size(swap.host_read_bytes), units.size(swap.host_written_bytes)
        lines.append(f"the whole host read {read} from swap and wrote {written}")
    if not lines:
        return
    yield heading("Memory")
    for line in lines:
        yield Padding(Text(line), (0, 0, 0, 2), expand=False)
