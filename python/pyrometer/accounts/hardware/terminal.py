"""Lines of a summary about perf counters: instructions per cycle, memory traffic, migrations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.core import units
from pyrometer.terminal.drawing import Justify, Look, grid, heading, indented, note

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.accounts.hardware.schema import Bandwidth, CpiBreakdown, Hardware, Placement
    from pyrometer.core.estimate import Estimate


MAX_ROWS = 8


def hardware_lines(hardware: Hardware, look: Look) -> Iterator[RenderableType]:
    """Draw what counters show; nothing for a run in which the probe counted nothing."""
    places = list(_placement(hardware.placement))
    if not hardware.counters and not places and hardware.bandwidth.total_bytes is None:
        return
    yield heading("Counters: instructions per cycle, memory, migrations")
    lines = [
        *_ipc(hardware),
        *_cpi(hardware.cpi),
        *_bandwidth(hardware.bandwidth),
        *places,
        *_energy(hardware),
    ]
    for line in lines:
        yield Padding(Text(line), (0, 0, 0, 2), expand=False)
    yield from _counters(hardware, look)
    yield from _operators(hardware, look)
    if hardware.reason:
        yield note(hardware.reason)
    if hardware.bandwidth.reason and hardware.counters:
        yield note(f"memory traffic: {hardware.bandwidth.reason}")


def _ipc(hardware: Hardware) -> Iterator[str]:
    ipc = hardware.ipc
    if ipc.ipc is None or ipc.cpi is None:
        return
    line = f"instructions per cycle {ipc.ipc:.2f} (cycles per instruction {ipc.cpi:.2f})"
    yield line + _turns(ipc.running_ratio)


def _turns(running: float | None) -> str:
    """Say that a value was scaled up, and from what part of the time."""
    if running is None or running >= 1:
        return ""
    return f", scaled up: on the hardware {units.percent(running)} of the time"


def _cpi(cpi: CpiBreakdown) -> Iterator[str]:
    if cpi.parts:
        parts = ", ".join(f"{part.part} {units.percent(part.share)}" for part in cpi.parts)
        yield f"cycles, {cpi.model}: {parts}{_turns(cpi.running_ratio)}"


def _bandwidth(memory: Bandwidth) -> Iterator[str]:
    if memory.total_bytes is None:
        return
    bound = "at least " if memory.lower_bound else ""
    apart = ""
    if memory.written_bytes is not None:
        apart = (
            f" (read {units.size(memory.read_bytes)}, written {units.size(memory.written_bytes)})"
        )
    yield (
        f"memory traffic of {memory.of}, by {memory.source}: {bound}"
        f"{units.size(memory.total_bytes)}{apart}, {bound}{units.size(memory.bytes_per_s)} a second"
    )
    share = memory.share_of_attainable
    if share is not None:
        yield f"{bound}{_share(share)} of what this machine can move ({memory.attainable_by})"
    if memory.local_ratio is not None:
        yield f"{units.percent(memory.local_ratio)} local to the node ({memory.local_by})"


def _share(share: Estimate) -> str:
    if share.low is None or share.high is None:
        return units.percent(share.value)
    ends = f"{units.percent(share.low)} – {units.percent(share.high)}"
    return f"{units.percent(share.value)} ({ends}, n {share.n})"


def _placement(places: Placement) -> Iterator[str]:
    if places.per_s is None:
        return
    exact = places.by != "readings"
    moves = places.migrations_count if exact else places.moves_count
    yield (
        f"task threads moved between CPUs {'' if exact else 'at least '}{units.count(moves)} times,"
        f" {places.per_s:.3g} a second: {places.threads_count} threads on {places.cpus_count} CPUs"
    )
    if len(places.nodes) > 1:
        shares = ", ".join(
            f"{units.percent(one.share)} on node {one.node}{f' of {one.host}' if one.host else ''}"
            for one in places.nodes
        )
        yield (
            f"their CPU time: {shares}; they moved to another node at least"
            f" {units.count(places.node_moves_count)} times"
        )


def _energy(hardware: Hardware) -> Iterator[str]:
    for one in hardware.energy:
        name = one.measure.removeprefix("energy_").removesuffix("_nj")
        if one.watts is not None:
            yield f"energy of {name}, {one.scope}: {one.watts:.1f} W"


def _counters(hardware: Hardware, look: Look) -> Iterator[RenderableType]:
    if not hardware.counters:
        return
    columns: tuple[tuple[str, Justify], ...] = (
        ("counter, all threads", "left"), ("counted", "right"), ("scaled", "right"),
        ("on the hardware", "right"),
    )  # fmt: skip
    rows = []
    for one in hardware.counters:
        turns = one.running_ratio is not None and one.running_ratio < 1
        name = f"{one.event}:u" if one.user_only else one.event
        value = units.duration(one.value) if one.event == "task-clock" else units.count(one.value)
        scaled = units.count(round(one.scaled)) if turns and one.scaled is not None else ""
        rows.append([name, value, scaled, units.percent(one.running_ratio) if turns else ""])
    yield indented(grid(look, columns, rows, elastic=0))


def _operators(hardware: Hardware, look: Look) -> Iterator[RenderableType]:
    if not hardware.operators:
        return
    columns: tuple[tuple[str, Justify], ...] = (
        ("operator", "left"), ("instr. per cycle", "right"), ("95 %", "right"), ("n", "right"),
    )  # fmt: skip
    rows = [
        [
            one.operator,
            f"{one.ipc.value:.2f}",
            units.MISSING if one.ipc.low is None else f"{one.ipc.low:.2f} – {one.ipc.high:.2f}",
            units.count(one.ipc.n),
        ]
        for one in hardware.operators[:MAX_ROWS]
    ]
    yield indented(grid(look, columns, rows, elastic=0))
