"""Comparisons in the terminal: verdicts, effects, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyrometer.terminal.drawing import COLOURS, safe

if TYPE_CHECKING:
    from pyrometer.core.doubt import Doubt
    from pyrometer.core.estimate import Estimate
    from pyrometer.statistics.treatments import CompareReport, PairReport


MANY_PAIRS = 20
"""Up to this number, all pairs are listed, whatever their verdict."""


LONG_NAME = 24
"""Characters; treatments with longer names are listed with numbers, and tables have the numbers."""


def show(console: Any, report: CompareReport) -> None:
    """Print treatments, pairs with their verdicts, and doubts."""
    show_comparison(console, report, report.what)
    show_welch(console, report)
    show_doubts(console, report.doubts)


def show_doubts(console: Any, doubts: Sequence[Doubt]) -> None:
    """Print doubts, each with what to do."""
    for doubt in doubts:
        severity = f"[{COLOURS[doubt.severity]}]{doubt.severity}[/]"
        console.print(f"{severity} {safe(doubt.message)} ({doubt.code})")
        if doubt.remedy:
            console.print(f"  → {safe(doubt.remedy)}")


def show_comparison(console: Any, report: CompareReport, what: str) -> None:
    """Print treatments, and pairs with their verdicts."""
    from rich.table import Table
    from rich.text import Text

    unit = "" if report.unit == "as given" else f" {report.unit}"
    numbers = _numbers([one.name for one in report.treatments])
    for name, number in numbers.items():
        console.print(f"{number:>{len(str(len(numbers)))}}  {safe(name)}", soft_wrap=True)
    treatments = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("treatment", "trials", "mean", "95 %"):
        treatments.add_column(title, justify="left" if title == "treatment" else "right")
    for one in report.treatments:
        treatments.add_row(
            Text(str(numbers.get(one.name, one.name))), str(one.mean.n),
            f"{one.mean.value:.5g}{unit}", _interval(one.mean, 1),
        )  # fmt: skip
    console.print(treatments)
    console.print()
    pairs = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("from", "to", "change", "95 %", "p", "verdict"):
        right = title in ("change", "95 %", "p")
        pairs.add_column(
            title, justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    shown = listed(report.pairs)
    for pair in shown:
        pairs.add_row(
            Text(str(numbers.get(pair.a, pair.a))), Text(str(numbers.get(pair.b, pair.b))),
            percent(pair.change.value), _interval(pair.change, 100), _p(pair), _verdict(pair),
        )  # fmt: skip
    if shown:
        console.print(pairs)
    if len(report.pairs) > len(shown):
        undecided = sum(pair.verdict == "cannot tell" for pair in report.pairs)
        console.print(
            f"{len(shown)} of {len(report.pairs)} pairs are listed; of {undecided} it is unknown"
            " whether they differ. All pairs: --json. With one treatment alone: --control"
        )
    console.print(
        f"\n[dim]{safe(what)}; {_design(report)}{_noise(report.pairs)}; the same: within"
        f" ± {100 * report.pairs[0].margin:g} %.[/]"
    )


def show_welch(console: Any, report: CompareReport) -> None:
    """Print Welch's test of the values as given, of the pairs that are listed."""
    from rich.table import Table
    from rich.text import Text

    numbers = _numbers([one.name for one in report.treatments])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("A", "B", "A − B", "95 %", "95 %, % of A", "t", "df", "p"):
        table.add_column(title, justify="left" if title in ("A", "B") else "right", overflow="fold")
    for pair in listed(report.pairs):
        found = pair.welch
        if found is None or found.difference is None:
            continue
        cells = [f"{found.difference:.5g}", found.reason or "", "", "", "", ""]
        if found.interval and found.percent_of_a:
            cells[1:] = [
                "{:.7g} … {:.7g}".format(*found.interval),
                "{:.2f} … {:.2f}".format(*found.percent_of_a),
                f"{found.t:.5g}", f"{found.df:.5g}", f"{found.p:.4g}",
            ]  # fmt: skip
        names = (Text(str(numbers.get(name, name))) for name in (pair.a, pair.b))
        table.add_row(*names, *(cell.replace("-", "−") for cell in cells[:-1]), cells[-1])
    if table.row_count:
        unit = "" if report.unit == "as given" else f", in {report.unit}"
        blocks = ", blocks ignored" if report.design == "blocks" else ""
        console.print(f"\nWelch's test of the values as given{unit}{blocks}; p not adjusted:")
        console.print(table)


def listed(pairs: Sequence[PairReport]) -> list[PairReport]:
    """Return the pairs to list: of many only those with a verdict, by p."""
    if len(pairs) <= MANY_PAIRS:
        return list(pairs)
    decided = [pair for pair in pairs if pair.verdict != "cannot tell"]
    return sorted(decided, key=lambda pair: pair.adjusted_p or pair.p or 0.0)[:MANY_PAIRS]


def _numbers(names: Sequence[str]) -> dict[str, int]:
    """Return numbers for names that are too long for a table; none if all fit."""
    long = max(map(len, names), default=0) > LONG_NAME
    return {name: number for number, name in enumerate(names, 1)} if long else {}


def _design(report: CompareReport) -> str:
    independent = "independent trials (Welch on logarithms)"
    how = "within blocks" if report.design == "blocks" else independent
    many = "; p after Holm" if len(report.pairs) > 1 else ""
    return how + many


def _noise(pairs: Sequence[PairReport]) -> str:
    """Say over how many treatments noise is pooled; nothing where each pair has its own."""
    pooled = [one.noise for one in pairs if one.noise and one.noise.treatments > 2]
    if not pooled:
        return ""
    return f"; noise: pooled over {pooled[0].treatments} treatments, df {pooled[0].df:g}"


def _verdict(pair: PairReport) -> str:
    from pyrometer.statistics.power import ALPHA
    from pyrometer.statistics.welch import NO_VARIATION

    if pair.verdict != "cannot tell":
        return pair.verdict
    words = "cannot tell"
    if pair.p is None and pair.welch is not None and pair.welch.reason == NO_VARIATION:
        return f"{words}: {NO_VARIATION}"
    if pair.p is not None and pair.adjusted_p is not None and pair.p < ALPHA <= pair.adjusted_p:
        return f"{words}: p = {pair.p:.2g} on its own, but it is one of several pairs"
    if pair.detectable is not None:
        words += f": below {effect(pair.detectable)} these trials can show nothing"
    if pair.trials_needed is not None:
        words += f", {100 * pair.margin:g} % takes {pair.trials_needed} trials each"
    return words


def effect(size: float) -> str:
    """Format the size of an effect; from 100 % on as a factor.

    Examples
    --------
    >>> effect(0.031), effect(15.2)
    ('3.1 %', 'a factor of 16')
    """
    return f"{100 * size:.2g} %" if size < 1 else f"a factor of {1 + size:.2g}"


def _p(pair: PairReport) -> str:
    p = pair.adjusted_p if pair.adjusted_p is not None else pair.p
    return "–" if p is None else f"{p:.2g}"


def percent(value: float | None) -> str:
    """Write a relative change."""
    return "–" if value is None else f"{100 * value:+.2f} %".replace("-", "−")


def _interval(one: Estimate, factor: float) -> str:
    if one.low is None or one.high is None:
        return "–"
    if factor == 100:
        return f"{percent(one.low)} … {percent(one.high)}"
    return f"{one.low:.5g} … {one.high:.5g}"
