"""``pyrometer explain RUN``: why it is slow, what to change, and how many seconds that saves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human

app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer explain RUN
  pyrometer explain application_1_0001.zstd --all
  pyrometer explain RUN --verify gc.heap-too-small --budget 10
  pyrometer explain RUN udf.python --verify --with -- spark-submit faster.py
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
    verdicts: VerdictsOption = None,
) -> None:
    """Say why a run is slow, what to change, and how many seconds that saves.

    With --verify, findings are tried: docs/how-to/verify-a-finding.md. Exit code: 1 if it was
    interrupted, or none of them could be tried.
    """
    from pyrometer.cli.shared import verifying
    from pyrometer.explain.findings import explain as find
    from pyrometer.store import Run
    from pyrometer.verification.record import records

    asked, command = verifying.asked_of(
        findings, context.obj or (), verify=verify, changed=changed
    )  # fmt: skip
    if verify and window is not None:
        raise UsageError("--verify compares whole iterations", "leave out --window")
    kept = verifying.stored(verdicts)
    with Run.open(run_named(run)) as opened:
        with err().status("explaining"):
            found = find(
                opened, window, app_index=application, records=records(kept.verdicts)
            )  # fmt: skip
        verifying.prove(found, opened.manifest.run_id if opened.manifest else None, kept)
        if not as_json:
            from pyrometer.explain import terminal

            terminal.show(human(as_json), found, everything)
        tried = not verify or verifying.verify(
            opened, found, asked, command, budget_s=60 * budget, folder=verdicts, as_json=as_json
        )
    if as_json:
        emit_json(found)
    if not tried:
        raise typer.Exit(1)
