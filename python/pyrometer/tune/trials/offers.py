"""Cheap stand-ins of a tuning: measured once, offered to the engine or left out with the reason."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pyrometer.core import units
from pyrometer.experiments.folder import ExperimentPaths
from pyrometer.tune.advise.adviser import FULL
from pyrometer.tune.advise.fidelity import CHEAP
from pyrometer.tune.advise.parts import LEAST_TRIALS, representative
from pyrometer.tune.space.cube import key
from pyrometer.tune.trials.folder import Fidelity, Tuning
from pyrometer.tune.trials.planned import Length
from pyrometer.tune.trials.records import Offered
from pyrometer.tune.trials.replay import History, Step

FEWEST_RUNS = 10.0
"""Full runs that a search must have room for; in fewer, no stand-in earns its own baselines back.
"""

OF_QUERIES = 0.3
"""Largest share of a suite's time that chosen queries may take; launches come on top."""

Parts = Callable[[Path], Mapping[str, float]]
"""Gives the time of each part of an iteration of a run, in s; empty where it has none."""


def room(tuning: Tuning, history: History) -> str | None:
    """Say why a search has no room for stand-ins; ``None`` where it has."""
    amount = tuning.budget.amount - tuning.reserved
    if tuning.budget.unit != "runs":
        each = history.length_s()
        if not each:
            return "how long a run takes is not known"
        amount /= each * (tuning.cpus if tuning.budget.unit == "core-seconds" else 1)
    if amount >= FEWEST_RUNS:
        return None
    return f"the search has room for {amount:.0f} runs of the job: too few for stand-ins to pay"


def measured(fidelity: Fidelity, step: Step, history: History) -> Offered:
    """Decide on a stand-in by the run of the job as it is that it was measured with."""
    told, full = step.told, history.length_s()
    if told is None or told.failed is not None or told.value is None:
        return left_out(fidelity, f"it does not finish: {told.failed if told else 'not known'}")
    if not told.length_s or not full:
        return left_out(fidelity, "how long its run took is not known")
    return _offered(fidelity, told.length_s / full)


def chosen(
    tuning: Tuning, fidelity: Fidelity, history: History, root: Path, parts: Parts
) -> Offered | None:
    """Choose the queries of a stand-in by the trials so far; ``None``: too few have ended.

    Parameters
    ----------
    root : Path
        Folder of the tuning.
    """
    by_key: dict[str, Step] = {}
    for step in history.steps:
        if step.asked.fidelity == FULL and step.counts and step.ended is not None:
            by_key.setdefault(key(step.asked.configuration), step)
    if "" not in by_key or len(by_key) < LEAST_TRIALS:
        return None
    steps = [by_key.pop(""), *by_key.values()]
    trials = ExperimentPaths(root).trials
    times = [parts(trials / one.ended.folder) for one in steps if one.ended is not None]
    if not all(times):
        return left_out(fidelity, "times of its queries are not known")
    found = representative(times, OF_QUERIES)
    if found is None:
        return left_out(
            fidelity, f"no queries of {units.percent(OF_QUERIES)} of the time vary as all do"
        )
    (factor,) = fidelity.levels
    level = "+".join(found.names)
    length = steps[0].ended
    assert length is not None
    of = Length.of(length)
    whole = history.length_s() or of.work_s + of.beside_s
    saved = (1 - found.share) * min(of.work_s, whole)
    made = fidelity.model_copy(
        update={
            "levels": {factor: level},
            "summary": f"{', '.join(found.names)} instead of all {len(times[0])} queries",
        }
    )
    return _offered(made, 1 - saved / whole)


def _offered(fidelity: Fidelity, share: float) -> Offered:
    measured = fidelity.model_copy(update={"cost_ratio": share})
    if share > CHEAP:
        why = f"it takes {units.percent(share)} of a full run; up to {units.percent(CHEAP)} pays"
        return left_out(measured, why)
    return Offered(fidelity=measured, wall_ns=time.time_ns())


def left_out(fidelity: Fidelity, why: str) -> Offered:
    """Leave a stand-in out."""
    return Offered(fidelity=fidelity, left_out=why, wall_ns=time.time_ns())


def with_offers(tuning: Tuning, history: History) -> Tuning:
    """Give a tuning whose stand-ins are as they were measured."""
    known = {one.name: one for one in tuning.fidelities}
    known |= {name: one.fidelity for name, one in history.offers.items()}
    return tuning.model_copy(update={"fidelities": list(known.values())})


def typical_share(history: History, fidelity: str) -> float | None:
    """Median cost of the trials of a stand-in, of a full run; ``None`` before there is one."""
    known = [
        one.told.runs
        for one in history.steps
        if one.asked.fidelity == fidelity and one.told is not None and one.told.runs is not None
    ]
    return statistics.median(known) if known else None
