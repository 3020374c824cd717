"""A summary on one screen: at most 40 lines of 80 columns, the answer first.

Details stand in sections (`pyrometer.summary.terminal`).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from pyrometer.accounts.ledger.elapsed.schema import row_names
from pyrometer.accounts.ledger.schema import NO_AGENTS, Row, View
from pyrometer.accounts.ledger.terminal import ordered
from pyrometer.accounts.stage_names import at_file
from pyrometer.accounts.terminal import account_lines
from pyrometer.attribution.operators import across_executions
from pyrometer.core import units
from pyrometer.core.doubt import Doubt
from pyrometer.summary.iterations import iteration_lines
from pyrometer.summary.schema import Summary
from pyrometer.summary.terminal import header_facts, machine_lines, run_name
from pyrometer.terminal.drawing import (
    COLOURS,
    Justify,
    Look,
    bar,
    bars,
    grid,
    indented,
    interval,
    put,
    safe,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

LINES = 40
MAX_DOUBTS = 3
MAX_STAGES = 3
MAX_OPERATORS = 3
MAX_ITERATIONS = 4
WORTH = 0.03
"""Rows of the accounts below this share are left to ``pyrometer ledger``."""
_ROWS = {"elapsed": 5, "slots": 4, "cores": 4}
_LESS = 1
"""Rows of each list that give way to findings, and to the facts of a virtual machine."""
_NARROW = 72
NO_NAMES: Mapping[str, str] = MappingProxyType({})
_SEVERE = ("error", "warning", "info")


def show(
    console: Console,
    summary: Summary,
    run: str | None = None,
    program: str = "pyrometer",
    findings: Sequence[tuple[str, str]] | None = (),
) -> None:
    """Print a summary on one screen.

    Parameters
    ----------
    console : Console
        Where to print.
    summary : Summary
        The window.
    run : str, optional
        How the user calls the run; by default, its directory.
    program : str
        How the user calls Pyrometer: commands on the screen begin with it.
    findings : sequence of (str, str) or None
        What would make the run faster: the whole, then what each saves and what it is. With
        ``None`` it is not known yet, and `show_findings` prints it, and the next step, below.
    """
    put(console, _parts(summary, Look.of(console), run or summary.run.run_dir, program, findings))


def show_findings(
    console: Console, summary: Summary, run: str, program: str, findings: Sequence[tuple[str, str]]
) -> None:
    """Print what would make the run faster, and the next step, below a summary that is printed."""
    look = Look.of(console)
    step = _next(summary, look, run, program, findings)
    parts = [*_findings(findings, look, run, program), *step]
    if parts:
        put(console, [_title("Findings"), *parts])


def _parts(
    s: Summary, look: Look, run: str, program: str, findings: Sequence[tuple[str, str]] | None
) -> Iterator[RenderableType]:
    less = _LESS if findings is None or len(findings) > 1 else 0
    less += _LESS if s.run.machine_facts else 0
    yield _line(f"[bold cyan]{safe(run_name(s), 300)}[/] [dim]{safe(_window(s))}[/]")
    facts = header_facts(s)
    if facts:
        yield _line(f"[dim]{safe(' · '.join(facts), 300)}[/]")
    for line in machine_lines(s):
        yield _line(f"[dim]{safe(line, 300)}[/]")
    yield ""
    yield Text.from_markup(f"[bold]{_safe_lines(wrapped(s.verdict, look.width))}[/]")
    if findings is not None:
        yield from _findings(findings, look, run, program)
        yield from _next(s, look, run, program, findings)
    yield from _doubts(s.doubts, MAX_DOUBTS - less)
    elapsed = s.ledger.elapsed_view
    if elapsed.total_ns:
        names = row_names(s.elapsed.stages)
        yield from _account("Elapsed", elapsed, _ROWS["elapsed"] - less, look, names)
    if s.account is None and s.ledger.slot_view.total_ns:
        yield from _account("Task slots", s.ledger.slot_view, _ROWS["slots"], look)
    if s.ledger.core_view.total_ns:
        hosts = len(s.ledger.hosts)
        whose = f"CPUs of {hosts} hosts" if hosts else "CPUs of the host"
        yield from _account(whose, s.ledger.core_view, _ROWS["cores"], look)
        if hosts and s.ledger.core_view.reason:
            yield _line(f"[dim]  {safe(s.ledger.core_view.reason, 300)}[/]")
    elif s.ledger.hosts:
        yield from _unobserved(s)
    if s.account is not None:
        yield from account_lines(s.account, look, brief=True)
    if not s.apps:
        yield from iteration_lines(s.iterations[:MAX_ITERATIONS], look)
    yield from _stages(s, look, MAX_STAGES - less)
    yield from _operators(s, look, MAX_OPERATORS - less)
    yield _line(f"[dim]{safe(_more(run, program, look.width))}[/]")


def _unobserved(s: Summary) -> Iterator[RenderableType]:
    """Say that no host was observed, and how uneven the event log has them: --section hosts."""
    count = s.hosts.hosts_count or len(s.ledger.hosts)
    yield _line(f"[dim]{units.counted(count, 'host')}: core view {NO_AGENTS}[/]")
    for said in s.hosts.uneven[:1]:
        yield _line(f"[dim]  {safe(said, 300)}[/]")


def _next(
    s: Summary, look: Look, run: str, program: str, findings: Sequence[tuple[str, str]]
) -> Iterator[RenderableType]:
    next_step = "pyrometer explain RUN" if len(findings) > 1 else s.next_step
    if next_step:
        step = wrapped(f"next: {_named(next_step, run, program)}", look.width)
        yield Text.from_markup(f"[bold]next:[/]{_safe_lines(step.removeprefix('next:'))}")


def _more(run: str, program: str, width: int) -> str:
    """Say where the rest is: in a line that fits, and is a command that works if one does."""
    others = " · ledger · report · flame"
    command = f"more: {program} show {run} --all"
    for line in (command + others, command):
        if len(line) <= width:
            return line
    return f"more: {program} show RUN --all{others}"


def _named(text: str, run: str, program: str) -> str:
    """Put the run and the program into a command, unless the run's name is too long for a line."""
    text = text.replace("RUN", run) if len(run) <= 60 else text
    return re.sub(r"\bpyrometer (?=[a-z]+ )", f"{program} ".replace("\\", r"\\"), text)


def _line(markup: str) -> RenderableType:
    line = Text.from_markup(markup)
    line.no_wrap, line.overflow = True, "ellipsis"
    return Padding(line, 0, expand=False)


_UNIT = re.compile(r"(?<=\d) (?=(?:%|[KMGT]?i?B|[nµm]?s|min|h|\d+)(?![A-Za-z]))")
_KEPT = "\ue000"


def wrapped(text: str, width: int) -> str:
    """Wrap a text so that numbers and their units stay on one line.

    Examples
    --------
    >>> wrapped("it took 2 min 14 s of it", 12).splitlines()
    ['it took', '2 min 14 s', 'of it']
    """
    lines = textwrap.wrap(_UNIT.sub(_KEPT, text), width, break_on_hyphens=False)
    return "\n".join(lines).replace(_KEPT, " ")


def _safe_lines(text: str) -> str:
    return "\n".join(safe(line) for line in text.splitlines())


def _title(text: str) -> RenderableType:
    return Rule(f"[bold]{text}[/]", align="left", style="dim")


def _window(s: Summary) -> str:
    many = len(s.window.iterations)
    what = f"{many} iterations" if many > 1 else "1 iteration" if many else s.window.name
    return f"{what}, {units.duration(s.window.length_ns)}"


def _findings(
    findings: Sequence[tuple[str, str]], look: Look, run: str, program: str
) -> Iterator[RenderableType]:
    if not findings:
        return
    (_, whole), *each = findings
    yield Text.from_markup(_safe_lines(wrapped(_named(whole, run, program), look.width)))
    width = max((len(saves) for saves, _ in each), default=0)
    for saves, what in each:
        amount = f"[bold green]{safe(saves):>{width}}[/]  " if width else ""
        yield _line(f"  {amount}{safe(what, 300)}")


def _doubts(doubts: Sequence[Doubt], most: int) -> Iterator[RenderableType]:
    ranked = sorted(doubts, key=lambda doubt: _SEVERE.index(doubt.severity))
    for doubt in ranked[:most]:
        colour = COLOURS[doubt.severity]
        yield _line(f"[{colour}]{doubt.severity}[/] {safe(doubt.message)}")
    hidden = len(ranked) - most
    if hidden > 0:
        yield _line(f"[dim]{hidden} more doubt{'s' if hidden > 1 else ''}: --section doubts[/]")
    if not doubts:
        yield _line("[green]no doubts[/]")


def _account(
    title: str, view: View, most: int, look: Look, stages: Mapping[str, str] = NO_NAMES
) -> Iterator[RenderableType]:
    closure = "" if view.closure_ratio is None else f" · closure {_signed(view.closure_ratio)}"
    yield _title(f"{title} {units.duration(view.total_ns)}{closure}")
    shown, rest = folded(view.rows, most)
    table = bars(look)
    for row in shown:
        table.add_row(
            "  " * row.path.count("/") + safe(_called(row, stages)),
            bar(row.share, look.plain),
            units.percent(row.share),
            interval(row.value_ns, row.low_ns, row.high_ns),
        )
    yield indented(table)
    if not shown and rest:
        yield _line(f"[dim]  {units.count(rest)} rows[/]")


def _signed(ratio: float) -> str:
    return units.percent(ratio, signed=True)


def _called(row: Row, stages: Mapping[str, str]) -> str:
    name = row.path.rsplit("/", 1)[-1].replace("_", " ")
    if row.method == "by_complement":
        return f"{name} *"
    if row.path.startswith("stages/stage ") and row.path.count("/") == 1:
        return f"{name} {at_file(stages.get(row.path, row.source))}".rstrip()
    return name


def folded(rows: Sequence[Row], most: int) -> tuple[list[Row], int]:
    """Keep the largest rows of the first two levels, as a tree.

    A row that has nearly all of its parent says more than the parent: then the parent goes.

    Returns
    -------
    tuple of list of Row and int
        The rows, parents before children; how many were left out.

    Examples
    --------
    >>> rows = [Row(path="idle", share=0.6), Row(path="idle/driver", parent="idle", share=0.5)]
    >>> [row.path for row in folded([*rows, Row(path="task", share=0.01)], 4)[0]]
    ['idle', 'idle/driver']
    """
    near = [row for row in rows if row.path.count("/") < 2 and (row.share or 0) >= WORTH]
    near.sort(key=lambda row: (-(row.share or 0), row.path.count("/")))
    chosen: list[Row] = []
    paths: set[str] = set()
    by_path = {row.path: row for row in rows}
    for row in near:
        parent = by_path.get(row.parent or "")
        wanted = [one for one in (parent, row) if one is not None and one.path not in paths]
        if len(chosen) + len(wanted) > most:
            continue
        chosen += wanted
        paths |= {one.path for one in wanted}
    shown = [row for row in ordered(rows) if row.path in paths]
    return shown, len(rows) - len(shown)


def _stages(s: Summary, look: Look, most: int) -> Iterator[RenderableType]:
    if not s.stages:
        return
    held = {(x.app_index, x.stage_id, x.stage_attempt): x.held_ns for x in s.elapsed.stages}
    ranked = sorted(
        s.stages,
        key=lambda x: (
            -held.get((x.app_index, x.stage_id, x.stage_attempt), 0),
            -(x.duration_ns or 0),
        ),
    )
    columns: tuple[tuple[str, Justify], ...] = (
        (f"stage (of {len(s.stages)})", "left"), ("on path", "right"), ("duration", "right"),
        ("tasks", "right"), ("median", "right"), ("longest", "right"), ("name", "left"),
    )  # fmt: skip
    rows = []
    for x in ranked[:most]:
        lost = x.failed_tasks_count + x.killed_tasks_count
        rows.append(
            [
                f"{x.stage_id}" + (f".{x.stage_attempt}" if x.stage_attempt else ""),
                units.duration(held.get((x.app_index, x.stage_id, x.stage_attempt))),
                units.duration(x.duration_ns),
                f"{units.count(x.tasks_count)}{f' (−{lost})' if lost else ''}",
                units.duration(x.task_time.median_ns),
                units.duration(x.task_time.max_ns),
                safe(at_file(x.called or x.name or ""), 200),
            ]
        )
    if look.width < _NARROW:
        kept = (0, 1, 2, 3, 6)
        columns = tuple(columns[at] for at in kept)
        rows = [[row[at] for at in kept] for row in rows]
    yield _title("Stages that held the application up most")
    yield indented(grid(look, columns, rows, elastic=len(columns) - 1))


def _operators(s: Summary, look: Look, most: int) -> Iterator[RenderableType]:
    named = [o for o in across_executions(s.operators) if o.share_with_workers]
    if not named:
        return
    base = "CPU of tasks and Python workers" if s.cpu_base.workers_ns else "task CPU"
    yield _title(f"Operators by {base}")
    table = bars(look)
    for o in named[:most]:
        low, high = (o.on_cpu.low, o.on_cpu.high) if o.on_cpu else (None, None)
        workers = o.python_cpu_ns or 0
        both = (o.on_cpu_ns or 0) + workers
        ends = [None if end is None else end + workers for end in (low, high)]
        said = f" [dim]{units.duration(workers)} in Python[/]" if workers else ""
        table.add_row(
            safe(o.operator),
            bar(o.share_with_workers, look.plain),
            units.percent(o.share_with_workers),
            interval(both, *ends) + said,
        )
    yield indented(table)
