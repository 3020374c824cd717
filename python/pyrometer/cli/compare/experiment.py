"""The verb ``pyrometer experiment``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyrometer.cli.compare import bisect, calibrate, history
from pyrometer.cli.shared.corun_report import show_corun
from pyrometer.cli.shared.endings import ended_by_interrupt, ending_with
from pyrometer.cli.shared.tuning import resumed_by
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human, program

if TYPE_CHECKING:
    from pyrometer.experiments.folder import Plan
    from pyrometer.experiments.judge.schema import ExperimentReport


app = typer.Typer(help="Plan, run, resume and judge experiments.")

NO_FILES = "it compares no treatments with a control, and has no table of them"
RULE = '--fail-if "regression(wall) > 3%"'

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="An experiment file (YAML).")]
DirArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of an experiment.")]
SeedOption = Annotated[
    int | None, typer.Option(min=0, help="Seed of the random order (default: the file's).")
]
BlocksOption = Annotated[
    int | None, typer.Option(min=1, help="Number of blocks (default: the file's).")
]
PilotOption = Annotated[
    list[Path],
    typer.Option("--pilot", metavar="DIR", help="Run or experiment to forecast from; repeatable."),
]
FailOption = Annotated[
    str | None,
    typer.Option("--fail-if", metavar="RULE", help='Exit code 1 if "regression(wall) > 3%".'),
]
JunitOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the comparisons as JUnit XML.")
]
CsvOption = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Write the trials as CSV.")
]
ControlOption = Annotated[
    str | None,
    typer.Option(
        metavar="TREATMENT",
        help="Control treatment, by name or number.",
    ),
]


@app.callback(no_args_is_help=True)
def experiment() -> None:
    """Plan, run, resume and judge experiments: docs/how-to/experiment.md."""


@app.command(no_args_is_help=True)
def new(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the experiment, or of its file: NAME.yaml."),
    ],
    workload: Annotated[str, typer.Option(help="Workload of the experiment.")] = "parquet-scan",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Output file. Default: NAME.yaml."),
    ] = None,
) -> None:
    """Write a commented experiment file to begin with."""
    from pyrometer.experiments.plan.source import write_skeleton
    from pyrometer.workloads import registry

    registry.get(workload)
    file = Path(name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    path = write_skeleton(file.stem, workload, output or file)
    human(False).print(f"{path}\npyrometer experiment plan {path}", markup=False, soft_wrap=True)


@app.command(no_args_is_help=True)
def check(file: FileArgument, as_json: JsonOption = False) -> None:
    """Check an experiment file: keys, factors, levels, constraints, and what it extends."""
    from pyrometer.experiments.run.planned import checked

    source, treatments = checked(file)
    human(as_json).print(
        f"{file}: {len(treatments.run)} treatments, {source.experiment.blocks} blocks;"
        f" {len(treatments.left_out)} left out",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    for one in treatments.left_out:
        human(as_json).print(f"  {one.name}: {one.reason}", markup=False, soft_wrap=True)
    if as_json:
        emit_json(
            {
                "schema": "pyrometer/experiment-check/1",
                "files": [str(path) for path in source.files],
                "treatments": list(treatments.run),
                "left_out": [vars(one) for one in treatments.left_out],
                "experiment": source.experiment.model_dump(mode="json"),
            }
        )


@app.command(no_args_is_help=True)
def plan(
    file: FileArgument,
    pilot: PilotOption = [],  # noqa: B006
    seed: SeedOption = None,
    blocks: BlocksOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show treatments, their order, how long it takes, and how small an effect can be seen."""
    from pyrometer.experiments.run.planned import plan_of

    show_plan(plan_of(file, Path.cwd(), seed=seed, blocks=blocks), pilot, as_json=as_json)


@app.command(no_args_is_help=True)
def run(
    file: FileArgument,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Output folder: new or empty."),
    ] = None,
    pilot: PilotOption = [],  # noqa: B006
    seed: SeedOption = None,
    blocks: BlocksOption = None,
    fail_if: FailOption = None,
    junit: JunitOption = None,
    table: CsvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment: every trial in fresh processes, in random order within blocks.

    It may be killed at any moment; ``experiment resume`` continues.

    Exit code: 1 if it was interrupted, no treatment finished, or --fail-if says so.
    """
    from pyrometer.experiments.judge import terminal
    from pyrometer.experiments.run.loop import begin
    from pyrometer.experiments.run.planned import plan_of

    root = output or Path("pyrometer-runs") / f"experiment-{file.stem}"
    _rule(fail_if, junit)
    plan = plan_of(file, root, seed=seed, blocks=blocks)
    if fail_if is not None and plan.baseline is None:
        raise UsageError(
            "--fail-if needs a baseline in the experiment file", "add baseline: {FACTOR: LEVEL}"
        )
    from pyrometer.cli.shared.forecasts import forecast_of

    found = forecast_of(plan, pilot)
    begin(root, plan)
    terminal.plan(err(), plan, found, brief=True)
    _go_on(root, retry=False, fail_if=fail_if, junit=junit, table=table, as_json=as_json)


@app.command(no_args_is_help=True)
def resume(
    folder: DirArgument,
    retry: Annotated[
        bool, typer.Option("--retry", help="Retry failed and unfinished trials.")
    ] = False,
    fail_if: FailOption = None,
    junit: JunitOption = None,
    table: CsvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Resume an experiment that was interrupted or killed: same order, no trial twice."""
    if then := resumed_by(folder):
        # Alone it would go on without the tuning's check of results, and without its budget.
        raise UsageError(f"{folder} is part of a tuning", then)
    _check_outputs(folder, fail_if=fail_if, junit=junit, table=table)
    _go_on(folder, retry=retry, fail_if=fail_if, junit=junit, table=table, as_json=as_json)


@app.command(no_args_is_help=True)
def show(
    folder: DirArgument,
    control: ControlOption = None,
    margin: Annotated[
        str | None, typer.Option(metavar="PERCENT", help="Instead of the file's.")
    ] = None,
    fail_if: FailOption = None,
    junit: JunitOption = None,
    table: CsvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the treatments of an experiment, finished or not, and say what to doubt.

    Exit code: 1 if --fail-if says so.
    """
    from pyrometer.experiments.folder import read_plan

    if read_plan(folder).kind == "bisect":
        if any(one is not None for one in (control, margin, fail_if, junit, table)):
            raise UsageError(f"{folder} is a bisection: {NO_FILES}", "--json")
        bisect.show(folder, as_json=as_json)
        return
    _rule(fail_if, junit)
    report = judge(folder, control, margin)
    _out(folder, report, fail_if=fail_if, junit=junit, table=table, as_json=as_json)


app.command(epilog=history.EXAMPLES)(history.history)
app.command(epilog=calibrate.EXAMPLES, no_args_is_help=True)(calibrate.calibrate)
app.command(epilog=bisect.EXAMPLES, no_args_is_help=True)(bisect.bisect)


def judge(folder: Path, control: str | None, margin: str | None) -> ExperimentReport:
    """Read an experiment's folder and compare its treatments."""
    from pyrometer.cli.shared.margin import parse_margin
    from pyrometer.experiments.folder import read_plan
    from pyrometer.experiments.journal import read_journal
    from pyrometer.experiments.judge.analysis import experiment_report

    return experiment_report(
        read_plan(folder),
        read_journal(folder),
        control=control,
        margin=None if margin is None else parse_margin(margin),
    )


def show_plan(plan: Plan, pilots: list[Path], *, as_json: bool) -> None:
    """Show what would be run, how long it takes, and which effects it would show."""
    from pyrometer.cli.shared.forecasts import forecast_of
    from pyrometer.experiments.judge import terminal

    found = forecast_of(plan, pilots)
    terminal.plan(human(as_json), plan, found)
    if as_json:
        emit_json(
            {
                "schema": "pyrometer/experiment-plan/1",
                "plan": plan.model_dump(mode="json", by_alias=True),
                "forecast": found.model_dump(mode="json"),
            }
        )


def _go_on(root: Path, *, retry: bool, **out: Any) -> None:
    from pyrometer.experiments.folder import read_plan

    carry(root, retry=retry)
    kind = read_plan(root).kind
    if kind == "corun":
        show_corun(root, as_json=out["as_json"])
        return
    if kind == "bisect":
        bisect.show(root, as_json=out["as_json"])
        return
    report = judge(root, None, None)
    with ending_with(None if any(one.values for one in report.treatments) else typer.Exit(1)):
        _out(root, report, **out)


def carry(root: Path, *, retry: bool) -> None:
    """Run the remaining trials of an experiment; progress is shown on the screen."""
    from pyrometer.experiments.folder import read_plan
    from pyrometer.experiments.judge.screen import ExperimentScreen
    from pyrometer.experiments.run.loop import carry_out

    if read_plan(root).kind == "bisect":
        bisect.carry(root, retry=retry)
        return
    kept = f"finished trials are kept. Continue with: {program()} experiment resume {root}"
    with ended_by_interrupt(kept), ExperimentScreen() as screen:
        carry_out(root, screen=screen, retry=retry)


def _out(
    folder: Path,
    report: ExperimentReport,
    *,
    fail_if: str | None,
    junit: Path | None,
    table: Path | None,
    as_json: bool,
) -> None:
    from pyrometer.experiments.folder import read_plan
    from pyrometer.experiments.journal import read_journal
    from pyrometer.experiments.judge import terminal
    from pyrometer.experiments.judge.files import judged, not_compared, write_csv, write_junit

    rule = _rule(fail_if, junit)
    pairs = judged(report, rule) if rule is not None else []
    if table is not None:
        write_csv(read_plan(folder), read_journal(folder), table)
    if junit is not None:
        write_junit(report, rule, pairs, junit)
    failed = {one.pair.b: one.summary for one in pairs if one.failed}
    if rule is not None:
        failed |= not_compared(report)
    console = human(as_json)
    with ending_with(typer.Exit(1) if failed else None):
        terminal.report(console, report, folder, resumed_by(folder) or "")
        for name, why in failed.items():
            console.print(f"fails {fail_if}: {name}: {why}", markup=False, soft_wrap=True)
        if as_json:
            document = report.model_dump(mode="json", by_alias=True)
            document["fail_if"] = rule and {
                "rule": rule.text,
                "failed": list(failed),
                "cannot_tell": [one.pair.b for one in pairs if one.failed is None],
            }
            emit_json(document)


def _rule(text: str | None, junit: Path | None) -> Any:
    """Read ``--fail-if``, which ``--junit`` needs."""
    from pyrometer.experiments.judge.files import parse_rule

    if junit is not None and text is None:
        raise UsageError("--junit needs --fail-if", RULE)
    return None if text is None else parse_rule(text)


def _check_outputs(
    root: Path, *, fail_if: str | None, junit: Path | None, table: Path | None
) -> None:
    """Refuse, before a trial is run, what cannot be judged or written after the last one."""
    from pyrometer.experiments.folder import read_plan

    rule, plan = _rule(fail_if, junit), read_plan(root)
    whole = {"bisect": "a bisection", "corun": "of workloads that run together"}.get(plan.kind)
    if whole is not None and any(one is not None for one in (fail_if, junit, table)):
        raise UsageError(f"{root} is {whole}: {NO_FILES}", f"{program()} experiment resume {root}")
    if rule is not None and plan.baseline is None and whole is None:
        raise UsageError(
            f"{root} was planned without a baseline: --fail-if has nothing to compare with",
            f"{program()} experiment resume {root}, then"
            f" {program()} experiment show {root} --control TREATMENT {RULE}",
        )
