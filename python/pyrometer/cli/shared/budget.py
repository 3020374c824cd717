"""Option ``--probe-budget`` of the verbs that start the OS probe."""

from __future__ import annotations

from typing import Annotated

import typer

PROBE_BUDGET_TEXT = "2%"
"""Default where the rate of passes is ours to choose."""

ProbeBudgetOption = Annotated[
    str,
    typer.Option(
        "--probe-budget",
        metavar="PERCENT",
        help="Share of a CPU that the OS probe may use before it reads less often, or none.",
    ),
]
