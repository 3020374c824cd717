"""``pyrometer attach PID``: measure a JVM that is already running."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from pyrometer.cli.measure.probe import (
    DurationOption,
    NoReportOption,
    OutputOption,
    observe_and_print,
)
from pyrometer.cli.shared.agents import AgentsOption, checked
from pyrometer.cli.shared.budget import PROBE_BUDGET_TEXT, ProbeBudgetOption
from pyrometer.terminal.console import JsonOption

app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer attach 4242
  pyrometer attach 4242 --duration 60s -o before
  pyrometer attach 4242 --event cpu,alloc=512k
"""


@app.command(epilog=EXAMPLES)
def attach(
    pid: Annotated[
        int, typer.Argument(help="Process of a JVM: a Spark driver or executor, or any other.")
    ],
    event: Annotated[
        str,
        typer.Option(
            "--event",
            help="Events to sample stacks for: any of cpu, ctimer, itimer, wall, alloc, live,"
            " lock, nativemem, each optionally with =PERIOD.",
        ),
    ] = "cpu,wall,alloc,lock",
    duration: DurationOption = None,
    output: OutputOption = None,
    probe_budget: ProbeBudgetOption = PROBE_BUDGET_TEXT,
    agents: AgentsOption = None,
    no_report: NoReportOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure a running JVM, Spark's or any other: stacks, threads, tasks, its event log.

    It stops when the JVM exits, after --duration, or on Ctrl-C. The profiler is stopped, and the
    JVM keeps running. Exit code: 0, 2 if there is no such JVM, 3 if it cannot be attached to.
    """
    from pyrometer.collect.probes.os import budget_of
    from pyrometer.orchestrator.attach import attach as observe

    observe_and_print(
        "attach",
        f"measuring process {pid}",
        partial(
            observe,
            pid,
            events=event,
            budget=budget_of(probe_budget),
            agents=checked(agents),
        ),
        duration=duration,
        output=output,
        no_report=no_report,
        as_json=as_json,
    )
