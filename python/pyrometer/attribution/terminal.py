"""Lines of a summary about operators: their CPU, expressions, and how samples were attributed.

Lines of a summary about Python workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.attribution.operators import across_executions
from pyrometer.attribution.plan_match import unnumbered
from pyrometer.attribution.python_workers import CATEGORY as WORKERS
from pyrometer.attribution.schema import (
    WITH_WORKERS,
    AttributionShares,
    Category,
    Expression,
    HugeMethod,
    Operator,
    Python,
    Unmapped,
)
from pyrometer.core import units
from pyrometer.terminal.drawing import Look, bar, bars, heading, indented, interval, note, safe

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from pyrometer.core.estimate import Estimate


MAX_OPERATORS = 10
MAX_EXPRESSIONS = 4
MAX_HUGE = 5
_WORTH_A_LINE = 0.001


def operator_lines(
    operators: Sequence[Operator],
    unmapped: Unmapped,
    attributed: AttributionShares,
    too_large_to_compile: Sequence[HugeMethod],
    look: Look,
) -> Iterator[RenderableType]:
    """Draw CPU by operator: of task threads and the Python workers it drove, on one base."""
    if not operators:
        return
    workers = any(o.python_cpu_ns for o in operators)
    yield heading(_title("by operator", workers))
    rows = bars(look)
    several = len({o.sql_id for o in operators} - {None}) > 1
    for o in across_executions(operators)[:MAX_OPERATORS]:
        _operator(rows, o, look, several)
    if unmapped.ratio is not None:
        rows.add_row(
            "[dim]no operator in the stack[/]",
            bar(unmapped.share, look.plain),
            units.percent(unmapped.share),
            units.duration((unmapped.on_cpu_ns or 0) + (unmapped.python_cpu_ns or 0)),
        )
    yield indented(rows)
    yield from _attribution_lines(attributed, workers)
    yield from _huge(too_large_to_compile)


def category_lines(categories: Sequence[Category], look: Look) -> Iterator[RenderableType]:
    """Draw CPU by kind of work, on the same base."""
    if not categories:
        return
    workers = any(c.category == WORKERS and c.estimate is None for c in categories)
    yield heading(_title("by kind of work", workers))
    rows = bars(look)
    for c in categories:
        rows.add_row(
            safe(c.category),
            bar(c.share, look.plain),
            units.percent(c.share),
            interval(c.on_cpu_ns, *_ends(c.estimate)),
        )
    yield indented(rows)


def _title(how: str, workers: bool) -> str:
    return f"CPU of {WITH_WORKERS} {how}" if workers else f"Task CPU {how}"


def _operator(rows: Table, o: Operator, look: Look, several: bool) -> None:
    """Draw one operator; with its execution where there are several and this is one's alone."""
    execution = f"sql {o.sql_id}, " if several and o.sql_id is not None else ""
    where = f" ({execution}node {o.node_id})" if o.node_id is not None else ""
    used = o.python_cpu_ns or 0
    rows.add_row(
        f"{safe(o.operator, 120)}[dim]{where}[/]",
        bar(o.share, look.plain),
        units.percent(o.share),
        interval(o.cpu_ns, *cpu_ends(o)),
    )
    if used:
        part = units.percent((o.share or 0) - o.share_of_threads)
        rows.add_row("[dim]  in Python workers[/]", "", part, units.duration(used))
    if o.fused:
        rows.add_row(f"[dim]  {safe(', '.join(o.fused), 200)}[/]", "", "", "")
    whole = o.share_of_threads
    shown = [e for e in o.expressions if e.share * whole >= _WORTH_A_LINE]
    for e in shown[:MAX_EXPRESSIONS]:
        _expression(rows, e, whole)


def _expression(rows: Table, e: Expression, whole: float) -> None:
    rows.add_row(
        f"[dim]  {safe(unnumbered(e.expression), 120)}[/]",
        "",
        units.percent(e.share * whole),
        interval(e.on_cpu_ns, *_ends(e.on_cpu)),
    )


def _attribution_lines(shares: AttributionShares, workers: bool) -> Iterator[RenderableType]:
    ways = (
        ("the line of generated code", shares.line_ratio),
        ("a generated method's name", shares.method_ratio),
        ("frames of a class", shares.frames_ratio),
        ("nothing", shares.none_ratio),
    )
    said = [f"{name} {units.percent(ratio)}" for name, ratio in ways if ratio]
    if said:
        what = "CPU of task threads attributed by" if workers else "attributed by"
        yield note(f"{what}: {', '.join(said)}")


def _huge(methods: Sequence[HugeMethod]) -> Iterator[RenderableType]:
    """Name each cluster once, over the executions that repeat it."""
    same = {(h.app_index, h.codegen_stage_id, h.node_id, h.max_method_bytes): h for h in methods}
    for h in list(same.values())[:MAX_HUGE]:
        yield note(
            f"too large to compile: WholeStageCodegen ({h.codegen_stage_id}), node {h.node_id}"
            f" ({safe(', '.join(h.operators), 200)}) has a method of"
            f" {units.count(h.max_method_bytes)} bytes; HotSpot interprets what is above"
            f" {units.count(h.limit_bytes)} unless it runs with -XX:-DontCompileHugeMethods"
        )
    if len(same) > MAX_HUGE:
        yield note(f"and {len(same) - MAX_HUGE} more; --json has all")


def cpu_ends(o: Operator) -> tuple[float | None, float | None]:
    """Give the ends of an operator's CPU: what workers used is counted, and added to both."""
    low, high = _ends(o.on_cpu)
    used = o.python_cpu_ns or 0
    return (None, None) if low is None or high is None else (low + used, high + used)


def _ends(estimate: Estimate | None) -> tuple[float | None, float | None]:
    return (estimate.low, estimate.high) if estimate else (None, None)


MAX_FUNCTIONS = 5


def python_lines(python: Python, look: Look) -> Iterator[RenderableType]:
    """Draw CPU of Python workers by kind of work and by function."""
    if not python.workers_ns:
        return
    yield heading("CPU of Python workers")
    line = (
        f"{units.duration(python.workers_ns)} in {units.counted(python.workers_count, 'worker')}, "
        f"{units.duration(python.in_tasks_ns or 0)} of it for known tasks"
    )
    if python.driver_ns:
        line += f"; the driver's Python {units.duration(python.driver_ns)}"
    yield Padding(Text(line), (0, 0, 0, 2), expand=False)
    rows = bars(look)
    for w in python.work:
        share = units.percent(w.share)
        rows.add_row(safe(w.work), bar(w.share, look.plain), share, units.duration(w.on_cpu_ns))
    yield indented(rows)
    functions = python.functions[:MAX_FUNCTIONS]
    if functions:
        said = [f"{safe(f.function, 80)} {units.percent(f.share)}" for f in functions]
        yield note(f"in functions, with what they call: {', '.join(said)}")
    if python.seen_ratio is not None:
        yield note(f"stacks show {units.percent(python.seen_ratio)} of what the OS probe counted")
