"""``pyrometer explain RUN``: why it is slow, what to change, and how many seconds that saves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared.experiment_file import GuardOption
from pyrometer.cli.shared.run_named import run_named
from pyrometer.cli.shared.verifying import (
    BUDGET_MIN,
    BudgetOption,
    FindingsArgument,
    VerdictsOption,
    VerifyOption,
    WithOption,
)
from pyrometer.cli.show import WindowOption
from pyrometer.terminal.console import JsonOption, emit_json, err, human

app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer explain RUN
  pyrometer explain application_1_0001.zstd --all
  pyrometer explain RUN --verify gc.heap-too-small --budget 10
  pyrometer explain RUN --verify udf.python --with -- spark-submit faster.py
  pyrometer explain RUN --json | jq '.findings[] | {code, saving: .saving.elapsed_ns.value}'
"""


@app.command(epilog=EXAMPLES)
def explain(
    context: typer.Context,
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="A run directory, or a Spark event log.", show_default=False
        ),
    ],
    findings: FindingsArgument = None,
    as_json: JsonOption = False,
    window: WindowOption = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also findings below the noise of the run, their evidence, and all that could"
            " not be judged.",
        ),
    ] = False,
    application: Annotated[
        int | None,
        typer.Option(
            "--app", metavar="N", help="Application ID. Default: the one with most task time."
        ),
    ] = None,
    verify: VerifyOption = False,
    budget: BudgetOption = BUDGET_MIN,
    changed: WithOption = False,
    guard: GuardOption = "wait",
    verdicts: VerdictsOption = None,
) -> None:
    """Say why a run is slow, what to change, and how many seconds that saves."""
    from pyrometer.cli.shared.verifying import wanted
    from pyrometer.explain.findings import explain as find
    from pyrometer.store import Run

    tries = wanted(
        findings, context.obj, verify=verify, changed=changed, window=window,
        budget_s=60 * budget, guard=guard, folder=verdicts,
    )  # fmt: skip
    with Run.open(run_named(run)) as opened, err().status("explaining"):
        found = find(opened, window, app_index=application, records=tries.records)
        tries.prove(found, opened)
    if as_json:
        tries.verify(found, as_json=True)
        emit_json(found)
    else:
        from pyrometer.explain import terminal

        terminal.show(human(as_json), found, everything)
        tries.verify(found)
    tries.end()
