"""The lines of generated code that task CPU went to, with the code around them.

Generated source around its hottest lines, in the terminal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.accounts.window import facts, open_scope
from pyrometer.attribution.plan_match import Evidence, unnumbered
from pyrometer.attribution.samples import CONVERSION, attribution
from pyrometer.attribution.schema import HotSource, SourceLine, SourceReport
from pyrometer.attribution.sourced_plan import NO_PLAN, Attributed, Cluster, plans
from pyrometer.core import units
from pyrometer.statistics.shares import part_of
from pyrometer.store import Run
from pyrometer.terminal.drawing import (
    Look,
    doubt_lines,
    heading,
    interval,
    note,
    put,
    safe,
    window_line,
)
from pyrometer.window.scope import Scope

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


MAX_SOURCES = 5
MAX_HOT_LINES = 8
CONTEXT = 2
_WORTH_SHOWING = 0.01


@dataclass
class _Seen:
    """Samples of one source."""

    cluster: Cluster
    app_index: int | None
    sql_ids: set[int] = field(default_factory=set)
    hits: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    attributed: dict[int, Attributed] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.hits.values())


def source_report(run: Run, window: str | None = None) -> SourceReport:
    """Show the generated source around the hottest lines of one window.

    Raises
    ------
    UsageError
        If the run has no such window.
    """
    scope = open_scope(run, window)
    seen = _seen(scope)
    hottest = sorted(seen.items(), key=lambda item: (-item[1].total, item[0]))
    total = attribution(scope).total
    return SourceReport(
        run=facts(run),
        window=scope.window.facts(),
        sources=[_source(scope, key, one, total) for key, one in hottest[:MAX_SOURCES]],
        hidden_sources_count=max(0, len(hottest) - MAX_SOURCES),
        reason=None if seen else _reason(scope),
        doubts=run.doubts,
    )


def _seen(scope: Scope) -> dict[int, _Seen]:
    known = plans(scope)
    found: dict[int, _Seen] = {}
    for app, sql_id, stage, number, method, line, hits, converting in scope.tables.query(
        "SELECT app_index, sql_id, stage_id, codegen_stage_id, method, line, sum(hits)::BIGINT,"
        f" coalesce(sum(hits) FILTER (category = '{CONVERSION}'), 0)::BIGINT"
        " FROM w_samples WHERE role = 'task' AND event = 'cpu' AND codegen_stage_id IS NOT NULL"
        " AND line IS NOT NULL AND sql_id IS NOT NULL GROUP BY ALL ORDER BY ALL"
    ):
        plan = known.get((app, sql_id), NO_PLAN)
        cluster = plan.cluster(number, stage)
        if cluster is None or not cluster.sources:
            continue
        one = found.setdefault(cluster.sources[0].source_id, _Seen(cluster, app))
        one.sql_ids.add(sql_id)
        one.hits[line] += hits
        evidence = Evidence(None, stage, number, method, converts=2 * converting > hits)
        attributed = plan.attribute(evidence, line, None)
        if attributed.by == "line":
            one.attributed.setdefault(line, attributed)
    return found


def _source(scope: Scope, source_id: int, seen: _Seen, total: int) -> HotSource:
    row = scope.tables.record(
        "SELECT class_name, source, lines_count, max_method_bytes FROM codegen_sources"
        " WHERE source_id = ?",
        [source_id],
    )
    texts = row["source"].split("\n")
    # The same source may have served several executions: numbers of one say nothing of another.
    shown = unnumbered if len(seen.sql_ids) > 1 else str
    parent = scope.task_cpu_ns
    time = None if parent is None else part_of(parent, seen.total, total)

    def line(number: int) -> SourceLine:
        hits = seen.hits.get(number, 0)
        found = seen.attributed.get(number)
        spent = part_of(parent, hits, total) if parent is not None and hits else None
        return SourceLine(
            line=number,
            text=texts[number - 1],
            samples_count=hits,
            on_cpu_ns=None if spent is None else round(spent.value or 0),
            on_cpu=spent,
            share=hits / total if hits else None,
            operator=found.operator if found else None,
            node_id=found.node.node_id if found and found.node else None,
            expression=shown(found.expression) if found and found.expression else None,
        )

    excerpts = list(_excerpts(_hot(seen), len(texts)))
    visible = {number for part in excerpts for number in part}
    return HotSource(
        source_id=source_id,
        class_name=row["class_name"],
        codegen_stage_id=seen.cluster.sources[0].codegen_stage_id,
        app_index=seen.app_index,
        sql_ids=sorted(seen.sql_ids),
        operators=[node.operator for node in seen.cluster.members],
        candidates_count=len(seen.cluster.sources),
        lines_count=row["lines_count"],
        max_method_bytes=row["max_method_bytes"],
        samples_count=seen.total,
        on_cpu_ns=None if time is None else round(time.value or 0),
        on_cpu=time,
        share=seen.total / total if total else None,
        excerpts=[[line(number) for number in part] for part in excerpts],
        hidden_lines_count=sum(1 for n, hits in seen.hits.items() if hits and n not in visible),
    )


def _hot(seen: _Seen) -> list[int]:
    least = _WORTH_SHOWING * seen.total
    hottest = sorted(seen.hits, key=lambda line: (-seen.hits[line], line))
    return [line for line in hottest[:MAX_HOT_LINES] if seen.hits[line] >= least]


def _excerpts(hot: Iterable[int], lines_count: int) -> Iterator[Sequence[int]]:
    """Lines to show: the hot ones with those around them, stretches that touch as one."""
    wanted = sorted(
        {
            number
            for line in hot
            for number in range(line - CONTEXT, line + CONTEXT + 1)
            if 1 <= number <= lines_count
        }
    )
    part: list[int] = []
    for number in wanted:
        if part and number != part[-1] + 1:
            yield part
            part = []
        part.append(number)
    if part:
        yield part


def _reason(scope: Scope) -> str:
    if not scope.has("codegen_sources"):
        return (
            "no generated source was captured: profile full does, where the plugin could be loaded"
        )
    if not scope.has("samples"):
        return scope.unsampled or "the profiler took no samples"
    return "no sample is on a line of generated code whose source is known"


_MAX_EXECUTIONS = 5


def show_source(console: Console, report: SourceReport) -> None:
    """Print the hottest lines of generated code."""
    put(console, _parts(report, Look.of(console)))


def _parts(report: SourceReport, look: Look) -> Iterator[RenderableType]:
    title = report.run.name or report.run.run_dir
    yield Text.from_markup(f"[bold cyan]{safe(title, 300)}[/]")
    yield window_line(report.window.name, report.window.iterations, report.window.length_ns)
    if report.reason:
        yield note(report.reason)
    for source in report.sources:
        yield from _source_lines(source, look)
    if report.hidden_sources_count:
        yield note(f"{report.hidden_sources_count} more generated stages were sampled")
    yield from doubt_lines(report.doubts)


def _source_lines(source: HotSource, look: Look) -> Iterator[RenderableType]:
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
