"""Cheap stand-ins of a tuning: what they cost, how well they rank, and why some are not used."""

from __future__ import annotations

from pyrometer.tune.advise.fidelity import misleading, spearman
from pyrometer.tune.advise.history import History as Observed
from pyrometer.tune.advise.history import ranks
from pyrometer.tune.judge.schema import StandInReport
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.offers import typical_share
from pyrometer.tune.trials.replay import History


def _seen(history: History) -> Observed:
    return Observed(
        one.told.observation(one.asked) for one in history.steps if one.told is not None
    )


def misled(tuning: Tuning, history: History) -> set[str]:
    """Name the stand-ins that an engine drops, with all that they showed."""
    seen = _seen(history)
    return {one.name for one in tuning.fidelities if misleading(spearman(*ranks(seen, one.name)))}


def stand_ins(tuning: Tuning, history: History) -> list[StandInReport]:
    """Report on every stand-in that was planned."""
    seen = _seen(history)
    found = []
    for planned in tuning.fidelities:
        offer = history.offers.get(planned.name)
        one = offer.fidelity if offer else planned
        rank = spearman(*ranks(seen, one.name))
        share = typical_share(history, one.name)
        if share is None and offer is not None and not offer.left_out:
            share = one.cost_ratio
        left_out = "it was not measured yet" if offer is None else offer.left_out
        found.append(
            StandInReport(
                name=one.name,
                summary=one.summary,
                share=share,
                correlation=rank,
                trials=sum(step.asked.fidelity == one.name for step in history.steps),
                left_out=left_out or misleading(rank),
            )
        )
    return found
