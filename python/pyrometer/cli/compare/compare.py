"""``pyrometer compare``: whether they differ, by how much, and how sure that is.

``pyrometer compare --csv FILE --suite COLUMN``: treatments over all workloads of a suite.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyrometer.cli.shared.against import SeveralAgainst
from pyrometer.cli.shared.margin import parse_margin
from pyrometer.cli.shared.run_named import run_path
from pyrometer.cli.shared.typed import refuse
from pyrometer.compare.terminal import show, show_doubts
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, human

if TYPE_CHECKING:
    from pyrometer.core.estimate import Estimate
    from pyrometer.statistics.suites import AcrossReport, RankTest
    from pyrometer.statistics.treatments import CompareReport


def compare_suites(
    table: Path,
    value: str,
    treatment: list[str],
    suite: str,
    control: str | None,
    margin: float,
    as_json: bool,
) -> None:
    """Compare the treatments of a CSV file whose column `suite` names the workload of a row."""
    from pyrometer.compare.lists import read_trials
    from pyrometer.statistics.suites import Measured, across

    rows, doubts = read_trials(table, value=value, treatment=treatment, block=suite)
    trials = [Measured(str(workload), name, number) for name, number, workload in rows]
    report = across(trials, what=f"{value} of {table.name}", margin=margin, control=control)
    report.doubts = doubts
    _print(human(as_json), report, suite)
    show_doubts(human(as_json), report.doubts)
    if as_json:
        emit_json(report)


def _print(console: Any, report: AcrossReport, suite: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from pyrometer.compare.terminal import percent

    def ends(one: Estimate) -> str:
        return f"{percent(one.low)} … {percent(one.high)}"

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("from", "to", "geometric mean", "95 %", "95 % of all pairs", "faster", "verdict"):
        table.add_column(title, overflow="fold")
    for pair in report.pairs:
        table.add_row(
            Text(pair.a), Text(pair.b), percent(pair.change.value),
            ends(pair.change), ends(pair.change_of_all),
            f"{pair.faster_count} of {report.workloads_count}", pair.verdict,
        )  # fmt: skip
    console.print(table)
    console.print(
        f"\n{report.what} over {report.workloads_count} values of column {suite}: hierarchical"
        " bootstrap;"
        f" the same: within ± {100 * report.margin:g} %",
        style="dim", markup=False, soft_wrap=True,
    )  # fmt: skip
    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in report.mean_ranks.items())
    console.print(f"mean ranks: {ranks}", markup=False, soft_wrap=True)
    ranked = (("Friedman", report.friedman), ("Quade", report.quade))
    tests = [_tested(name, test) for name, test in ranked if test]
    why = report.reason or "no workload distinguishes the treatments"
    console.print("; ".join(tests) or f"not tested: {why}", markup=False, soft_wrap=True)
    if any(pair.change.low is None for pair in report.pairs):
        console.print(
            "no interval: it takes two trials of each treatment on each workload, and times that"
            " vary",
            soft_wrap=True,
        )
    if report.left_out:
        some = ", ".join(report.left_out[:5])
        console.print(
            f"left out, not run with every treatment: {some}"
            + (f" and {len(report.left_out) - 5} more" if len(report.left_out) > 5 else ""),
            markup=False, soft_wrap=True,
        )  # fmt: skip


def _tested(name: str, test: RankTest) -> str:
    if test.f is None:
        return f"{name}: every workload ranks them alike, p = {test.p:.2g}"
    above, below = test.freedom
    return f"{name}: F({above}, {below}) = {test.f:.3g}, p = {test.p:.2g}"


app = typer.Typer()

MARGIN = "2%"
COLUMNS = ("value", "treatment", "block")
"""Options that name columns of a CSV file."""

EXAMPLES = """\b
Examples:
  pyrometer compare RUN_A RUN_B
  pyrometer compare before.zstd after.zstd --all
  pyrometer compare RUN RUN RUN --against RUN RUN RUN
  pyrometer compare --csv times.csv --value seconds --treatment kernel,heap --control "base, 52"
  pyrometer compare --csv times.csv --value seconds --treatment codec --block block --margin 2%
  pyrometer compare --csv suite.csv --value seconds --treatment jdk --suite query
"""


@app.command(cls=SeveralAgainst, epilog=EXAMPLES)
def compare(
    context: typer.Context,
    run: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN…]",
            parser=run_path,
            help="Two runs, those of side A, or an experiment.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            "--against",
            metavar="RUN…",
            parser=run_path,
            help="The runs of side B.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Compare lists of times: one row per trial, in the order they ran.",
        ),
    ] = None,
    value: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of times in the CSV file.")
    ] = "value",
    treatment: Annotated[
        str,
        typer.Option(metavar="COLUMN,…", help="Columns that name the treatment."),
    ] = "treatment",
    block: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that names a trial's block."),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of workloads: compare across all of them."),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="TREATMENT",
            help="Control treatment: compare the others with it instead of all pairs.",
        ),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Differences below this margin count as no difference. Default: 2%, or the"
            " experiment's.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Of runs: every cause and place, setting and node.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare runs, groups of runs, an experiment or lists of times: change, verdict, causes."""
    from pyrometer.compare.runs import RunsReport
    from pyrometer.compare.runs_terminal import show_runs
    from pyrometer.statistics.treatments import analyse

    least = parse_margin(margin or MARGIN)
    given = [*(run or ()), *(against or ())]
    if table is not None and given:
        raise UsageError("give runs or --csv, not both")
    if table is not None:
        refuse(context, "every", of="runs", where="on --csv FILE")
    if suite is not None:
        if table is None or block is not None:
            raise UsageError("--suite needs --csv and excludes --block")

        compare_suites(table, value, columns_of(treatment), suite, control, least, as_json)
        return
    if table is not None:
        from pyrometer.compare.lists import read_trials
        from pyrometer.statistics.treatments import Trial

        rows, doubts = read_trials(table, value=value, treatment=columns_of(treatment), block=block)
        report = analyse(
            [Trial(*row) for row in rows],
            what=f"{value} of {table.name}", unit="as given", margin=least, control=control,
        )  # fmt: skip
        report.doubts = [*doubts, *report.doubts]
    elif experiments := [path for path in given if _holds_one(path)]:
        refuse(context, *COLUMNS, of="--csv FILE", where="on an experiment")
        refuse(context, "every", of="runs", where="on an experiment")
        report = _of_experiment(experiments, given, control, margin)
    else:
        _check_two_sides(run or [], against or [])
        refuse(context, *COLUMNS, of="--csv FILE", where="on runs")
        refuse(context, "control", of="an experiment and for --csv FILE", where="on runs")
        report = _of_runs(run or [], against or [], least)
    if isinstance(report, RunsReport):
        show_runs(human(as_json), report, every)
    else:
        show(human(as_json), report)
    if as_json:
        emit_json(report)


def columns_of(treatment: str) -> list[str]:
    """Split the columns that name a treatment."""
    return [name.strip() for name in treatment.split(",") if name.strip()]


def _holds_one(path: Path) -> bool:
    from pyrometer.experiments.folder import is_experiment

    return is_experiment(path)


def _of_experiment(
    experiments: list[Path], given: list[Path], control: str | None, margin: str | None
) -> CompareReport:
    from pyrometer.experiments.folder import read_plan
    from pyrometer.experiments.journal import read_journal
    from pyrometer.experiments.judge.analysis import experiment_report

    folder = experiments[0]
    if len(given) > 1:
        raise UsageError(
            f"{folder} is an experiment: compare it alone, or give runs below its trials/",
            f"pyrometer compare {folder}, or give runs below its trials/",
        )
    report = experiment_report(
        read_plan(folder),
        read_journal(folder),
        control=control,
        margin=None if margin is None else parse_margin(margin),
    )
    if report.comparison is None:
        raise UsageError(f"{folder}: {report.reason}", f"pyrometer experiment show {folder}")
    report.comparison.doubts = report.doubts
    return report.comparison


def _check_two_sides(a: list[Path], b: list[Path]) -> None:
    tables = [path for path in (*a, *b) if path.suffix == ".csv"]
    if tables:
        raise UsageError(
            f"{tables[0]} is a CSV file: one row per trial, with a column that names the treatment",
            f"pyrometer compare --csv {tables[0]} --value COLUMN --treatment COLUMN",
        )
    if not a or not (b or len(a) == 2):
        raise UsageError(
            "give two sides to compare",
            "pyrometer compare RUN_A RUN_B, or RUN… --against RUN…, or --csv FILE",
        )


def _of_runs(a: list[Path], b: list[Path], margin: float) -> CompareReport:
    from pyrometer.compare.runs import compare_runs

    return compare_runs(a, b, margin) if b else compare_runs(a[:1], a[1:], margin)
