"""Option ``--probe-budget`` of the verbs that start the OS probe."""

from __future__ import annotations

from typing import Annotated

import typer

PROBE_BUDGET_TEXT = "2%"
"""Default of `attach`."""
BY_PROFILE = "auto"
"""Default of `run`."""

_WHAT = "Share of a CPU that the OS probe may use before it reads less often"

ProbeBudgetOption = Annotated[
    str, typer.Option("--probe-budget", metavar="PERCENT", help=f"{_WHAT}, or none: any.")
]
ProfileBudgetOption = Annotated[
    str,
    typer.Option(
        "--probe-budget",
        metavar="PERCENT",
        help=f"{_WHAT}, or none: any; auto: 2%, and 0.5% where the profile has no stacks (light).",
    ),
]
