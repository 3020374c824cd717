"""Generated source around its hottest lines, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer import units
from pyrometer.analyse.model import HotSource, SourceLine, SourceReport
from pyrometer.cli.drawing import (
    Look,
    doubt_lines,
    heading,
    interval,
    note,
    put,
    safe,
    window_line,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_MAX_EXECUTIONS = 5


def show_source(console: Console, report: SourceReport) -> None:
    """Print the hottest lines of generated code."""
    put(console, _parts(report, Look.of(console)))


def _parts(report: SourceReport, look: Look) -> Iterator[RenderableType]:
    title = report.run.workload or " ".join(report.run.command) or report.run.run_dir
    yield Text.from_markup(f"[bold cyan]{safe(title, 300)}[/]")
    yield window_line(report.window.name, report.window.iterations, report.window.length_ns)
    if report.reason:
        yield note(report.reason)
    for source in report.sources:
        yield from _source(source, look)
    if report.hidden_sources_count:
        yield note(f"{report.hidden_sources_count} more generated stages were sampled")
    yield from doubt_lines(report.doubts)


def _source(source: HotSource, look: Look) -> Iterator[RenderableType]:
    yield heading(
        f"Generated stage {source.codegen_stage_id}: {units.percent(source.share)} of task CPU,"
        f" {units.duration(source.on_cpu_ns)}"
    )
    ids = ", ".join(map(str, source.sql_ids[:_MAX_EXECUTIONS]))
    more = len(source.sql_ids) - _MAX_EXECUTIONS
    yield note(
        f"SQL execution {ids}{f' and {more} more' if more > 0 else ''}:"
        f" {', '.join(source.operators)}"
    )
    if source.candidates_count > 1:
        yield note(f"{source.candidates_count} sources fit equally well; this is the first")
    for number, part in enumerate(source.excerpts):
        if number:
            yield _row("[dim]…[/]")
        for line in part:
            yield from _line(line)
    if source.hidden_lines_count:
        yield note(f"{source.hidden_lines_count} more lines of {source.lines_count} were sampled")


def _line(line: SourceLine) -> Iterator[RenderableType]:
    text = safe(line.text.strip())
    if not line.samples_count:
        yield _row(f"[dim]{line.line:>5}{'':31}{text}[/]")
        return
    ends = (line.on_cpu.low, line.on_cpu.high) if line.on_cpu else (None, None)
    time = Text.from_markup(interval(line.on_cpu_ns, *ends))
    gap = " " * max(1, 20 - time.cell_len)
    yield _row(f"{line.line:>5}  {units.percent(line.share):>7}  {time.markup}{gap}[bold]{text}[/]")
    if line.operator:
        where = f" (node {line.node_id})" if line.node_id is not None else ""
        what = f": {safe(line.expression)}" if line.expression else ""
        yield _row(f"[cyan]{'':7}→ {safe(line.operator)}{where}{what}[/]")


def _row(markup: str) -> RenderableType:
    text = Text.from_markup(markup)
    text.no_wrap, text.overflow = True, "ellipsis"
    return Padding(text, 0, expand=False)
