"""``pyrometer compare --csv FILE --suite COLUMN``: treatments over all workloads of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrometer.cli.common import emit_json, human

if TYPE_CHECKING:
    from pyrometer.analyse.compare.across import AcrossReport, RankTest
    from pyrometer.estimate import Estimate


def compare(
    table: Path,
    value: str,
    treatment: list[str],
    suite: str,
    control: str | None,
    margin: float,
    as_json: bool,
) -> None:
    """Compare the treatments of a CSV file whose column `suite` names the workload of a row."""
    from pyrometer.analyse.compare.across import Measured, across
    from pyrometer.store.trials_csv import read_trials

    rows = read_trials(table, value=value, treatment=treatment, block=suite)
    trials = [Measured(str(workload), name, number) for name, number, workload in rows]
    made = across(trials, what=f"{value} of {table.name}", margin=margin, control=control)
    _print(human(as_json), made, suite)
    if as_json:
        emit_json(made)


def _print(console: Any, made: AcrossReport, suite: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from pyrometer.cli.compare import percent

    def ends(one: Estimate) -> str:
        return f"{percent(one.low)} … {percent(one.high)}"

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("from", "to", "geometric mean", "95 %", "95 % of all pairs", "faster", "verdict"):
        table.add_column(title, overflow="fold")
    for pair in made.pairs:
        table.add_row(
            Text(pair.a), Text(pair.b), percent(pair.change.value),
            ends(pair.change), ends(pair.change_of_all),
            f"{pair.faster_count} of {made.workloads_count}", pair.verdict,
        )  # fmt: skip
    console.print(table)
    console.print(
        f"\n{made.what} over {made.workloads_count} of column {suite}: hierarchical bootstrap;"
        f" the same: within ± {100 * made.margin:g} %",
        style="dim", markup=False, soft_wrap=True,
    )  # fmt: skip
    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in made.mean_ranks.items())
    console.print(f"mean ranks: {ranks}", markup=False, soft_wrap=True)
    told = [_tested(n, t) for n, t in (("Friedman", made.friedman), ("Quade", made.quade)) if t]
    why = made.reason or "no workload tells the treatments apart"
    console.print("; ".join(told) or f"not tested: {why}", markup=False, soft_wrap=True)
    if any(pair.change.low is None for pair in made.pairs):
        console.print("no interval: it takes two trials of each treatment on each workload")
    if made.left_out:
        some = ", ".join(made.left_out[:5])
        console.print(
            f"left out, not run with every treatment: {some}"
            + (f" and {len(made.left_out) - 5} more" if len(made.left_out) > 5 else ""),
            markup=False, soft_wrap=True,
        )  # fmt: skip


def _tested(name: str, test: RankTest) -> str:
    if test.f is None:
        return f"{name}: every workload ranks them alike, p = {test.p:.2g}"
    above, below = test.freedom
    return f"{name}: F({above}, {below}) = {test.f:.3g}, p = {test.p:.2g}"
