"""What mattered: importance, partial dependence, the shortest configuration, and fronts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyrometer.core import units
from pyrometer.tune.advise.history import History as Observed
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.importance.anova import anova
from pyrometer.tune.importance.dependence import dependence
from pyrometer.tune.importance.front import front
from pyrometer.tune.importance.shortest import shortest
from pyrometer.tune.judge.schema import (
    Dependence,
    DependencePoint,
    FrontReport,
    Influence,
    Shortened,
)
from pyrometer.tune.judge.stand_ins import misled
from pyrometer.tune.space.cube import columns
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.measured import OF_OBJECTIVE
from pyrometer.tune.trials.planned import named
from pyrometer.tune.trials.replay import History

FRONTS = ("elapsed", "core_seconds", "peak_memory")
"""Metrics that are shown against the objective, if they are not its own."""
LEAST_SHARE = 0.005
"""Share of the variance below which a factor is not listed."""
FEW = "too few trials have finished to know"


@dataclass(frozen=True)
class Influences:
    """What mattered; `reason` says why nothing is known."""

    factors: list[Influence] = field(default_factory=list)
    dependence: list[Dependence] = field(default_factory=list)
    shortest: Shortened | None = None
    fronts: list[FrontReport] = field(default_factory=list)
    reason: str | None = None


def influences(tuning: Tuning, history: History) -> Influences:
    """Ask a surrogate what mattered, of all trials but those at stand-ins that were dropped."""
    space = tuning.space.read()
    # An engine takes what came to nothing for slow, so as to keep off it; nobody measured that.
    seen = [
        one.told.observation(one.asked)
        for one in history.steps
        if one.told is not None and one.told.failed is None
    ]
    fronts = [
        FrontReport(metric=metric, points=points)
        for metric in FRONTS
        if metric != OF_OBJECTIVE[tuning.objective] and len(points := front(seen, metric)) > 1
    ]
    names = {one.factor for one in space.knobs}
    seen = [one for one in seen if one.configuration.keys() <= names]
    observed = Observed(seen).without(misled(tuning, history))
    trials = observed.trials(space) if space.knobs else None
    if trials is None:
        return Influences(fronts=fronts, reason=FEW)
    expected = {name for one in tuning.priors for name in one.levels}
    model = Surrogate(columns(space), trials, [one.factor in expected for one in space.knobs])
    found = anova(space, model, seed=tuning.seed)
    if found.reason is not None:
        return Influences(fronts=fronts, reason=found.reason)
    factors = [
        Influence(
            factors=[one.factor],
            share=one.share,
            text=f"best at {one.best or 'its default'}; the worst level costs"
            f" {units.percent(one.effect.value, True)}",
        )
        for one in found.knobs
        if (one.share.value or 0.0) >= LEAST_SHARE
    ]
    factors += [
        Influence(factors=list(one.factors), share=one.share)
        for one in found.pairs
        if (one.share.value or 0.0) >= LEAST_SHARE
    ]
    factors.sort(key=lambda one: -(one.share.value or 0.0))
    winner = history.settled.configuration if history.settled else {}
    curves = [
        Dependence(
            factor=one.factor,
            points=[DependencePoint(level=at.level, change=at.average) for at in one.points],
        )
        for one in dependence(space, model, winner, observed.seen)
    ]
    tried = [one.asked.configuration for one in history.steps if one.counts]
    return Influences(factors, curves, _shortest(tuning, model, winner, tried), fronts)


def _shortest(
    tuning: Tuning, model: Surrogate, winner: dict[str, str], tried: Sequence[dict[str, str]]
) -> Shortened | None:
    if not winner:
        return None
    found = shortest(tuning.space.read(), model, winner)
    back = ", ".join(one.factor for one in found.put_back)
    if not found.put_back:
        told = (
            "By the model, no level of the winner can go back to its default without losing more"
            " than 1 %."
        )
    else:
        loss = units.percent(found.loss.value)
        sure = "" if found.sure else ", which only a trial can confirm"
        by = "By the model" if found.configuration in tried else "By the model, and not tried"
        told = (
            f"{by}: {named(found.configuration)} is as good within 1 %; {back} could go back to the"
            f" default (expected loss {loss}{sure})."
        )
    return Shortened(
        told=told, configuration=found.configuration,
        put_back=[one.factor for one in found.put_back], loss=found.loss, sure=found.sure,
    )  # fmt: skip
