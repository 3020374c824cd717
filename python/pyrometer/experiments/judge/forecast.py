"""Before an experiment: how long it will take, and which effects it can detect."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.experiments.folder import Plan
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.schema import ESTIMANDS
from pyrometer.statistics.power import ALPHA, POWER, detectable, needed
from pyrometer.statistics.two import mean_of, sd_of


@dataclass(frozen=True)
class Past:
    """An earlier trial: its treatment, its time, and how long it took in all.

    ``group`` names the block whose trials ran close to each other, if any;
    ``kind`` says how trials were ordered, where treatments shared a launch.
    """

    treatment: str
    seconds: float | None
    duration_s: float | None
    group: str | None = None
    iterations_s: tuple[float, ...] = ()
    kind: str | None = None


def past_trials(plan: Plan, entries: Entries, place: str = "") -> list[Past]:
    """Finished trials of an experiment; `place` distinguishes its blocks from those of others."""
    return [
        Past(
            treatment=one.treatment,
            seconds=one.seconds,
            duration_s=one.duration_s,
            group=f"{place}:{one.block}" if plan.kind != "fixed-order" else None,
            iterations_s=tuple(one.iterations_s),
            kind=plan.kind if plan.kind in ESTIMANDS else None,
        )
        for one in entries.ended.values()
        if one.status == "finished"
    ]


class Forecast(BaseModel):
    """Expected duration and power of an experiment.

    Attributes
    ----------
    trial_s : Estimate
        Time of a trial, launch and ingest included.
    total_s : float or None
        Of the whole experiment.
    noise_sd : Estimate
        Standard deviation of the logarithm of a trial's time within its block.
    noise_source : str or None
        Where that comes from.
    comparisons_count : int
        Pairs that will be judged.
    alpha : float
        Level of each (Bonferroni; Holm, which the report uses, is never worse).
    detectable : float or None
        Smallest relative change that each comparison finds with a chance of 0.8.
    blocks_for_margin : int or None
        Blocks with which it would be the margin.
    reason : str or None
        Why something is not known.
    """

    trial_s: Estimate
    total_s: float | None
    noise_sd: Estimate
    noise_source: str | None
    comparisons_count: int
    alpha: float
    detectable: float | None
    blocks_for_margin: int | None
    reason: str | None = None


def forecast(
    past: Sequence[Past],
    *,
    trials: int,
    blocks: int,
    comparisons: int,
    margin: float,
    kind: str | None = None,
) -> Forecast:
    """Forecast from earlier trials.

    Parameters
    ----------
    past : sequence of Past
        Of the same workload and scale.
    trials, blocks, comparisons : int
        Of the experiment.
    margin : float
        Relative difference that counts as none.
    kind : str, optional
        How trials are ordered. Where treatments share a launch, only trials that did so
        show how long they take and how noisy they are.

    Examples
    --------
    >>> past = [Past("a", 10.0, 20.0), Past("a", 10.4, 21.0), Past("a", 9.8, 19.0)]
    >>> found = forecast(past, trials=10, blocks=5, comparisons=1, margin=0.02)
    >>> found.total_s, round(found.noise_sd.value, 3), round(found.detectable, 2)
    (200.0, 0.03, 0.07)
    """
    kind = kind if kind in ESTIMANDS else None
    others, past = len(past), [one for one in past if one.kind == kind]
    lengths = [one.duration_s for one in past if one.duration_s is not None]
    length = mean_of(lengths)
    noise, source = _noise(past)
    alpha = ALPHA / max(1, comparisons)
    reason = None
    if others and not past:
        reason = f"nothing like it has run here as {kind or 'trials of their own'}: a pilot of two"
        reason += " blocks would suffice"
    elif not past:
        reason = "nothing like it has run here: run a pilot of two blocks, or name one by --pilot"
    elif noise.value is None:
        reason = "no treatment has two trials: a pilot of two blocks would measure the noise"
    return Forecast(
        trial_s=length,
        total_s=None if length.value is None else length.value * trials,
        noise_sd=noise,
        noise_source=source,
        comparisons_count=comparisons,
        alpha=alpha,
        detectable=detectable(blocks, noise.value, alpha, POWER, blocks=True),
        blocks_for_margin=needed(math.log1p(margin), noise.value, alpha, POWER, blocks=True),
        reason=reason,
    )


def _noise(past: Sequence[Past]) -> tuple[Estimate, str | None]:
    """Pool the variance of logarithms: within blocks where there are some, else of treatments."""
    grouped = [one for one in past if one.group is not None and one.seconds]
    sums, freedom = _within_blocks(grouped)
    if freedom >= 1:
        return sd_of(
            sums / freedom, freedom
        ), f"{len(grouped)} trials in blocks, after treatment and block"
    alone = [one for one in past if one.seconds]
    sums, freedom = _within([(one.treatment, one.seconds) for one in alone if one.seconds])
    if freedom >= 1:
        return sd_of(sums / freedom, freedom), f"{len(alone)} runs, within each treatment"
    pairs = [(str(at), s) for at, one in enumerate(past) for s in one.iterations_s]
    sums, freedom = _within(pairs)
    if freedom >= 1:
        return sd_of(sums / freedom, freedom), (
            "iterations of single runs: how much runs differ among themselves is not in it"
        )
    return Estimate(value=None, low=None, high=None, level=LEVEL, n=0, method="chi2"), None


def _within(pairs: Sequence[tuple[str, float]]) -> tuple[float, int]:
    lists: dict[str, list[float]] = {}
    for name, seconds in pairs:
        lists.setdefault(name, []).append(math.log(seconds))
    sums = sum(statistics.pvariance(one) * len(one) for one in lists.values())
    return sums, sum(len(one) - 1 for one in lists.values())


def _within_blocks(trials: Sequence[Past]) -> tuple[float, int]:
    """Residual squares of whole blocks, less the means of treatments and of blocks."""
    blocks: dict[str, dict[str, float]] = {}
    for one in trials:
        if one.group is not None and one.seconds:
            blocks.setdefault(one.group, {})[one.treatment] = math.log(one.seconds)
    sums, freedom = 0.0, 0
    shapes: dict[frozenset[str], list[dict[str, float]]] = {}
    for block in blocks.values():
        shapes.setdefault(frozenset(block), []).append(block)
    for names, alike in shapes.items():
        if len(names) < 2 or len(alike) < 2:
            continue
        whole = statistics.fmean(x for block in alike for x in block.values())
        columns = {name: statistics.fmean(block[name] for block in alike) for name in names}
        for block in alike:
            row = statistics.fmean(block.values())
            sums += sum((x - row - columns[name] + whole) ** 2 for name, x in block.items())
        freedom += (len(names) - 1) * (len(alike) - 1)
    return sums, freedom
