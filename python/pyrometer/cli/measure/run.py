"""``pyrometer run``: one measured trial of a workload or of the user's own command."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pyrometer.cli.shared.agents import AgentsOption, checked
from pyrometer.cli.shared.budget import BY_PROFILE, ProfileBudgetOption
from pyrometer.cli.shared.endings import CommandExit
from pyrometer.cli.shared.typed import typed
from pyrometer.core import units
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.terminal import console as common

if TYPE_CHECKING:
    from pyrometer.cli.shared.finding import Finder
    from pyrometer.core.beside import Beside
    from pyrometer.core.doubt import Doubt
    from pyrometer.explain.schema import Findings
    from pyrometer.orchestrator.run import Outcome
    from pyrometer.store.manifest import Manifest
    from pyrometer.store.paths import RunPaths
    from pyrometer.trial.trial import Trial


app = typer.Typer()

OF_WORKLOADS = ("scale", "iterations", "warmup")
"""Options that say nothing to a command."""
INTERRUPTED = 130
"""Exit code where Ctrl-C came before anything was launched, as shells have it."""

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
            help="A built-in workload, a SQL or Python file, workload.yaml, or after -- a command"
            " as you would type it.",
            show_default=False,
        ),
    ],
    setting: Annotated[
        list[str],
        typer.Option("--set", metavar="FACTOR=LEVEL", help="Set a factor's level; repeatable."),
    ] = [],  # noqa: B006
    iterations: Annotated[
        int, typer.Option(help="How many iterations of a workload to measure.")
    ] = 3,
    warmup: Annotated[
        str,
        typer.Option(
            help="Warm-up iterations: a number, or auto: one, then as many of the measured ones as"
            " come before their times are steady; none is added."
        ),
    ] = "auto",
    profile: Annotated[
        str, typer.Option(help="off, light, full, or events such as cpu,wall,alloc,lock.")
    ] = "full",
    scale: Annotated[
        str, typer.Option(help="Scale: test, default, seed, a number, or a scale factor (sf1).")
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
    probe_budget: ProfileBudgetOption = BY_PROFILE,
    agents: AgentsOption = None,
    as_json: common.JsonOption = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Do not write report.html.")
    ] = False,
) -> None:
    """Run a workload or your own Spark command once, measured at every layer.

    Your command keeps its own stdin, stdout, stderr and behaviour; nothing in it is edited.
    Exit code: that of your command, 128 + n if signal n ended it; of a workload 0, or 1 if it
    failed. If nothing was started: 2 for a mistake in the options, 3 if something needed is
    missing here, 4 for an error in Pyrometer, 126 if the command cannot be executed, 127 if there
    is no such command. With --json, .exit_code is the command's and .failure is Pyrometer's.
    """
    # The parser swallows "--"; whether it stood there decides what the first word means.
    is_command = "--" in (context.obj or ())
    given = typed(context, *OF_WORKLOADS)
    if is_command and given:
        raise UsageError(
            f"{given[0]} is for workloads: a command itself decides what it repeats and reads",
            "leave it out, or describe the command as a workload (docs/how-to/workloads.md)",
        )
    execute(
        partial(
            make_trial, what, is_command, setting, iterations, warmup, profile, scale, output,
            push, tier, probe_budget, checked(agents),
        ),
        report=not no_report,
        as_json=as_json,
    )  # fmt: skip


class _Watching(common.Progress):
    """Shows the progress and the result of a run; keeps how its application ended."""

    outcome: Outcome | None = None
    ahead: Beside[None] | None = None
    summary_shown = False
    finder: Finder | None = None

    def exited(self, record: Any, ending: Any) -> None:
        """Keep it; what follows is imported while the last processes of the application end."""
        from pyrometer.core.beside import Beside
        from pyrometer.orchestrator.derive import import_ahead
        from pyrometer.orchestrator.run import Outcome

        self.outcome = Outcome(record, ending, None)
        self.ahead = Beside(import_ahead)

    def imported(self) -> None:
        """Wait for what is imported: to end in the middle of it is to abort, with another code."""
        while self.ahead is not None:
            with contextlib.suppress(KeyboardInterrupt):
                self.ahead.__exit__()
                self.ahead = None

    def summarised(self, record: Any, summary: Any, scope: Any) -> Findings | None:
        """Print it at once, and below it what would make it faster, which takes longer."""
        from pyrometer.cli.shared.finding import Finder
        from pyrometer.summary import screen

        show_ending(record.manifest)
        where = common.from_here(Path(summary.run.run_dir))
        screen.show(common.err(), summary, where, common.program(), None)
        self.summary_shown = True
        self.finder = Finder()
        findings = self.finder.lines_of_scope(scope, summary)
        screen.show_findings(common.err(), summary, where, common.program(), findings)
        return self.finder.found


def execute(make: Callable[[], Trial], *, report: bool, as_json: bool) -> None:
    """Run a trial, print its result, and end with the right exit code.

    Once an application has ended, its exit code is ours, whatever fails after it.

    Raises
    ------
    CommandExit
        With that code; its cause is what failed in Pyrometer.
    """
    from pyrometer.orchestrator import run as orchestrator

    failed: BaseException | None = None
    outcome: Outcome | None = None
    watching: _Watching | None = None
    try:
        trial = make()
        watching = _Watching(trial)
        with watching:
            outcome = orchestrator.run(trial, watching, report=report)
        if trial.name is None and outcome.record.manifest.machine is not None:
            pour(outcome.record.paths)
        if watching.finder is not None:
            watching.finder.keep(outcome.record.paths.root)
        summarise(outcome, shown=watching.summary_shown)
    except (Exception, KeyboardInterrupt) as error:
        failed = error
        if outcome is None and watching is not None:
            outcome = watching.outcome
    if watching is not None:
        watching.imported()
    if as_json:
        try:
            common.emit_json(as_data(outcome, failed))
        except OSError as error:
            failed = failed or error
    if outcome is None:
        assert failed is not None
        if isinstance(failed, KeyboardInterrupt):
            raise CommandExit(INTERRUPTED) from failed
        raise failed
    raise CommandExit(exit_code(outcome)) from failed


def pour(paths: RunPaths) -> None:
    """Print what a command printed in its virtual machine, which has no terminal of ours."""
    for path, stream in ((paths.stdout, sys.stdout), (paths.stderr, sys.stderr)):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            stream.flush()
            shutil.copyfileobj(file, stream.buffer)
            stream.flush()


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
    probe_budget: str = BY_PROFILE,
    agents: str | None = None,
) -> Trial:
    """Turn the words of the command line into a trial.

    Raises
    ------
    UsageError
        Unknown workload, factor, level, profile, scale, tier or budget.
    """
    from pyrometer.collect.launch.launch import factors_of_workload, is_workload_command
    from pyrometer.collect.probes.os import TIERS, budget_of
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
        raise UsageError(f"--tier {tier}: unknown tier", f"use one of {', '.join(TIERS)}")
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
        agents=agents,
        tier=None if tier == "auto" else tier,
        probe_budget="auto" if probe_budget == BY_PROFILE else budget_of(probe_budget),
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


def show_ending(manifest: Manifest) -> None:
    """Print how the application ended, after how long, and what was measured."""
    console = common.err()
    lasted_ns = manifest.lasted_ns or 0
    code = "" if manifest.exit.code is None else f", exit code {manifest.exit.code}"
    console.print(f"[bold]{manifest.state}[/] after {units.duration(lasted_ns)}{code}")
    if manifest.exit.reason:
        console.print(f"  {manifest.exit.reason}", markup=False)
    if manifest.machine is not None:
        from pyrometer.guests.described import shown

        for label, text in shown(manifest.machine).items():
            console.print(f"{label.lower()}: {text}", markup=False)
    if manifest.warmup_found and manifest.warmup_found.taken:
        found = manifest.warmup_found
        console.print(f"warm-up: {found.taken} of {found.of} iterations: {found.why}", markup=False)
    asked = "; ".join(
        f"{p.name}: {p.asked}"
        for p in manifest.probes
        if p.name != "launcher" and p.executor_id is None and not p.service
    )
    if asked:
        # What a driver on the cluster and its executors recorded is not known before it arrives.
        console.print(f"profile {manifest.profile}: {asked}", style="dim", markup=False)


def summarise(outcome: Outcome, *, shown: bool) -> None:
    """Print the result of the run, unless it was shown already, and where it is stored."""
    from rich.markup import escape

    manifest, paths, console = outcome.record.manifest, outcome.record.paths, common.err()
    if not shown:
        show_ending(manifest)
        colours = {"error": "red", "warning": "yellow", "info": "dim"}
        for doubt in manifest.doubts:
            console.print(
                f"[{colours[doubt.severity]}]{doubt.severity}[/] {escape(doubt.message)} "
                f"[dim]{escape(doubt.remedy)}[/]"
            )
    if paths.report.is_file():
        console.print(f"report: {paths.report}", soft_wrap=True, markup=False)
    console.print(f"run:    {paths.root}", soft_wrap=True, markup=False)


def as_data(outcome: Outcome | None, failed: BaseException | None = None) -> dict[str, object]:
    """Give what ``--json`` prints (``pyrometer/run/1``).

    Parameters
    ----------
    outcome : Outcome or None
        Result of the run; ``None`` if no application has ended.
    failed : BaseException, optional
        What went wrong in Pyrometer.
    """
    manifest, paths = (outcome.record.manifest, outcome.record.paths) if outcome else (None, None)
    doubts = (outcome.summary or outcome.record.manifest).doubts if outcome else []
    # The summary does not know of what failed after it was written.
    ours = [one for one in manifest.doubts if one.code == "analysis_failed"] if manifest else []
    return {
        "schema": "pyrometer/run/1",
        "run_dir": str(paths.root) if paths else None,
        "report": str(paths.report) if paths and paths.report.is_file() else None,
        "state": manifest.state if manifest else None,
        "exit_code": outcome.ending.exit_code if outcome else None,
        "exit": manifest.exit.model_dump() if manifest else None,
        "failure": failure(failed, ours),
        "warmup": manifest.warmup_found.model_dump()
        if manifest and manifest.warmup_found
        else None,
        "phases": [phase.model_dump() for phase in manifest.phases] if manifest else [],
        "doubts": [
            doubt.model_dump() for doubt in (*doubts, *(one for one in ours if one not in doubts))
        ],
    }


def failure(failed: BaseException | None, steps: Sequence[Doubt]) -> dict[str, object] | None:
    """Say what went wrong in Pyrometer: an error, or else a step after the application's end.

    Parameters
    ----------
    failed : BaseException or None
        The error.
    steps : sequence of Doubt
        Steps that failed after the application's end.

    Examples
    --------
    >>> failure(UsageError("no such profile", "--profile full"), [])["exit_code"]
    2
    >>> failure(None, []) is None
    True
    """
    if isinstance(failed, PyrometerError):
        kind, code, message, remedy = failed.kind, failed.exit_code, failed.message, failed.remedy
    elif isinstance(failed, KeyboardInterrupt):
        kind, code, message, remedy = "interrupted", INTERRUPTED, "interrupted", None
    elif failed is not None:
        kind, code, message = "internal", 4, f"{type(failed).__name__}: {failed}"
        remedy = None
    elif not steps:
        return None
    else:
        kind, code, message, remedy = "analysis", 4, steps[0].message, steps[0].remedy
    return {"kind": kind, "exit_code": code, "message": message, "remedy": remedy}


def exit_code(outcome: Outcome) -> int:
    """Give the exit code to end with: the command's; for a workload 0, or 1 if it failed."""
    manifest = outcome.record.manifest
    if manifest.workload.name is None:
        return outcome.ending.exit_code
    return 0 if manifest.state == "finished" else 1
