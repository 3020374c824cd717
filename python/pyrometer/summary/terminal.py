"""Sections of a summary for a terminal: aligned, 80 columns or less, colours optional."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.padding import Padding
from rich.text import Text

from pyrometer.accounts.hardware.terminal import hardware_lines
from pyrometer.accounts.hosts.terminal import task_lines
from pyrometer.accounts.jvm.terminal import jvm_lines
from pyrometer.accounts.ledger.schema import NO_AGENTS
from pyrometer.accounts.ledger.terminal import view_lines
from pyrometer.accounts.ledger.terminal_hosts import host_lines, whose
from pyrometer.accounts.schema import Stage
from pyrometer.accounts.stage_names import at_file
from pyrometer.accounts.terminal import (
    account_lines,
    code_lines,
    disk_lines,
    memory_lines,
    thread_io_lines,
)
from pyrometer.accounts.waits.terminal import extended_stack_lines, latency_lines, wait_lines
from pyrometer.attribution.terminal import category_lines, operator_lines, python_lines
from pyrometer.core import units
from pyrometer.summary.disputed import about, mark
from pyrometer.summary.iterations import iteration_lines
from pyrometer.summary.schema import Disputed, Summary
from pyrometer.terminal.drawing import (
    Justify,
    Look,
    bar,
    bars,
    doubt_lines,
    grid,
    heading,
    indented,
    note,
    put,
    safe,
    window_line,
    words,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


MAX_STAGES = 10
_MARKS_BESIDE = 72
SPARKS_INPUT = "Spark's input bytes"


Section = Callable[[Summary, Look], Iterator["RenderableType"]]


def show_sections(console: Console, summary: Summary, names: Sequence[str]) -> None:
    """Print sections of a summary, below what ran and the verdict.

    Parameters
    ----------
    console : Console
        Where to print.
    summary : Summary
        The window.
    names : sequence of str
        Keys of `SECTIONS`.
    """
    put(console, _parts(summary, Look.of(console), names))


def _parts(s: Summary, look: Look, names: Sequence[str]) -> Iterator[RenderableType]:
    yield from _header(s)
    yield ""
    yield Text.from_markup(f"[bold]{safe(s.verdict)}[/]")
    for name in names:
        seen = False
        for part in SECTIONS[name](s, look):
            seen = True
            yield part
        if not seen and len(names) < len(SECTIONS):
            yield heading(name.capitalize())
            yield note("nothing was recorded")


def run_name(s: Summary) -> str:
    """Name what ran, as people do, or else its folder."""
    return s.run.name or s.run.run_dir


def header_facts(s: Summary) -> list[str]:
    """Say what the run was of: treatment, scale, versions, profile, state."""
    extras = [f"{k}={v}" for k, v in s.run.variant.items()]
    for factor, level in s.run.treatment.items():
        if factor not in s.run.variant:
            origin = (
                " (the workload's own)" if s.run.treatment_origin.get(factor) == "workload" else ""
            )
            extras.append(f"{factor}={level}{origin}")
    if s.run.scale is not None:
        extras.append(f"scale {s.run.scale}")
    if s.run.spark_version:
        extras.append(f"Spark {s.run.spark_version}")
    if s.run.profile:
        extras.append(f"profile {s.run.profile}")
    if s.run.state:
        code = "" if s.run.exit_code is None else f", exit code {s.run.exit_code}"
        extras.append(f"{s.run.state}{code}")
    if len(s.apps) > 1:
        extras.append(f"{len(s.apps)} applications")
    return extras


def machine_lines(s: Summary) -> Iterator[str]:
    """Say in which virtual machine it ran, and on which host; nothing of a run in none."""
    return (f"{label.lower()}: {text}" for label, text in s.run.machine_facts.items())


def _header(s: Summary) -> Iterator[RenderableType]:
    yield Text.from_markup(f"[bold cyan]{safe(run_name(s), 300)}[/]")
    extras = header_facts(s)
    if extras:
        yield Text.from_markup(f"[dim]{safe(' · '.join(extras), 300)}[/]")
    for line in machine_lines(s):
        yield Text.from_markup(f"[dim]{safe(line, 300)}[/]")
    yield window_line(s.window.name, s.window.iterations, s.window.length_ns)


def _operators(s: Summary, look: Look) -> Iterator[RenderableType]:
    return operator_lines(s.operators, s.unmapped, s.told, s.too_large_to_compile, look)


def _elapsed(s: Summary, look: Look) -> Iterator[RenderableType]:
    if s.ledger.elapsed_view.total_ns is not None:
        yield heading("Elapsed: what the application waited for")
        yield from view_lines(s.ledger.elapsed_view, look)


def _slots(s: Summary, look: Look) -> Iterator[RenderableType]:
    if s.account is None:
        yield heading("Ledger: what the task slots' time went to")
        yield from view_lines(s.ledger.slot_view, look)


def _cores(s: Summary, look: Look) -> Iterator[RenderableType]:
    if s.ledger.core_view.total_ns is not None:
        yield heading(f"Ledger: what {whose(s.ledger.hosts)} CPU time went to")
        yield from view_lines(s.ledger.core_view, look)


def _hosts(s: Summary, look: Look) -> Iterator[RenderableType]:
    if s.hosts.hosts or s.ledger.hosts:
        yield heading("Hosts")
    if s.hosts.hosts:
        yield from task_lines(s.hosts, look)
    if any(one.observed for one in s.ledger.hosts):
        yield from host_lines(s.ledger.hosts, look)
    elif s.ledger.hosts:
        yield note(f"core view: {NO_AGENTS}")


def _totals(s: Summary, look: Look) -> Iterator[RenderableType]:
    if not s.apps and not s.totals.get("tasks_count"):
        return
    yield heading("Totals")
    failed = s.failed.totals
    any_failed = bool(failed.get("tasks_count"))
    columns: list[tuple[str, Justify]] = [("", "left"), ("succeeded", "right")]
    if any_failed:
        columns.append(("failed or killed", "right"))
    wide = look.width >= _MARKS_BESIDE + (20 if any_failed else 0)
    found = {name: one for name in s.totals if (one := about(s.disputed, f"totals.{name}"))}
    if found:
        columns.append(("", "left"))
    rows, zeros, missing = [], [], []
    for name, value in s.totals.items():
        lost = failed.get(name)
        wrong = name in found
        if value is None and not lost and not wrong:
            missing.append(words(name))
        elif value == 0 and not lost and not wrong:
            zeros.append(words(name))
        else:
            cells = [words(name), units.quantity(name, value)]
            cells += [units.quantity(name, lost)] if any_failed else []
            told = _marked(mark(found[name]) if wide else "✗") if wrong else ""
            rows.append([*cells, *([told] if found else [])])
    yield indented(grid(look, columns, rows, elastic=len(columns) - 1 if found and wide else 0))
    if found and wide:
        yield note("✗ contradicted by another source, which follows; --json says why")
    elif found:
        for name, one in found.items():
            yield note(f"✗ {words(name)}: {mark(one).removeprefix('✗ ')}")
    if zeros:
        yield note("0: " + ", ".join(zeros))
    if missing:
        yield note("not in this log: " + ", ".join(missing))


def _marked(text: str) -> str:
    return f"[yellow]{safe(text)}[/]"


def _stages(
    stages: Sequence[Stage], disputes: Sequence[Disputed], look: Look
) -> Iterator[RenderableType]:
    if not stages:
        return
    yield heading(f"Stages ({len(stages)})")
    longest = sorted(stages, key=lambda x: -(x.duration_ns or 0))[:MAX_STAGES]
    wrong = about(disputes, "stages.totals.executor_cpu_time_ns")
    columns: tuple[tuple[str, Justify], ...] = (
        ("stage", "left"), ("tasks", "right"), ("duration", "right"),
        ("CPU ✗" if wrong else "CPU", "right"),
        ("median task", "right"), ("longest", "right"), ("name", "left"),
    )  # fmt: skip
    rows = []
    for x in longest:
        attempt = f".{x.stage_attempt}" if x.stage_attempt else ""
        lost = x.failed_tasks_count + x.killed_tasks_count
        rows.append(
            [
                f"{x.stage_id}{attempt}",
                f"{units.count(x.tasks_count)}{f' (−{lost})' if lost else ''}",
                units.duration(x.duration_ns),
                units.duration(x.totals.get("executor_cpu_time_ns")),
                units.duration(x.task_time.median_ns),
                units.duration(x.task_time.max_ns),
                safe(at_file(x.called or x.name or ""), 200),
            ]
        )
    yield indented(grid(look, columns, rows, elastic=6))
    if wrong:
        yield note(f"{mark(wrong)}: {wrong.why}")
    if len(stages) > len(longest):
        yield note(f"the {len(longest)} longest of {len(stages)}; --json has all")


def _cpu(s: Summary, look: Look) -> Iterator[RenderableType]:
    cpu = s.cpu
    if cpu.process_cpu_ns is None and not cpu.roles:
        return
    yield heading("CPU: the whole process, and what Spark counts")
    spark = units.duration(cpu.executor_cpu_time_ns)
    line = f"process {units.duration(cpu.process_cpu_ns)}, Spark {spark}"
    if cpu.ratio is not None:
        line += f": {units.digits(cpu.ratio)} times as much"
    yield Padding(Text(line), (0, 0, 0, 2), expand=False)
    if cpu.roles:
        rows = bars(look, "run queue")
        subtracted = False
        for role in cpu.roles:
            share = role.cpu_ns / cpu.process_cpu_ns if cpu.process_cpu_ns else None
            name = safe(role.role)
            if role.method == "by_complement":
                name += " *"
                subtracted = True
            rows.add_row(
                name,
                bar(share, look.plain),
                units.percent(share),
                units.duration(role.cpu_ns),
                units.duration(role.run_delay_ns),
            )
        yield indented(rows)
        if subtracted:
            yield note("* by subtraction: process total − its threads as read")
    if cpu.reason:
        yield note(cpu.reason)


def _io(s: Summary, look: Look) -> Iterator[RenderableType]:
    io = s.io
    sizes = (
        (SPARKS_INPUT, io.input_bytes),
        ("process, by read calls", io.process_read_chars_bytes),
        ("process, from the device", io.process_read_bytes),
        ("size of the scan's files", io.scan_files_size_bytes),
    )
    if not any(value for _, value in sizes):
        return
    yield heading("Bytes read, three ways")
    rows = bars(look)
    most = max(value or 0 for _, value in sizes)
    wrong = about(s.disputed, "totals.input_bytes")
    for name, value in sizes:
        if value is not None:
            told = f" {_marked('✗ too low')}" if wrong and name == SPARKS_INPUT else ""
            rows.add_row(name, bar(value / most, look.plain), "", units.size(value) + told)
    yield indented(rows)
    notes = []
    if io.page_cache_ratio is not None:
        line = f"{units.percent(io.page_cache_ratio)} came from the page cache"
        notes.append(f"{line} ({io.page_cache.source})" if io.page_cache.source else line)
    notes += thread_io_lines(io)
    if io.mb_per_s_per_core is not None:
        rate = f"{units.rate(io.mb_per_s_per_core * 1e6)} per core"
        notes.append(f"{rate}, from {io.bytes_source}")
    for line in notes:
        yield note(line)


def _gc(s: Summary, look: Look) -> Iterator[RenderableType]:
    if s.gc.pauses_count is None:
        return
    yield heading("Garbage collection")
    line = (
        f"{units.count(s.gc.pauses_count)} pauses, {units.duration(s.gc.pause_total_ns)} in all,"
        f" longest {units.duration(s.gc.pause_max_ns)}"
    )
    if s.gc.safepoints_count is not None:
        line += (
            f"; {units.count(s.gc.safepoints_count)} safepoints of any kind,"
            f" {units.duration(s.gc.safepoint_total_ns)}"
        )
    yield Padding(Text(line), (0, 0, 0, 2), expand=False)
    if len(s.gc.by_kind) > 1:
        kinds = (
            f"{k.kind}: {units.count(k.pauses_count)}, {units.duration(k.pause_total_ns)}"
            for k in s.gc.by_kind
        )
        yield note("; ".join(kinds))


def _instruments(s: Summary, look: Look) -> Iterator[RenderableType]:
    known = [i for i in s.instruments if i.cpu_ns is not None]
    if not known:
        return
    parts = [
        f"{i.name}{f' on {safe(i.host, 60)}' if i.host else ''}{f' at {i.tier}' if i.tier else ''}"
        f" {units.duration(i.cpu_ns)} ({units.percent(i.share_of_process_cpu)})"
        for i in known
    ]
    yield heading("What measuring cost")
    yield Padding(Text(", ".join(parts)), (0, 0, 0, 2), expand=False)
    unseen: dict[str | None, list[str]] = {}
    for one in s.instruments:
        if one.host and one.cpu_ns is None:
            unseen.setdefault(one.reason, []).append(safe(one.host, 60))
    for why, hosts in unseen.items():
        yield note(f"{', '.join(hosts)}: {why}")


SECTIONS: Final[dict[str, Section]] = {
    "totals": _totals,
    "iterations": lambda s, look: iteration_lines(s.iterations, look),
    "stages": lambda s, look: _stages(s.stages, s.disputed, look),
    "elapsed": _elapsed,
    "operators": _operators,
    "work": lambda s, look: category_lines(s.categories, look),
    "code": lambda s, look: code_lines(s.code, look),
    "python": lambda s, look: python_lines(s.python, look),
    "stacks": lambda s, look: extended_stack_lines(s.extended_stacks, look),
    "cpu": _cpu,
    "io": _io,
    "disks": lambda s, look: disk_lines(s.io.disks, look),
    "latency": lambda s, look: latency_lines(s.io_latency, look),
    "waits": lambda s, look: wait_lines(s.waits, look),
    "gc": _gc,
    "jvm": lambda s, look: jvm_lines(s.jvm, look),
    "hardware": lambda s, look: hardware_lines(s.hardware, look),
    "memory": lambda s, look: memory_lines(s.memory),
    "processes": lambda s, look: account_lines(s.account, look),
    "slots": _slots,
    "cores": _cores,
    "hosts": _hosts,
    "instruments": _instruments,
    "doubts": lambda s, look: doubt_lines(s.doubts),
}
"""Name → lines, in the order of ``show --all``; a section without data has no line."""
