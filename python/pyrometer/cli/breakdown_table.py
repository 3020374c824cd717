"""CPU by component of each query of a suite, as a table and as columns of a CSV file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from pyrometer.analyse.characterise import Characterisation, Part
    from pyrometer.analyse.model import BreakdownRow


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


def print_breakdown(console: Any, made: Characterisation) -> None:
    """Print a table of shares, or why there is none."""
    from rich.markup import escape

    found = [(part.name, part.breakdown) for part in made.parts if part.breakdown]
    if not found:
        if made.breakdown_reason:
            console.print(f"[yellow]CPU by component unknown:[/] {escape(made.breakdown_reason)}")
        return
    console.print("\n[bold]CPU of all threads by what ran, % of samples[/]")
    console.print(_table([(name, b.components) for name, b in found]))
    console.print("\n[bold]The Java part by what it worked for, %[/]")
    console.print(_table([(name, b.java) for name, b in found]))
    widest = max(
        (row.share.high - row.share.low) / 2
        for _, one in found
        for row in one.components
        if row.share.high is not None and row.share.low is not None
    )
    console.print(f"[dim]good to ± {100 * widest:.1f} points or better; intervals: --json[/]")


def _table(rows: list[tuple[str, list[BreakdownRow]]]) -> Table:
    """Make a table of shares; a column that has nowhere one per cent is left out."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    made.add_column("query", no_wrap=True)
    columns = zip(*(shares for _, shares in rows), strict=True)
    used = [n for n, of in enumerate(columns) if any((row.share.value or 0) >= 0.01 for row in of)]
    for n in used:
        made.add_column(rows[0][1][n].name.replace(" ", "\n"), justify="right")
    for name, shares in rows:
        made.add_row(name, *(_percent(shares[n].share.value) for n in used))
    return made


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}"
