"""Before an experiment: how long it will take, and what it will be able to see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyrometer.experiments.folder import Plan
    from pyrometer.experiments.judge.forecast import Forecast


def forecast_of(plan: Plan, pilots: list[Path]) -> Forecast:
    """Forecast an experiment from pilots, else from what ran here."""
    from pyrometer.experiments.history.stored_runs import past_of
    from pyrometer.experiments.judge.forecast import forecast

    n = len(plan.treatments)
    return forecast(
        past_of(plan, pilots),
        trials=len(plan.trials),
        blocks=plan.blocks,
        comparisons=n - 1 if plan.baseline else n * (n - 1) // 2,
        margin=plan.margin,
        kind=plan.kind,
    )
