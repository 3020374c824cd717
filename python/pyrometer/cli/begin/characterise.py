"""``pyrometer workloads characterise``: a suite query by query, as a table.

CPU by component of each query of a suite, as a table and as columns of a CSV file.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyrometer.cli.shared.typed import typed
from pyrometer.core.errors import UsageError, WorkloadError
from pyrometer.core.replacing import replacing
from pyrometer.terminal.console import JsonOption, emit_json, human

if TYPE_CHECKING:
    from rich.table import Table

    from pyrometer.characterise.breakdown import BreakdownRow
    from pyrometer.characterise.queries import Characterisation, Part


def breakdown_columns(part: Part) -> dict[str, Any]:
    """Give shares of CPU by component, and of the Java part by what it worked for."""
    if part.breakdown is None:
        return {}
    return {
        "cpu_samples": part.breakdown.samples_count,
        **{f"cpu_{row.name}_ratio": row.share.value for row in part.breakdown.components},
        **{
            f"java_{row.name.replace(' ', '_')}_ratio": row.share.value
            for row in part.breakdown.java
        },
    }


def print_breakdown(console: Any, analysis: Characterisation) -> None:
    """Print a table of shares, or why there is none."""
    from rich.markup import escape

    found = [(part.name, part.breakdown) for part in analysis.parts if part.breakdown]
    if not found:
        if analysis.breakdown_reason:
            console.print(
                f"[yellow]CPU by component unknown:[/] {escape(analysis.breakdown_reason)}"
            )
        return
    console.print("\n[bold]CPU of all threads by what ran, % of samples[/]")
    console.print(_table([(name, b.components) for name, b in found]))
    console.print("\n[bold]The Java part by kind of work, %[/]")
    console.print(_table([(name, b.java) for name, b in found]))
    widest = max(
        (row.share.high - row.share.low) / 2
        for _, one in found
        for row in one.components
        if row.share.high is not None and row.share.low is not None
    )
    console.print(f"[dim]good to ± {100 * widest:.1f} points or better; intervals: --json[/]")


def _table(rows: list[tuple[str, list[BreakdownRow]]]) -> Table:
    """Draw a table of shares, without columns that never reach one per cent."""
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("query", no_wrap=True)
    columns = zip(*(shares for _, shares in rows), strict=True)
    used = [n for n, of in enumerate(columns) if any((row.share.value or 0) >= 0.01 for row in of)]
    for n in used:
        shown.add_column(rows[0][1][n].name.replace(" ", "\n"), justify="right")
    for name, shares in rows:
        shown.add_row(name, *(_percent(shares[n].share.value) for n in used))
    return shown


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}"


SHORT = {
    "loads": "load",
    "hash_joins": "HashJoin",
    "broadcast_joins": "BcastJoin",
    "sort_merge_joins": "MergeJoin",
    "nested_loop_joins": "LoopJoin",
    "cartesian_products": "Cartesian",
    "outer_joins": "outer",
    "semi_joins": "semi",
    "anti_joins": "anti",
    "aggregates": "Aggr",
    "unions": "Union",
    "limits": "Limit",
    "writes": "write",
}
"""What a count of `pyrometer.characterise.features.FEATURES` is called in the table."""

SQL_FEATURES = {
    "group_bys": "groupby",
    "joins": "join",
    "outer_joins": "outer",
    "tables": "table",
    "unions": "union",
    "subqueries": "subquery",
}
"""What a count of `pyrometer.characterise.features` is called in the table."""

VECTORED = "spark.hadoop.parquet.hadoop.vectored.io.enabled"
"""Spark 4 counts too little of what it reads of Parquet so: off, unless asked for."""


def characterise(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="SUITE|RUN",
            help="A workload (a SQL file, too) to run now, or a run directory or event log.",
            show_default=False,
        ),
    ],
    setting: Annotated[
        list[str],
        typer.Option("--set", metavar="FACTOR=LEVEL", help="Set a factor's level; repeatable."),
    ] = [],  # noqa: B006
    scale: Annotated[
        str, typer.Option(help="Scale: test, default, seed, a number, or a scale factor (sf1).")
    ] = "default",
    iterations: Annotated[int, typer.Option(help="How often each query runs.")] = 6,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Run directory: new or empty."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Also write the table to this file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what each query of a suite does, reads, shuffles and takes, and when it is warm."""
    from pyrometer.characterise.queries import characterise as analyse
    from pyrometer.store import Run
    from pyrometer.store.remote.opened import place_of
    from pyrometer.workloads import custom, registry

    if table is not None and not table.absolute().parent.is_dir():
        raise UsageError(f"{table}: no such folder", f"mkdir -p {table.parent}")
    # A name means the workload even if there is such a folder: ./tpch means the folder.
    path = place_of(what)
    if what in registry.entries() or not path.exists() or custom.workload(what):
        path = _run(what, setting, scale, iterations, output)
    elif given := typed(context, "setting", "scale", "iterations", "output"):
        raise UsageError(f"{given[0]} is for a workload to run: {what} has run", "leave it out")
    with Run.open(path) as opened:
        analysis = analyse(opened)
    if table is not None:
        write_csv(analysis, table)
    _print(human(as_json), analysis)
    print_breakdown(human(as_json), analysis)
    if as_json:
        emit_json(analysis)


def _run(name: str, settings: list[str], scale: str, iterations: int, output: Path | None) -> Path:
    from pyrometer.cli.measure.run import make_trial
    from pyrometer.orchestrator import run as orchestrator
    from pyrometer.terminal.console import Progress
    from pyrometer.workloads import registry

    if registry.get(name).engine == "spark" and not any(
        one.startswith(VECTORED) for one in settings
    ):
        settings = [*settings, f"{VECTORED}=false"]
    # The iterations show when a query is warm: none is excluded beforehand.
    trial = make_trial([name], False, settings, iterations, "0", "light", scale, output)
    with Progress(trial) as progress:
        outcome = orchestrator.run(trial, progress)
    manifest = outcome.record.manifest
    if manifest.state != "finished":
        raise WorkloadError(
            f"{name} {manifest.ending}", f"pyrometer show {outcome.record.paths.root}"
        )
    return outcome.record.paths.root


def columns(part: Part) -> dict[str, Any]:
    """Give one row of the CSV file: every number in the unit that its column names."""
    elapsed = part.elapsed_ns
    return {
        "query": part.name,
        **{f"sql_{name}": (part.sql or {}).get(name) for name in SQL_FEATURES},
        **part.operators,
        **part.model_dump(
            include={
                "input_bytes",
                "shuffle_bytes",
                "shuffle_heavy",
                "stages_count",
                "skipped_stages_count",
                "tasks_count",
                "warmup",
                "warmup_iterations",
            }
        ),
        "elapsed_ns": elapsed.value,
        "elapsed_low_ns": elapsed.low,
        "elapsed_high_ns": elapsed.high,
        "elapsed_n": elapsed.n,
        "times_ns": " ".join(map(str, part.times_ns)),
        **breakdown_columns(part),
    }


def write_csv(analysis: Characterisation, target: Path) -> None:
    """Write the table through a temporary name.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    rows = [columns(part) for part in analysis.parts]
    text = io.StringIO(newline="")
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, list(names))
    writer.writeheader()
    writer.writerows(rows)
    try:
        with replacing(target) as out:
            out.write(text.getvalue().encode())
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror}") from error


def _print(console: Any, analysis: Characterisation) -> None:
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from pyrometer.core import units

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("query", no_wrap=True)
    known = any(part.sql is not None for part in analysis.parts)
    if known:
        table.add_column("SQL", overflow="fold", min_width=10)
    table.add_column("operators", overflow="fold", min_width=10)
    for title in ("input", "shuffle", "stages/\ntasks"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("time", justify="right")
    table.add_column("warm-up", justify="right", min_width=7)
    for part in analysis.parts:
        counts = [f"{n}{SHORT[name]}" for name, n in part.operators.items() if n]
        table.add_row(
            Text(part.name),
            *([_words(part.sql)] if known else []),
            ", ".join(counts),
            _size(part.input_bytes),
            Text(_size(part.shuffle_bytes), style="bold" if part.shuffle_heavy else ""),
            "?" if part.stages_count is None else f"{part.stages_count}/{part.tasks_count}",
            _time(part),
            part.warmup if part.warmup_iterations is None else str(part.warmup_iterations),
        )
    console.print(table)
    heavy = [part.name for part in analysis.parts if part.shuffle_heavy]
    more = "" if analysis.input_reason else f"; more than input in {', '.join(heavy) or 'none'}"
    console.print(
        f"\n[dim]{units.count(analysis.iterations_count)} iterations; time: mean of the steady"
        f" ones, 95 %. Shuffle: read + written{more}.[/]"
    )
    if analysis.input_reason:
        console.print(f"[yellow]input unknown:[/] {escape(analysis.input_reason)}")
    doubtful: dict[str, list[str]] = {}
    for part in analysis.parts:
        for doubt in part.doubts:
            doubtful.setdefault(doubt, []).append(part.name)
    for doubt, names in doubtful.items():
        console.print(f"[yellow]{escape(doubt)}:[/] {escape(', '.join(names))}")


def _words(counts: dict[str, int] | None) -> str:
    if counts is None:
        return "?"
    return ", ".join(f"{n}{SQL_FEATURES[name]}" for name, n in counts.items() if n)


def _size(value: int | None) -> str:
    from pyrometer.core import units

    return "?" if value is None else units.size(value)


def _time(part: Part) -> str:
    from pyrometer.core import units

    found = part.elapsed_ns
    if found.value is None:
        return "?"
    if found.low is None:
        return units.duration(found.value)
    return f"{units.duration(found.value)} ± {units.duration(found.value - found.low)}"
