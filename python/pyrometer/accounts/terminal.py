"""The account of plain processes as text: a tree with bars, and what processes said they did.

Lines of a summary about memory and about interpreted and compiled code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.accounts.ledger.terminal import view_lines
from pyrometer.core import units
from pyrometer.terminal.drawing import (
    Justify,
    Look,
    bar,
    bars,
    grid,
    heading,
    indented,
    interval,
    note,
    safe,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.accounts.annotations import Account, Annotated, Session
    from pyrometer.accounts.machine_schema import Disks, Io
    from pyrometer.accounts.memory import Code, Memory, SampledBytes
    from pyrometer.accounts.memory_waits import MemoryWaits
    from pyrometer.accounts.numa import NumaMemory


MOST_PROCESSES = 8
BRIEF = 3
MOST_WORDS = 10
MOST_WAITS = 10
MOST_DISKS = 8


def account_lines(
    account: Account | None, look: Look, brief: bool = False
) -> Iterator[RenderableType]:
    """Print the account; nothing where there is none.

    Parameters
    ----------
    brief : bool
        As a part of one screen: few processes, waits and words.
    """
    if account is None:
        return
    most_processes, most_waits = (BRIEF, BRIEF) if brief else (MOST_PROCESSES, MOST_WAITS)
    yield heading("Account: what the threads' time went to", close=brief)
    yield from view_lines(account.view, look, deep=True)
    if account.view.total_ns is None:
        return
    yield heading(f"Processes ({len(account.processes)})", close=brief)
    right: Justify = "right"
    columns: list[tuple[str, Justify]] = [
        ("process", "left"), ("threads", right), ("followed", right), ("on CPU", right),
        ("run queue", right), ("asleep", right),
    ]  # fmt: skip
    rows = [
        [
            f"{one.pid} {safe(one.comm)}",
            str(one.threads_count),
            units.duration(one.followed_ns),
            units.duration(one.on_cpu_ns),
            units.duration(one.run_queue_ns),
            units.duration(one.asleep_ns),
        ]
        for one in account.processes[:most_processes]
    ]
    yield indented(grid(look, columns, rows))
    if len(account.processes) > most_processes:
        yield note(f"and {len(account.processes) - most_processes} more")
    if account.waits:
        yield heading("Asleep, by class and system call", close=brief)
        waits = [
            [safe(one.wait_class.replace("_", " ")), safe(one.syscall or "?"),
             units.duration(one.time_ns), units.percent(one.share)]
            for one in account.waits[:most_waits]
        ]  # fmt: skip
        shape: list[tuple[str, Justify]] = [
            ("class", "left"), ("system call", "left"), ("time", right), ("of all", right),
        ]  # fmt: skip
        yield indented(grid(look, shape, waits))
    for process in account.annotated[: 1 if brief else MOST_PROCESSES]:
        yield from _annotated(process, look, BRIEF if brief else MOST_WORDS, close=brief)
    yield from _sessions(account.sessions[:1] if brief else account.sessions)


def _annotated(process: Annotated, look: Look, most: int, close: bool) -> Iterator[RenderableType]:
    if not any(word.on_cpu_ns or (word.waits and not word.idle) for word in process.words):
        return
    yield heading(f"What process {process.pid} ({safe(process.comm)}) said it did", close=close)
    right: Justify = "right"
    columns: list[tuple[str, Justify]] = [
        ("its word", "left"), ("time", right), ("share", right), ("on CPU", right),
        ("run queue", right), ("asleep", right),
    ]  # fmt: skip
    rows = [
        [
            safe(word.word),
            units.duration(word.time_ns),
            units.percent(word.share.value),
            units.duration(word.on_cpu_ns),
            units.duration(word.run_queue_ns),
            units.duration(word.asleep_ns),
        ]
        for word in process.words[:most]
    ]
    yield indented(grid(look, columns, rows))
    if len(process.words) > most:
        yield note(f"and {len(process.words) - most} more words")


def _sessions(sessions: list[Session]) -> Iterator[RenderableType]:
    for session in sessions:
        of = "" if session.iteration is None else f"iteration {session.iteration}: "
        yield note(
            f"{of}CPU {units.percent(session.cpu_ratio)} + waits"
            f" {units.percent(session.wait_ratio)} ="
            f" {units.percent(session.cpu_and_wait_ratio)} of the time not idle;"
            f" of the waits {units.percent(session.cpu_in_wait_ratio)} were on a CPU,"
            f" {units.percent(session.asleep_in_wait_ratio)} asleep"
        )


def code_lines(code: Code, look: Look) -> Iterator[RenderableType]:
    """Draw task CPU by how the JVM ran its code."""
    if not code.kinds:
        return
    yield heading("CPU of task threads in interpreted and compiled code")
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
    """Describe bytes by samples, where there are any, with the classes of most of them."""
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
    """List the roles of threads that read and wrote most, by calls."""
    for part in [one for one in io.threads if one.rchar_bytes or one.wchar_bytes][:4]:
        line = f"{part.role} threads ({units.count(part.threads_count)}):"
        line += f" {units.size(part.rchar_bytes)} read, {units.size(part.wchar_bytes)} written"
        if part.read_bytes is not None:
            line += f"; {units.size(part.read_bytes)} fetched from disks"
        yield line


def disk_lines(disks: Disks, look: Look) -> Iterator[RenderableType]:
    """Draw the block devices with most time in requests."""
    if not disks.devices:
        return
    yield heading("Block devices, all programs of the host")
    right: Justify = "right"
    columns: list[tuple[str, Justify]] = [
        ("device", "left"), ("requests", right), ("read", right), ("written", right),
        ("await", right), ("of reads", right), ("of writes", right), ("queue", right),
        ("busy", right), ("", "left"),
    ]  # fmt: skip
    rows = [
        [
            safe(one.device if one.host is None else f"{one.device} on {one.host}", 60),
            units.count(one.requests_count),
            units.size(one.read_bytes),
            units.size(one.written_bytes),
            *(
                units.duration(part.value if part else None)
                for part in (one.await_ns, one.read_await_ns, one.write_await_ns)
            ),
            "–" if one.queue_depth is None else f"{one.queue_depth:.2f}",
            units.percent(one.busy_ratio),
            one.reason or ("lies on others" if one.lies_on_others else ""),
        ]
        for one in disks.devices[:MOST_DISKS]
    ]
    yield indented(grid(look, columns, rows))
    if len(disks.devices) > MOST_DISKS:
        yield note(f"and {len(disks.devices) - MOST_DISKS} more")
    if any(one.lies_on_others for one in disks.devices):
        yield note("requests of a device that lies on others are counted again on those below it")


def _by_node(numa: NumaMemory | None) -> Iterator[str]:
    """Say on which NUMA nodes memory lay."""
    if numa is None:
        return
    own = [f"node {one.node} {units.size(one.executors_bytes)}" for one in numa.nodes]
    known = any(one.executors_bytes for one in numa.nodes)
    line = f"memory of executors: {', '.join(own)}" if known else "memory of executors by node"
    if numa.bound_ratio is not None:
        share = units.percent(numa.bound_ratio)
        yield f"{line}; {share} of the executor with the least on the nodes that it is bound to"
    else:
        yield f"{line} ({safe(numa.reason or 'not known', 200)})"
    given = [
        f"node {one.node} {units.count(one.given_pages_count)}"
        f" ({units.count(one.other_node_pages_count)} to programs on another)"
        for one in numa.nodes
        if one.given_pages_count is not None
    ]
    if given:
        yield f"pages that nodes gave out: {', '.join(given)}"


def _memory_waits(waits: MemoryWaits) -> Iterator[str]:
    """Say what tasks waited for memory, and in which stages most; nothing where none did."""
    for wait in waits.kinds:
        if wait.time_ns is None or not wait.time_ns.value:
            continue
        time, low, high = wait.time_ns.value, wait.time_ns.low, wait.time_ns.high
        line = f"tasks were in {_MEMORY_WAITS[wait.kind]} for {units.duration(time)}"
        line += f" ({units.duration(low)} – {units.duration(high)})"
        if wait.share is not None:
            line += f", {units.percent(wait.share)} of their time"
        most = [
            (part.time_ns.value, one.stage_id)
            for one in waits.stages
            for part in one.waits
            if part.kind == wait.kind and part.time_ns.value
        ]
        if len(most) > 1:
            spent, stage = max(most)
            line += f"; {units.duration(spent)} of it in stage {stage}"
        yield f"{line} ({wait.reason})" if wait.reason else line


_MEMORY_WAITS = {
    "reclaim": "direct reclaim",
    "swap_in": "swap-in",
    "thrashing": "reads of pages evicted a moment before (thrashing)",
    "compaction": "compaction of memory",
}


def memory_lines(memory: Memory) -> Iterator[RenderableType]:
    """Draw what tasks allocated, page faults, swap and nodes, as far as they are known."""
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
    lines += _memory_waits(memory.waits)
    lines += _by_node(memory.numa)
    if not lines:
        return
    yield heading("Memory")
    for line in lines:
        yield Padding(Text(line), (0, 0, 0, 2), expand=False)
