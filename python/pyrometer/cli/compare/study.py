"""``pyrometer study``: published tables and figures, compared with our runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyrometer.cli.shared.endings import ending_with
from pyrometer.cli.shared.run_settings import parse_settings
from pyrometer.cli.shared.typed import refuse
from pyrometer.terminal.console import JsonOption, emit_json, human

if TYPE_CHECKING:
    from pyrometer.core.estimate import Estimate
    from pyrometer.experiments.run.calibrate import Knob
    from pyrometer.experiments.studies.evidence import EvidenceReport
    from pyrometer.experiments.studies.experiments import PlannedExperiment
    from pyrometer.experiments.studies.schema import (
        Comparison,
        StudyExperimentFacts,
        StudyReport,
    )
    from pyrometer.statistics.welch import WelchAsGiven


app = typer.Typer(
    help="Reproduce published tables and figures, and compare with the published values."
)

PAGE = "study.html"

_AGREES = {True: "[green]yes[/]", False: "[red]no[/]", None: "[dim]–[/]"}
_MARK = {True: " [green]✓[/]", False: " [red]✗[/]", None: ""}


@app.callback(no_args_is_help=True)
def study() -> None:
    """Reproduce published tables and figures, and compare with the published values."""


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the studies: what was published, and how many runs reproduce it."""
    from rich.table import Table

    from pyrometer.experiments.studies.plan import known_studies, read_study

    found = {name: read_study(name) for name in known_studies()}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("study", "what", "runs", "source"):
        table.add_column(title, no_wrap=title == "study")
    for name, one in found.items():
        table.add_row(name, one.title, ", ".join((*one.runs, *one.experiments)), one.source)
    human(as_json).print(table)
    if as_json:
        emit_json(
            {
                "schema": "pyrometer/studies/1",
                "studies": [{"name": n, **one.model_dump(mode="json")} for n, one in found.items()],
            }
        )


@app.command(no_args_is_help=True)
def run(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME|FILE", help="A listed study, or a study file."),
    ],
    scale: Annotated[
        str | None,
        typer.Option(
            help="Scale for all runs: test, default, seed, or a number. Default: each run's own."
        ),
    ] = None,
    only: Annotated[
        list[str], typer.Option("--only", metavar="RUN", help="Only this run; repeatable.")
    ] = [],  # noqa: B006
    setting: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="RUN.FACTOR=LEVEL",
            help="Set a factor's level for one run or experiment; repeatable.",
        ),
    ] = [],  # noqa: B006
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Folder of the runs."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Only make the runs that are missing in the folder.")
    ] = False,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="Blocks of its experiments (default: their own).")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be run, and what cannot; run nothing."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a study's experiments, and compare the results with what was published.

    The comparison is printed, and written as a page into the folder of the runs.

    Exit code: 1 if a run failed or could not be made; whether values agree does not change it.
    """
    from pyrometer.experiments.judge.screen import ExperimentScreen
    from pyrometer.experiments.studies.experiments import (
        check_experiments,
        planned_experiments,
        run_experiments,
    )
    from pyrometer.experiments.studies.page import write_study
    from pyrometer.experiments.studies.plan import read_study, study_file
    from pyrometer.experiments.studies.run import plan_runs, run_study
    from pyrometer.terminal.console import Progress

    found = read_study(name)
    if not found.experiments:
        refuse(context, "blocks", of="experiments", where=f"on {name}, which has only runs")
    folder = output or Path("pyrometer-runs") / f"study-{Path(name).stem}"
    levels = parse_settings(setting)
    wanted = plan_runs(found, folder, scale=scale, only=tuple(only), levels=levels)
    check_experiments(found, study_file(name), only=tuple(only), scale=scale, levels=levels)
    if dry_run:
        planned = planned_experiments(
            found, study_file(name), folder, only=tuple(only), scale=scale, blocks=blocks,
            levels=levels,
        )  # fmt: skip
        _print_plan(human(as_json), [one.name for one in wanted], planned)
        if as_json:
            emit_json(
                {
                    "schema": "pyrometer/study-plan/1",
                    "study": Path(name).stem,
                    "runs": [one.name for one in wanted],
                    "experiments": [one.model_dump(mode="json") for one in planned],
                }
            )
        return
    report = run_study(
        Path(name).stem, found, wanted, folder, resume=resume, watch=Progress,
        experiments=lambda stopped: run_experiments(
            found, study_file(name), folder, only=tuple(only), scale=scale, blocks=blocks,
            levels=levels, stopped=stopped, screen=ExperimentScreen, find_knobs=_find_knobs,
        ),
    )  # fmt: skip
    ran = [one for one in report.runs if one.run_dir]
    tried = [one for one in report.experiments if one.folder]
    # What needs something that only the user has is left out, which is no failure.
    asked = {one.name for one in wanted if one.trial is None}
    failed = any(one.reason for one in report.runs if one.name not in asked)
    failed = failed or any(one.reason for one in report.experiments)
    page = write_study(report, folder / PAGE) if folder.is_dir() else None
    with ending_with(typer.Exit(1) if failed or not (ran or tried) else None):
        _print(human(as_json), report)
        if page is not None:
            human(as_json).print(f"page: {page}", soft_wrap=True, markup=False)
        if as_json:
            emit_json(report)


def _find_knobs(file: Path, folder: Path) -> list[Knob]:
    """Run pilots of memory.condition; each is shown, as of ``experiment calibrate``."""
    from pyrometer.experiments.run.calibrate import calibrate
    from pyrometer.experiments.studies.experiments import free_folder
    from pyrometer.terminal.console import Progress, err

    def say(text: str) -> None:
        err().print(f"pilot: {text}", markup=False, soft_wrap=True)

    folder.mkdir(exist_ok=True)
    return calibrate(file, free_folder(folder / "pilot"), Progress, say)


def _print(console: Any, report: StudyReport) -> None:
    from rich.markup import escape
    from rich.table import Table

    console.print(f"[bold]{escape(report.title)}[/]\n{escape(report.source)}\n")
    console.print(f"Published on: {escape(report.machine)}")
    for difference in report.differences:
        console.print(f"  differs here: {escape(difference)}")
    if report.values:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("what", "place", "published", "ours", "agrees", "note"):
            table.add_column(title)
        for one in report.values:
            table.add_row(
                escape(one.what),
                escape(one.place),
                _published(one) + (f" [dim]({escape(one.derived)})[/]" if one.derived else ""),
                escape(_ours(one.ours, one.unit)),
                _AGREES[one.agrees],
                escape(one.reason or one.note or ""),
            )
        console.print()
        console.print(table)
    if report.effects:
        _print_effects(console, report)
    for name in dict.fromkeys(one.experiment for one in report.evidence):
        _print_evidence(console, [one for one in report.evidence if one.experiment == name])
    for title, cells in report.tables.items():
        console.print(f"\n[bold]{escape(title)}[/]: published | ours [dim](agree: ✓ ✗)[/]")
        _print_table(console, cells)
    for fact in report.runs:
        where = f"[red]{escape(fact.reason)}[/]" if fact.reason else ""
        console.print(f"[dim]run {fact.name}:[/] {fact.run_dir or ''} {where}", soft_wrap=True)
    for experiment in report.experiments:
        _print_experiment(console, experiment)


def _print_effects(console: Any, report: StudyReport) -> None:
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from pyrometer.compare.terminal import percent

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("what", "place", "published", "ours", "Welch", "same way", "note"):
        table.add_column(title, overflow="fold")
    for one in report.effects:
        ends = one.published if isinstance(one.published, tuple) else (one.published,)
        ours = one.ours and (
            f"{percent(one.ours.value)} ({percent(one.ours.low)} … {percent(one.ours.high)})"
            + (f", {one.verdict}" if one.verdict else "")
        )
        table.add_row(
            Text(one.what), Text(one.place), " to ".join(map(percent, ends)), ours or "–",
            _welch(one.welch), _AGREES[one.agrees],
            Text(one.reason or ("times: not claimed" if one.withheld else one.note or "")),
        )  # fmt: skip
    console.print()
    console.print(table)
    for why in dict.fromkeys(one.withheld for one in report.effects if one.withheld):
        console.print(f"[yellow]times: not claimed[/]: {escape(why)}", soft_wrap=True)


def _welch(found: WelchAsGiven | None) -> str:
    """Write B less A in per cent of A's mean, as the test of the times as they are has it."""
    if found is None or found.percent_of_a is None:
        return "–"
    low, high = found.percent_of_a
    return f"[{-high:.2f}, {-low:.2f}] %"


def _print_evidence(console: Any, found: list[EvidenceReport]) -> None:
    """Print what trials show beside times: a table by treatment, then what differs."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("treatment", overflow="fold")
    for one in found:
        unit = "" if one.unit in ("count", "ratio") else f" ({one.unit})"
        table.add_column(f"{one.what}{unit}", overflow="fold")
    names = [one.treatment for one in found[0].treatments]
    for at, name in enumerate(names):
        table.add_row(Text(name), *(_ours(one.treatments[at].mean, one.unit) for one in found))
    console.print(f"\n[bold]What trials of {found[0].experiment} show beside times[/]")
    console.print(table)
    for one in found:
        reasons = {its.reason for its in one.treatments if its.reason and not its.values}
        if len(reasons) == 1 and not any(its.values for its in one.treatments):
            console.print(f"  {one.what}: {reasons.pop()}", markup=False, soft_wrap=True)
        for pair in one.pairs:
            if pair.difference.value is not None:
                p = "" if pair.p is None else f", p = {pair.p:.2g} (Welch)"
                console.print(
                    f"  {one.what}: {pair.a} → {pair.b}: {_ours(pair.difference, one.unit)}{p}",
                    markup=False, soft_wrap=True,
                )  # fmt: skip


def _print_plan(console: Any, runs: list[str], planned: list[PlannedExperiment]) -> None:
    """Print what would be run."""
    if runs:
        console.print(f"runs: {', '.join(runs)}", markup=False, soft_wrap=True)
    for one in planned:
        what = (
            f"{one.workload}, scale {one.scale}: {len(one.treatments)} treatments × {one.blocks}"
            f" blocks = {one.trials_count} trials, in random order"
        )
        console.print(
            f"experiment {one.name}: {what if one.treatments else 'cannot be run here'}"
            + (", each in a fresh machine" if one.machines else ""),
            markup=False, soft_wrap=True,
        )  # fmt: skip
        for text in (*one.notes, *(f"left out {n}: {why}" for n, why in one.left_out.items())):
            console.print(f"  {text}", markup=False, soft_wrap=True)


def _print_experiment(console: Any, one: StudyExperimentFacts) -> None:
    from rich.markup import escape

    done = "" if one.trials_count is None else f"{one.done_count} of {one.trials_count} trials"
    where = f"[red]{escape(one.reason)}[/]" if one.reason else ""
    console.print(
        f"[dim]experiment {one.name}:[/] {one.folder or ''} {done} {where}", soft_wrap=True
    )
    for condition in one.conditions:
        shares = ", ".join(f"{100 * ratio:.1f} %" for ratio in sorted(condition.ratios))
        console.print(
            f"  {condition.treatment}: {condition.condition} reached in"
            f" {condition.reached_count} of {condition.trials_count} trials ({shares};"
            f" {100 * condition.wanted_ratio:g} % wanted)",
            markup=False, soft_wrap=True,
        )  # fmt: skip
    reasons: dict[str, list[str]] = {}
    for treatment, reason in one.left_out.items():
        reasons.setdefault(reason, []).append(treatment)
    for reason, of in reasons.items():
        more = f" and {len(of) - 2} more" if len(of) > 2 else ""
        console.print(
            f"  [yellow]left out[/] {escape('; '.join(of[:2]))}{more}: {escape(reason)}",
            soft_wrap=True,
        )


def _print_table(console: Any, cells: list[Comparison]) -> None:
    from rich.markup import escape
    from rich.table import Table

    texts = [one for one in cells if one.unit == "text"]
    numbers = [one for one in cells if one.unit != "text"]
    for group in (numbers, texts):
        if not group:
            continue
        names = list(dict.fromkeys(one.what for one in group))
        by = {(one.row, one.what): one for one in group}
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("query", no_wrap=True)
        for name in names:
            unit = group[[one.what for one in group].index(name)].unit
            table.add_column(name if unit in ("text", "truth", "count") else f"{name} ({unit})")
        for row in dict.fromkeys(one.row for one in group):
            table.add_row(
                row,
                *(
                    f"{_published(by[row, name])} | {escape(_cell(by[row, name]))}"
                    f"{_MARK[by[row, name].agrees]}"
                    for name in names
                ),
            )
        console.print(table)


def _published(one: Comparison) -> str:
    from rich.markup import escape

    value = one.published
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return escape(value)
    unit = "" if one.row is not None or one.unit in ("ratio", "count") else f" {one.unit}"
    return (" to ".join(map(_plain, value)) if isinstance(value, tuple) else _plain(value)) + unit


def _plain(value: float) -> str:
    return f"{value:.15g}"


def _cell(one: Comparison) -> str:
    if isinstance(one.ours_text, bool):
        return "yes" if one.ours_text else "no"
    if one.ours_text is not None:
        return one.ours_text or "none"
    if one.ours is None:
        return f"– ({one.reason})" if one.reason else "–"
    return _ours(one.ours, "ratio" if one.unit != "count" else "count")


def _ours(found: Estimate | None, unit: str) -> str:
    from pyrometer.core import units

    if found is None or found.value is None:
        return "–"
    if unit == "count":
        return units.digits(found.value) if found.value % 1 else f"{found.value:.0f}"
    after = "" if unit == "ratio" else f" {unit}"
    if found.low is None or found.high is None:
        return units.digits(found.value) + after
    low, high = units.digits(found.low), units.digits(found.high)
    return f"{units.digits(found.value)} ({low}, {high}){after}"
