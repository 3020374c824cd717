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

    from pyrometer.analyse.model import Code, Memory


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


def memory_lines(memory: Memory) -> Iterator[RenderableType]:
    """Tell what tasks allocated, page faults and swap, as far as it is known."""
    lines = []
    allocation, faults, swap = memory.allocation, memory.faults, memory.swap
    if allocation.allocated_bytes is not None:
        line = f"tasks allocated {units.size(allocation.allocated_bytes)}"
        if allocation.bytes_per_s is not None:
            line += f", {units.size(allocation.bytes_per_s)} a second"
        lines.append(f"{line} ({allocation.reason})" if allocation.reason else line)
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
