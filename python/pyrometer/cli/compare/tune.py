"""``pyrometer tune``: the fastest safe configuration, found at least cost and confirmed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pyrometer.cli.compare import deploying, recurring
from pyrometer.cli.shared import tuning as shared
from pyrometer.cli.shared.default_verb import DefaultVerb
from pyrometer.cli.shared.endings import ended_by_interrupt, read_or_not
from pyrometer.cli.shared.run_named import local_path
from pyrometer.cli.shared.typed import typed
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human, program

if TYPE_CHECKING:
    from pyrometer.tune.judge.schema import TuningReport

EXAMPLES = """\b
Examples:
  pyrometer tune sort-text --scale test --budget 12
  pyrometer tune tpch --set query=q05 --space spark-sql+jvm --budget 40min
  pyrometer tune --space jvm --subject-to 'peak_memory < 3g' -- spark-submit my_app.py in out
  pyrometer tune tpch --objective core-seconds --from pyrometer-runs/tpch-0001 --dry-run
  pyrometer tune --check 'diff -r expected out' -- python my_app.py
  pyrometer tune resume pyrometer-runs/tune-tpch
"""

app = typer.Typer(
    cls=DefaultVerb,
    help="Find a faster configuration that is safe, with few runs, and confirm it.",
)

DirArgument = Annotated[
    Path, typer.Argument(metavar="DIR", parser=local_path, help="Folder of a tuning.")
]
OUTSIDE = ("scale", "iterations", "warmup", "fidelities")
"""Options that say nothing to a command."""


@app.callback(no_args_is_help=True, epilog=EXAMPLES)
def tune() -> None:
    """Find a faster configuration that is safe, with few runs, and confirm it.

    ``pyrometer tune WORKLOAD`` is short for ``pyrometer tune start WORKLOAD``.
    """


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def start(
    context: typer.Context,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD | FILE | -- COMMAND…",
            help="A built-in workload, a SQL or Python file, workload.yaml, or after -- a command"
            " as you would type it.",
            show_default=False,
        ),
    ],
    space: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="What may be varied: spark-sql, jvm, layout, data, os, all, several joined by +,"
            " or a file.",
        ),
    ] = "spark-sql",
    objective: Annotated[
        Literal["elapsed", "core-seconds", "cost", "p95", "memory"],
        typer.Option(
            help="What to minimise: time, CPU time, cost (needs --price), the 95th percentile of"
            " iterations (needs --iterations 20), or peak memory."
        ),
    ] = "elapsed",
    conditions: Annotated[
        list[str],
        typer.Option(
            "--subject-to",
            metavar="CONDITION",
            help="What a configuration must fulfil, on elapsed, p95, core_seconds, peak_memory,"
            " executor_memory or cost: 'peak_memory < 3g', 'elapsed < 30s'; repeatable.",
        ),
    ] = [],  # noqa: B006
    budget: Annotated[
        str,
        typer.Option(
            metavar="RUNS|TIME|CORE-TIME",
            help="What it may cost: 25 runs of the job, 40min, or '0.5 core-hours'. About a third"
            " is reserved for the confirmation.",
        ),
    ] = "25",
    scale: Annotated[
        str, typer.Option(help="Scale: test, default, seed, a number, or a scale factor (sf1).")
    ] = "default",
    sources: Annotated[
        list[Path],
        typer.Option(
            "--from",
            metavar="RUN|EXPERIMENT|FINDINGS",
            help="Begin with what is known: findings of a run, trials of an experiment or another"
            " tuning; repeatable.",
        ),
    ] = [],  # noqa: B006
    check: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Command that judges the result of each trial: exit code 0 if it is right."
            " PYROMETER_RUN_DIR, and {run} in the command, give the run directory. Stopped after"
            " 600 s.",
        ),
    ] = None,
    setting: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="FACTOR=LEVEL",
            help="Keep a factor at this level in all trials; repeatable.",
        ),
    ] = [],  # noqa: B006
    iterations: Annotated[
        int, typer.Option(min=1, help="Measured iterations of a trial of a workload.")
    ] = 3,
    warmup: Annotated[str, typer.Option(help="Warm-up iterations: a number, or auto.")] = "auto",
    profile: Annotated[
        str, typer.Option(help="Profile: what is measured in each trial.")
    ] = "light",
    guard: Annotated[
        Literal["wait", "flag", "repeat"],
        typer.Option(
            help="When other processes use the machine: wait until it is calm, flag the trial, or"
            " repeat it."
        ),
    ] = "wait",
    engine: Annotated[
        str,
        typer.Option(help="What chooses trials: own, tpe (Optuna), random, three-knobs, rules."),
    ] = "own",
    fidelities: Annotated[
        list[str],
        typer.Option(
            "--fidelity",
            metavar="KIND",
            help="Cheap stand-ins for a run: scale, iterations, queries; repeatable. auto: those"
            " that the workload allows and that turn out to be cheap and to rank configurations as"
            " the full job does; none: no stand-ins.",
        ),
    ] = [],  # noqa: B006
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|none",
            help="Folder of earlier tunings: those of similar jobs give a warm start, and this"
            " one is saved there. Default: PYROMETER_TUNINGS, or ~/.local/share/pyrometer/tunings.",
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time limit of each trial, including the first: 90s, 20m, 4h. Default: 24h, or the"
            " whole budget if that is a time. Slow configurations are stopped long before.",
        ),
    ] = None,
    margin: Annotated[
        str, typer.Option(metavar="PERCENT", help="Differences below it count as none.")
    ] = "2%",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random choices.")] = None,
    price: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML file with currency, core_hour, gb_hour, for cost."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be varied, and run nothing.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Output folder: new or empty."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search for a faster configuration of a job, then confirm the best one in fresh trials.

    Every trial is a run directory. A tuning may be killed at any moment; `tune resume` continues
    it. A configuration that fails, changes results or breaks a condition is discarded and named;
    one that would not fit into memory is not launched.

    Exit code: 1 if it was interrupted, or the job as it is does not finish; 3 if other programs
    hold the memory that one configuration after another needs.
    """
    from pyrometer.tune.judge import terminal

    is_command = "--" in (context.obj or ())
    _check_words(context, what, is_command)
    made, root = shared.made(
        what, output, is_command=is_command, space=space, objective=objective,
        conditions=conditions, budget=budget, scale=scale, sources=sources, check=check,
        setting=setting, iterations=iterations, warmup=warmup, profile=profile, guard=guard,
        engine=engine, fidelities=fidelities, memory=memory, timeout=timeout,
        margin=margin, seed=seed, price=price,
    )  # fmt: skip
    if dry_run:
        terminal.planned(human(as_json), made.tuning)
        if as_json:
            emit_json(made.tuning.model_dump(mode="json", by_alias=True))
        return
    from pyrometer.tune.trials.folder import begin

    begin(root, made.tuning, made.command_file)
    terminal.planned(err(), made.tuning, brief=True)
    _carry(root, as_json=as_json)


app.command(epilog=recurring.EXAMPLES, no_args_is_help=True)(recurring.online)
app.command(no_args_is_help=True)(recurring.step)


@app.command(no_args_is_help=True)
def resume(
    folder: DirArgument,
    blocks: Annotated[
        int | None,
        typer.Option(min=1, help="Add blocks to the confirmation, whatever the budget was."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Confirm at another scale; needs --blocks.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Resume a tuning that was interrupted or killed, or add to its confirmation."""
    from pyrometer.tune.trials.folder import read_tuning

    tuning = read_tuning(folder)
    if scale is not None:
        if blocks is None:
            raise UsageError("--scale needs --blocks", f"--scale {scale} --blocks 3")
        shared.check_scale(tuning.workload, bool(tuning.command), scale)
        scale = None if scale == tuning.scale else scale
    _carry(folder, blocks=blocks, scale=scale, as_json=as_json)


@app.command(no_args_is_help=True)
def show(folder: DirArgument, as_json: JsonOption = False) -> None:
    """Show what a tuning has found, finished or not, and what to doubt."""
    from pyrometer.tune.trials.folder import read_tuning

    if read_tuning(folder).online is not None:
        from pyrometer.tune.online.report import online_report
        from pyrometer.tune.online.report import show as show_online

        found = online_report(folder)
        show_online(human(as_json), found)
        if as_json:
            emit_json(found)
        return
    _show(folder, _report(folder), as_json=as_json)


app.command(no_args_is_help=True)(deploying.apply)


def _check_words(context: typer.Context, what: list[str], is_command: bool) -> None:
    given = typed(context, *OUTSIDE)
    if is_command and given:
        raise UsageError(
            f"{given[0]} is for workloads: a command itself decides what it repeats and reads",
            "leave it out, or describe the command as a workload (docs/how-to/workloads.md)",
        )
    if not is_command and len(what) > 1:
        from pyrometer.trial.factors import did_you_mean

        near = did_you_mean(what[0], ("resume", "show", "apply", "online", "step"))
        raise UsageError(
            f"give one workload, not {' '.join(what)}",
            near or f"to tune a command, put -- before it: pyrometer tune -- {' '.join(what)}",
        )


def _carry(
    root: Path, *, blocks: int | None = None, scale: str | None = None, as_json: bool
) -> None:
    """Search, confirm, show, and write the page; Ctrl-C keeps all, and says how to go on."""
    from pyrometer.experiments.judge.screen import ExperimentScreen
    from pyrometer.tune.carry import confirm_winner, search
    from pyrometer.tune.engine import adviser_of
    from pyrometer.tune.judge.screen import TuningScreen

    asked = {"--blocks": blocks, "--scale": scale}
    more = "".join(f" {option} {one}" for option, one in asked.items() if one is not None)
    kept = f"all that ended is kept. Continue with: {program()} tune resume {root}"
    with ended_by_interrupt(f"{kept}{more}"):
        with TuningScreen() as screen:
            search(root, adviser_of, screen=screen)
        with ExperimentScreen() as progress:
            why = confirm_winner(root, screen=progress)
    if blocks is not None:
        # Noted at once: to go on, they are not to be asked for again.
        with ended_by_interrupt(kept), ExperimentScreen() as progress:
            why = confirm_winner(root, screen=progress, blocks=blocks, scale=scale)
    if why is not None:
        err().print(f"{why}; all that ended is kept", markup=False)
    _remember(root)
    report = _report(root)
    with read_or_not():
        _show(root, report, as_json=False, to_stderr=as_json)
    _page(root, report)
    if as_json:
        emit_json(report)


def _remember(root: Path) -> None:
    from pyrometer.tune.carry import remember

    try:
        remember(root)
    except PyrometerError as error:
        # What was found stands; only others do not learn from it.
        text = f"not remembered: {error.message}; {error.remedy}"
        err().print(text, markup=False, soft_wrap=True)


def _page(root: Path, report: TuningReport) -> None:
    from pyrometer.tune.judge.page import write_tuning

    try:
        path = write_tuning(root, report=report)
    except PyrometerError as error:
        err().print(f"no page: {error.message}", markup=False, soft_wrap=True)
    else:
        err().print(f"page: {path}", markup=False, soft_wrap=True)


def _report(folder: Path) -> TuningReport:
    from pyrometer.tune.judge.report import tuning_report

    return tuning_report(folder)


def _show(folder: Path, report: TuningReport, *, as_json: bool, to_stderr: bool = False) -> None:
    from pyrometer.tune.judge import terminal

    terminal.report(human(as_json or to_stderr), report, folder)
    if as_json:
        emit_json(report)
