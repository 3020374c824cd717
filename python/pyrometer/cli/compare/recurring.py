"""``pyrometer tune online`` and ``tune step``: a recurring job, a careful step a scheduled run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared import tuning as shared
from pyrometer.cli.shared.endings import ending_with
from pyrometer.cli.shared.run_named import local_path
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human

EXAMPLES = """\b
Examples:
  pyrometer tune online --risk 10% -o nightly -- spark-submit nightly.py
  pyrometer tune step nightly          # in the scheduler, in place of spark-submit nightly.py
  pyrometer tune show nightly
"""


def online(
    context: typer.Context,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD | FILE | -- COMMAND…",
            help="The job, as `tune` takes it.",
            show_default=False,
        ),
    ],
    risk: Annotated[
        str,
        typer.Option(
            metavar="PERCENT",
            help="Most that all runs together may take longer than the unchanged job would.",
        ),
    ] = "10%",
    over: Annotated[
        int,
        typer.Option(min=5, metavar="RUNS", help="Number of runs from which --risk holds."),
    ] = 30,
    limit: Annotated[
        float,
        typer.Option(
            min=1.1,
            max=10.0,
            help="Stop a step at this multiple of the job's time, and run the job unchanged.",
        ),
    ] = 1.5,
    space: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="What may be varied, as for `tune`.")
    ] = "spark-sql",
    scale: Annotated[str, typer.Option(help="Scale of a workload.")] = "default",
    sources: Annotated[
        list[Path],
        typer.Option(
            "--from", metavar="RUN|FINDINGS", help="Remedies of its findings are the first steps."
        ),
    ] = [],  # noqa: B006
    check: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Command that judges the result of each run, as for `tune`."
        ),
    ] = None,
    setting: Annotated[
        list[str],
        typer.Option("--set", metavar="FACTOR=LEVEL", help="Level of all runs; repeatable."),
    ] = [],  # noqa: B006
    profile: Annotated[str, typer.Option(help="Profile: what is measured in each run.")] = "light",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the order of steps.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Output folder: new or empty."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Prepare the tuning of a recurring job; nothing is run until `tune step`.

    Each scheduled run is part of the tuning: the unchanged job, the best configuration so far, or a
    careful step from it. A step that fails, changes the result or takes too long is stopped, and
    the unchanged job is run: it has to tolerate being stopped halfway and run again. What turns
    out slower is rolled back. Everything is recorded in the journal.
    """
    from pyrometer.cli.shared.margin import parse_margin
    from pyrometer.tune.online.terms import Terms
    from pyrometer.tune.trials.budget import FEWEST
    from pyrometer.tune.trials.folder import OnlineTerms, begin

    share = parse_margin(risk, "--risk", "10%")
    if share * over < limit:
        raise UsageError(
            f"--risk {risk} over {over} runs has no room for one step, which may cost {limit:g}"
            " runs",
            f"--over {int(limit / share) + 1}, a higher --risk, or a lower --limit",
        )
    first, control = Terms().first, Terms().control
    terms = OnlineTerms(risk=share, runs=over, limit=limit, first=first, control=control)
    is_command = "--" in (context.obj or ())
    if is_command and scale != "default":
        raise UsageError("--scale is for workloads: a command itself decides what it reads")
    if not is_command and len(what) > 1:
        raise UsageError(
            f"give one workload, not {' '.join(what)}",
            f"to tune a command, put -- before it: pyrometer tune online -- {' '.join(what)}",
        )
    made, root = shared.made(
        what, output, is_command=is_command, space=space, objective="elapsed", conditions=[],
        budget=str(max(over, FEWEST)), scale=scale, sources=sources, check=check, setting=setting,
        iterations=1, warmup="0", profile=profile, guard="flag", engine="own",
        fidelities=["none"], memory="none", margin="2%", seed=seed, price=None, online=terms,
    )  # fmt: skip
    if made.tuning.earlier:
        raise UsageError(
            "--from takes a run or a findings file here, not an experiment or a tuning",
            "--from RUN",
        )
    begin(root, made.tuning, made.command_file)
    err().print(
        f"{root}: nothing has run. In the scheduler: pyrometer tune step {root}",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    if as_json:
        emit_json(made.tuning.model_dump(mode="json", by_alias=True))


def step(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", parser=local_path, help="Folder of `tune online`.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Run a recurring job once: as it is, with what was found, or a careful step further.

    Exit code: 1 if the job was not done, neither by the step nor as it is.
    """
    from pyrometer.experiments.judge.screen import ExperimentScreen
    from pyrometer.tune.online.report import online_report, show
    from pyrometer.tune.online.run import step as run_once

    with ExperimentScreen() as screen:
        found = run_once(folder, screen=screen)
    report = online_report(folder)
    with ending_with(None if found.done else typer.Exit(1)):
        show(human(as_json), report)
        if as_json:
            emit_json(report)
        if not found.done:
            why = found.told[-1].failed or "it ran out of time"
            err().print(f"the job was not done: {why}", markup=False, soft_wrap=True)
