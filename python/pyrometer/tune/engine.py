"""The engine of a tuning, made from its plan alone, so that the journal can replay it."""

from __future__ import annotations

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import did_you_mean
from pyrometer.tune.advise.adviser import Adviser
from pyrometer.tune.advise.engines import ENGINES, engine
from pyrometer.tune.trials.folder import Tuning

USUAL_RUNS = 25.0
"""Budget in runs that an engine plans for where time is counted, and nobody knows what a run takes.
"""


def adviser_of(tuning: Tuning) -> Adviser:
    """Make the engine of a tuning."""
    budget = tuning.budget
    whole = budget.amount if budget.unit == "runs" else USUAL_RUNS
    kept = tuning.reserved / budget.amount
    space = tuning.space.read()
    factors = {knob.factor for knob in space.knobs}
    ideas = [
        levels
        for one in tuning.priors
        if (levels := {name: level for name, level in one.levels.items() if name in factors})
    ]
    return engine(
        tuning.engine,
        space,
        seed=tuning.seed,
        budget=whole * (1 - kept),
        ideas=ideas,
        expected=[name for one in ideas for name in one],
        timed=tuning.objective == "elapsed",
        margin=tuning.margin,
    )


def check_engine(name: str) -> None:
    """Refuse an engine that there is none of.

    Raises
    ------
    UsageError
        With what there is.
    """
    if name not in ENGINES:
        remedy = did_you_mean(name, ENGINES) or f"use one of: {', '.join(ENGINES)}"
        raise UsageError(f"--engine {name}: there is no such engine", remedy)
