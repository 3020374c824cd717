"""The report on a search as text for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from pyrometer.experiments.bisect.words import chance, percent
from pyrometer.terminal.drawing import doubts

if TYPE_CHECKING:
    from pyrometer.experiments.bisect.report import BisectionReport


def show(console: Any, report: BisectionReport, folder: Path) -> None:
    """Print the verdict, every level with its trials and probability, and doubts."""
    from rich.table import Table
    from rich.text import Text

    console.print(f"[bold]{escape(report.verdict)}[/]\n", soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in (report.over, "trials", "mean", "first slower"):
        table.add_column(title)
    for one in report.levels:
        mean = "–" if one.mean.value is None else f"{one.mean.value:.4g} s"
        likely = chance(one.probability) if one.probability >= 0.0005 else "–"
        together = f" with {', '.join(one.together)}" if one.together else ""
        why = "" if one.reason is None else f"  cannot run: {one.reason}"
        if late := one.ends.get("timeout"):
            why += f"  out of time: {late} of {sum(one.ends.values())} trials"
        table.add_row(Text(one.level), str(len(one.values)), mean, Text(f"{likely}{together}{why}"))
    console.print(table)
    noise = "not known" if report.noise_sd is None else percent(report.noise_sd)
    console.print(
        f"no level slower: {chance(report.none_probability)}; noise of a trial: {noise};"
        f" seed {report.seed} ({folder})",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    doubts(console, report.doubts)
    if report.status == "undecided":
        more = max(report.most_trials, report.trials_count) + 20
        console.print(
            f"pyrometer experiment bisect {folder} --trials {more}", markup=False, soft_wrap=True
        )
