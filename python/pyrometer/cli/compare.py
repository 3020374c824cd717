"""``pyrometer compare``: whether they differ, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyrometer.cli.common import JsonOption, emit_json, human
from pyrometer.cli.difference import SeveralAgainst
from pyrometer.errors import UsageError

if TYPE_CHECKING:
    from pyrometer.analyse.compare.account import CompareReport, PairReport
    from pyrometer.estimate import Estimate

app = typer.Typer()

MARGIN = "2%"
MANY_PAIRS = 20
"""Pairs that are listed whatever their verdict."""
LONG_NAME = 24
"""Characters; treatments of longer names have numbers where they are compared."""

EXAMPLES = """\b
Examples:
  pyrometer compare RUN_A RUN_B
  pyrometer compare RUN RUN RUN --against RUN RUN RUN
  pyrometer compare --csv times.csv --value seconds --treatment kernel,heap --control "base, 52"
  pyrometer compare --csv times.csv --value seconds --treatment codec --block block --margin 2%
  pyrometer compare --csv suite.csv --value seconds --treatment jdk --suite query
"""


@app.command(cls=SeveralAgainst, epilog=EXAMPLES)
def compare(
    run: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN…]",
            help="Two runs, those of side A, or an experiment.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", metavar="RUN…", help="The runs of side B.", show_default=False),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Compare lists: one row a trial, in order."),
    ] = None,
    value: Annotated[str, typer.Option(metavar="COLUMN", help="Its column of times.")] = "value",
    treatment: Annotated[
        str,
        typer.Option(metavar="COLUMN,…", help="Its columns that name the treatment."),
    ] = "treatment",
    block: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Its column that names the block of a trial."),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Its column of workloads: compare over all of them."),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(metavar="TREATMENT", help="Compare the others with this one, not all pairs."),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Differences below it count as none: 2%, or what an experiment says.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs, groups of runs, an experiment or lists of times: change and verdict."""
    from pyrometer.analyse.compare.account import account

    least = parse_margin(margin or MARGIN)
    if table is not None and (run or against):
        raise UsageError("runs or --csv, not both")
    if suite is not None:
        if table is None or block is not None:
            raise UsageError("--suite goes with --csv, and without --block")
        from pyrometer.cli import compare_suite

        compare_suite.compare(table, value, columns_of(treatment), suite, control, least, as_json)
        return
    if table is not None:
        from pyrometer.analyse.compare.account import Trial
        from pyrometer.store.trials_csv import read_trials

        rows = read_trials(table, value=value, treatment=columns_of(treatment), block=block)
        made = account(
            [Trial(*row) for row in rows],
            what=f"{value} of {table.name}", unit="as given", margin=least, control=control,
        )  # fmt: skip
    elif experiments := [path for path in (*(run or ()), *(against or ())) if _holds_one(path)]:
        made = _of_experiment(experiments, [*(run or ()), *(against or ())], control, margin)
    else:
        made = _of_runs(run or [], against or [], least)
    show(human(as_json), made)
    if as_json:
        emit_json(made)


def columns_of(treatment: str) -> list[str]:
    """Take apart the columns that name a treatment."""
    return [name.strip() for name in treatment.split(",") if name.strip()]


def _holds_one(path: Path) -> bool:
    from pyrometer.store.experiment import is_experiment

    return is_experiment(path)


def _of_experiment(
    experiments: list[Path], given: list[Path], control: str | None, margin: str | None
) -> CompareReport:
    from pyrometer.analyse.experiment import experiment_report
    from pyrometer.store.experiment import read_plan
    from pyrometer.store.journal import read_journal

    folder = experiments[0]
    if len(given) > 1:
        raise UsageError(
            f"{folder} is an experiment: its own treatments are compared, nothing beside it",
            f"pyrometer compare {folder}, or give runs below its trials/",
        )
    made = experiment_report(
        read_plan(folder),
        read_journal(folder),
        control=control,
        margin=None if margin is None else parse_margin(margin),
    )
    if made.comparison is None:
        raise UsageError(f"{folder}: {made.reason}", f"pyrometer experiment show {folder}")
    made.comparison.doubts = made.doubts
    return made.comparison


def _of_runs(a: list[Path], b: list[Path], margin: float) -> CompareReport:
    from pyrometer.analyse.compare.account import account
    from pyrometer.analyse.compare.runs import times_of, trials_of
    from pyrometer.store import Run

    tables = [path for path in (*a, *b) if path.suffix == ".csv"]
    if tables:
        raise UsageError(
            f"{tables[0]} is a CSV file: one row a trial, with a column that names the treatment",
            f"pyrometer compare --csv {tables[0]} --value COLUMN --treatment COLUMN",
        )
    if not b and len(a) == 2:
        a, b = a[:1], a[1:]
    if not a or not b:
        raise UsageError(
            "two sides are needed",
            "pyrometer compare RUN_A RUN_B, or RUN… --against RUN…, or --csv FILE",
        )
    sides = []
    for paths in (a, b):
        times = []
        for path in paths:
            with Run.open(path) as opened:
                times.append(times_of(opened))
        sides.append(times)
    trials, doubts = trials_of(*sides)
    made = account(trials, what="time of an iteration", unit="s", margin=margin)
    # Runs of two sides are given side by side: their order in time is not known.
    made.order.fixed = False
    made.doubts = [*doubts, *(one for one in made.doubts if one.code == "few_trials")]
    return made


def parse_margin(text: str) -> float:
    """Read a margin.

    Raises
    ------
    UsageError
        If it is no percentage that can be one.
    """
    try:
        found = float(text.removesuffix("%")) / 100
    except ValueError:
        found = -1.0
    if not 0 < found < 0.5:
        raise UsageError(f"--margin {text}: a percentage above 0 and below 50", "--margin 2%")
    return found


def show(console: Any, made: CompareReport) -> None:
    """Print treatments, pairs with their verdicts, and doubts."""
    from rich.markup import escape

    show_comparison(console, made, made.what)
    for doubt in made.doubts:
        console.print(f"[yellow]{doubt.severity}[/] {escape(doubt.message)} ({doubt.code})")
        if doubt.remedy:
            console.print(f"  → {escape(doubt.remedy)}")


def show_comparison(console: Any, made: CompareReport, what: str) -> None:
    """Print treatments, and pairs with their verdicts."""
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    unit = "" if made.unit == "as given" else f" {made.unit}"
    numbers = _numbers([one.name for one in made.treatments])
    treatments = Table(box=None, pad_edge=False, header_style="bold")
    for title in ([""] if numbers else []) + ["treatment", "trials", "mean", "95 %"]:
        treatments.add_column(title, justify="left" if title == "treatment" else "right")
    for one in made.treatments:
        number = [str(numbers[one.name])] if numbers else []
        treatments.add_row(
            *number, Text(one.name), str(one.mean.n), f"{one.mean.value:.5g}{unit}",
            _interval(one.mean, 1),
        )  # fmt: skip
    console.print(treatments)
    console.print()
    pairs = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("from", "to", "change", "95 %", "p", "verdict"):
        right = title in ("change", "95 %", "p")
        pairs.add_column(
            title, justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    shown = told_pairs(made.pairs)
    for pair in shown:
        pairs.add_row(
            Text(str(numbers.get(pair.a, pair.a))), Text(str(numbers.get(pair.b, pair.b))),
            percent(pair.change.value), _interval(pair.change, 100), _p(pair), _verdict(pair),
        )  # fmt: skip
    if shown:
        console.print(pairs)
    if len(made.pairs) > len(shown):
        undecided = sum(pair.verdict == "cannot tell" for pair in made.pairs)
        console.print(
            f"{len(shown)} of {len(made.pairs)} pairs are listed; of {undecided} it cannot be told"
            " whether they differ. All pairs: --json. With one treatment alone: --control"
        )
    console.print(
        f"\n[dim]{escape(what)}; {_design(made)}; the same: within"
        f" ± {100 * made.pairs[0].margin:g} %.[/]"
    )


def told_pairs(pairs: Sequence[PairReport]) -> list[PairReport]:
    """Give the pairs that are listed: of many only those with a verdict, the surest first."""
    if len(pairs) <= MANY_PAIRS:
        return list(pairs)
    decided = [pair for pair in pairs if pair.verdict != "cannot tell"]
    return sorted(decided, key=lambda pair: pair.adjusted_p or pair.p or 0.0)[:MANY_PAIRS]


def _numbers(names: Sequence[str]) -> dict[str, int]:
    """Give numbers for pairs of names that are too long for a table; none where names do."""
    long = max(map(len, names), default=0) > LONG_NAME
    return {name: number for number, name in enumerate(names, 1)} if long else {}


def _design(made: CompareReport) -> str:
    how = "within blocks" if made.design == "blocks" else "independent trials (Welch on logarithms)"
    many = "; p after Holm" if len(made.pairs) > 1 else ""
    return how + many


def _verdict(pair: PairReport) -> str:
    from pyrometer.analyse.compare.power import ALPHA

    if pair.verdict != "cannot tell":
        return pair.verdict
    words = "cannot tell"
    if pair.p is not None and pair.adjusted_p is not None and pair.p < ALPHA <= pair.adjusted_p:
        return f"{words}: alone p = {pair.p:.2g}, but it is one of several pairs"
    if pair.detectable is not None:
        words += f": below {effect(pair.detectable)} these trials see nothing"
    if pair.trials_needed is not None:
        words += f", {100 * pair.margin:g} % takes {pair.trials_needed} trials each"
    return words


def effect(size: float) -> str:
    """Write the size of an effect; beyond the double as a factor.

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
