"""``pyrometer run``: one measured trial of a workload or of the user's own command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pyrometer.core.errors import UsageError
from pyrometer.terminal import console as common

if TYPE_CHECKING:
    from pyrometer.orchestrator.pipeline import Outcome
    from pyrometer.trial.trial import Trial


app = typer.Typer()

EXAMPLES = """
Examples:

  pyrometer run parquet-scan\n
  pyrometer run query.sql --set sql.day=2024-01-01\n
  pyrometer run interval-join --set variant=decimal --scale test -o before\n
  pyrometer run -- spark-submit --master 'local[4]' my_app.py input output\n
  pyrometer run --profile light -- python my_app.py\n
  pyrometer run --set jvm.heap=2g --set jvm.gc=parallel -- spark-shell < script.scala\n
  pyrometer run -- java -cp 'app.jar:spark/jars/*' com.example.Main
"""


@app.command(
    epilog=EXAMPLES,
    context_settings={"allow_interspersed_args": True},
    no_args_is_help=True,
)
def run(
    context: typer.Context,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME | FILE | -- COMMAND…",
            help="A built-in workload, a SQL file or workload.yaml, or after -- a command as you"
            " would type it.",
            show_default=False,
        ),
    ],
    setting: Annotated[
        list[str],
        typer.Option("--set", metavar="FACTOR=LEVEL", help="Set a factor's level; repeatable."),
    ] = [],  # noqa: B006
    iterations: Annotated[int, typer.Option(help="How many iterations to measure.")] = 3,
    warmup: Annotated[
        str,
        typer.Option(
            help="Iterations before them: a number, or auto, which is one, however the times go on."
        ),
    ] = "auto",
    profile: Annotated[
        str, typer.Option(help="off, light, full, or events such as cpu,wall,alloc,lock.")
    ] = "full",
    scale: Annotated[
        str, typer.Option(help="Scale: test, default, seed, or a number.")
    ] = "default",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Run directory: new or empty."),
    ] = None,
    push: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Send profiles to this Pyroscope server during the run."),
    ] = None,
    tier: Annotated[
        str,
        typer.Option(
            help="Tier of the OS probe: T0 to T3, or auto (the best that this host allows)."
        ),
    ] = "auto",
    as_json: common.JsonOption = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Do not write report.html.")
    ] = False,
) -> None:
    """Run a workload or your own Spark command once, measured at every layer.

    Your command keeps its own stdin, stdout, stderr and behaviour; nothing in it is edited.
    Exit code: 0 if it ended well, 1 if it failed (its own code is printed and, with --json,
    in .exit_code), 2 for a mistake in the options, 3 if something needed is missing here.
    """
    from pyrometer.orchestrator import pipeline
    from pyrometer.terminal.console import Progress

    # The parser swallows "--"; whether it stood there decides what the first word means.
    is_command = "--" in (context.obj or ())
    trial = make_trial(
        what, is_command, setting, iterations, warmup, profile, scale, output, push, tier
    )
    with Progress(trial) as progress:
        outcome = pipeline.run(trial, progress, report=not no_report)
    summarise(outcome)
    if as_json:
        common.emit_json(as_data(outcome))
    if outcome.record.manifest.state != "finished":
        raise typer.Exit(1)


def make_trial(
    what: list[str],
    is_command: bool,
    settings: list[str],
    iterations: int,
    warmup: str,
    profile: str,
    scale: str,
    output: Path | None,
    push: str | None = None,
    tier: str = "auto",
) -> Trial:
    """Turn the words of the command line into a trial.

    Raises
    ------
    UsageError
        Unknown workload, factor, level, profile, scale or tier.
    """
    from pyrometer.collect.launch.launch import factors_of_workload, is_workload_command
    from pyrometer.collect.probes.os import TIERS
    from pyrometer.collect.probes.profile import parse_profile
    from pyrometer.trial.factors import parse_treatment
    from pyrometer.trial.trial import Trial

    if not is_command and len(what) > 1:
        raise UsageError(
            f"give one workload, not {' '.join(what)}",
            f"to run a command, put -- before it: pyrometer run -- {' '.join(what)}",
        )
    parse_profile(profile)
    if tier not in TIERS:
        raise UsageError(f"--tier {tier}: unknown tier", f"one of {', '.join(TIERS)}")
    own = {} if is_command else factors_of_workload(what[0])
    once = not is_command and is_workload_command(what[0])
    return Trial(
        name=None if is_command else what[0],
        command=tuple(what) if is_command else (),
        treatment=parse_treatment(settings, own),
        profile=profile,
        iterations=1 if once else iterations,
        warmup=0 if once else parse_warmup(warmup),
        scale=scale,
        run_dir=output,
        push=push,
        tier=None if tier == "auto" else tier,
    )


def parse_warmup(text: str) -> int | Literal["auto"]:
    """Read ``--warmup``.

    Raises
    ------
    UsageError
        If it is neither a number nor ``auto``.
    """
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise UsageError(f"--warmup {text}: must be a number or auto", "--warmup 1")
    return int(text)


def summarise(outcome: Outcome) -> None:
    """Print what came of the run, and where it is."""
    from rich.markup import escape

    from pyrometer.summary import terminal

    manifest = outcome.record.manifest
    console = common.err()
    seconds = ((manifest.ended_mono_ns or 0) - (manifest.started_mono_ns or 0)) / 1e9
    code = "" if manifest.exit.code is None else f", exit code {manifest.exit.code}"
    console.print(f"[bold]{manifest.state}[/] after {seconds:.1f} s{code}")
    if manifest.exit.reason:
        console.print(f"  {escape(manifest.exit.reason)}")
    colours = {"error": "red", "warning": "yellow", "info": "dim"}
    for doubt in manifest.doubts if outcome.summary is None else ():
        console.print(
            f"[{colours[doubt.severity]}]{doubt.severity}[/] {escape(doubt.message)} "
            f"[dim]{escape(doubt.remedy)}[/]"
        )
    asked = "; ".join(f"{p.name}: {p.asked}" for p in manifest.probes if p.name != "launcher")
    console.print(f"[dim]profile {escape(manifest.profile)}: {escape(asked)}[/]")
    paths = outcome.record.paths
    if outcome.summary is not None:
        terminal.show(console, outcome.summary)
    if paths.report.is_file():
        console.print(f"report: {paths.report}", soft_wrap=True)
    console.print(f"run:    {paths.root}", soft_wrap=True)


def as_data(outcome: Outcome) -> dict[str, object]:
    """Give what ``--json`` prints (``pyrometer/run/1``)."""
    manifest, paths = outcome.record.manifest, outcome.record.paths
    return {
        "schema": "pyrometer/run/1",
        "run_dir": str(paths.root),
        "report": str(paths.report) if paths.report.is_file() else None,
        "state": manifest.state,
        "exit_code": exit_code(outcome),
        "exit": manifest.exit.model_dump(),
        "phases": [phase.model_dump() for phase in manifest.phases],
        "doubts": [doubt.model_dump() for doubt in (outcome.summary or manifest).doubts],
    }


def exit_code(outcome: Outcome) -> int:
    """Give the application's own exit code; 128 + n if signal n ended it, as shells say it."""
    import signal

    ending = outcome.ending
    if ending.code is not None:
        return ending.code
    return 128 + signal.Signals[ending.signal].value if ending.signal else 1
