"""Treatments compared by their trials: a verdict for every pair, and doubts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.core.schema import doubt
from pyrometer.statistics.blocks import autocorrelation, drift, order_fixed, paired, residuals
from pyrometer.statistics.many import adjusted, against_control, all_pairs
from pyrometer.statistics.pooling import PairNoise, Pooled, pool, tested
from pyrometer.statistics.power import detectable, needed
from pyrometer.statistics.two import Verdict, compare, judge, logs, mean_of, pooled_sd
from pyrometer.statistics.welch import WelchAsGiven, welch_as_given


@dataclass(frozen=True)
class Trial:
    """One value of one treatment, in the order of time; the block it ran in, if any."""

    treatment: str
    value: float
    block: str | None = None


class TreatmentValues(BaseModel):
    """Values of one treatment, with their mean."""

    name: str
    mean: Estimate
    values: list[float]


class PairReport(BaseModel):
    """B compared with A: a negative change is less time.

    ``change`` has an interval for this pair; that of ``change_of_all`` holds for all pairs at once
    (Games and Howell, or Dunnett against a control). The verdict uses ``adjusted_p`` (Holm).
    ``detectable`` is the smallest relative change that these trials find with a chance of 0.8.
    ``noise`` says whose noise ``change`` rests on: the pair's, or that of all treatments together.
    ``welch`` is Welch's test of the values as given, A minus B, without blocks or logarithms.
    """

    a: str
    b: str
    change: Estimate
    change_of_all: Estimate | None = None
    p: float | None = None
    adjusted_p: float | None = None
    second_p: float | None = None
    second_test: Literal["permutation", "wilcoxon"]
    same_p: float | None = None
    margin: float
    verdict: Verdict
    trials_needed: int | None = None
    detectable: float | None = None
    g: Estimate | None = None
    delta: Estimate | None = None
    noise_within_blocks_ratio: float | None = None
    noise: PairNoise | None = None
    welch: WelchAsGiven | None = None


class Order(BaseModel):
    """Tests of the order of trials; ``None`` where there are too few."""

    fixed: bool
    drift_p: float | None = None
    autocorrelation: float | None = None


class CompareReport(BaseModel):
    """Structure of ``compare --json`` (``pyrometer/compare/1``)."""

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/compare/1"] = Field("pyrometer/compare/1", alias="schema")
    what: str
    unit: str
    design: Literal["independent", "blocks"]
    treatments: list[TreatmentValues]
    pairs: list[PairReport]
    order: Order
    doubts: list[Doubt] = Field(default_factory=list)


def analyse(
    trials: Sequence[Trial],
    *,
    what: str,
    unit: str,
    margin: float,
    control: str | None = None,
    names: Sequence[str] = (),
    sides: Mapping[str, float] | None = None,
    pooling: bool = True,
    drawn: bool = False,
) -> CompareReport:
    """Compare all pairs of treatments, or each with the control.

    Where every trial names its block and each block has each treatment once, pairs are compared
    within blocks; else as independent lists.

    Parameters
    ----------
    names : sequence of str
        Treatments in the order of the report. Default: as the trials name them.
    sides : mapping, optional
        By block, 1 or -1: which of two places the first treatment had, where they swapped them.
    pooling : bool
        Whether pairs may use the noise of all treatments: not where some ran closer together than
        others.
    drawn : bool
        Whether the order of trials was drawn at random: an order that looks fixed is then chance,
        for which p and intervals allow.

    Raises
    ------
    UsageError
        If there are fewer than two treatments, no such control, or a value is not above zero.
    """
    values: dict[str, list[float]] = {name: [] for name in names}
    for trial in trials:
        values.setdefault(trial.treatment, []).append(trial.value)
    _check(values, control)
    blocked = _blocked(trials, values)
    pairs = _sides(list(values), control)
    lists = blocked or values
    blocks = dict.fromkeys(trial.block for trial in trials)
    swapped = [sides[block] for block in blocks if block] if sides and blocked else None
    noise = pool(lists, blocked=bool(blocked)) if pooling else None
    compared = [_pair(a, b, lists, bool(blocked), margin, swapped, noise) for a, b in pairs]
    _correct(compared, values, control)
    report = CompareReport(
        what=what,
        unit=unit,
        design="blocks" if blocked else "independent",
        treatments=[
            TreatmentValues(name=name, mean=mean_of(one), values=one)
            for name, one in values.items()
        ],
        pairs=compared,
        order=_order(trials, values, drawn),
    )
    report.doubts = _doubts(report)
    return report


def _check(values: Mapping[str, Sequence[float]], control: str | None) -> None:
    if len(values) < 2:
        found = ", ".join(values) or "none"
        raise UsageError(f"two treatments are needed to compare, found: {found}")
    if control is not None and control not in values:
        raise UsageError(f"no treatment is called {control}", f"choose one of: {', '.join(values)}")
    for name, one in values.items():
        wrong = [value for value in one if not (math.isfinite(value) and value > 0)]
        if wrong:
            raise UsageError(
                f"{name}: {wrong[0]:g} is not a positive number", "leave such rows out"
            )


def _sides(names: list[str], control: str | None) -> list[tuple[str, str]]:
    if control is None:
        return list(combinations(names, 2))
    return [(control, name) for name in names if name != control]


def _blocked(
    trials: Sequence[Trial], values: Mapping[str, Sequence[float]]
) -> dict[str, list[float]] | None:
    """Return the values of each treatment by block; ``None`` where blocks are not whole."""
    by_block: dict[str, dict[str, float]] = {}
    for trial in trials:
        if trial.block is None or trial.treatment in by_block.setdefault(trial.block, {}):
            return None
        by_block[trial.block][trial.treatment] = trial.value
    if any(found.keys() != values.keys() for found in by_block.values()):
        return None
    return {name: [found[name] for found in by_block.values()] for name in values}


def _pair(
    a: str,
    b: str,
    lists: Mapping[str, Sequence[float]],
    blocked: bool,
    margin: float,
    swapped: Sequence[float] | None,
    pooled: Pooled | None,
) -> PairReport:
    x, y = lists[a], lists[b]
    if blocked:
        inside = paired(x, y, margin=margin, sides=swapped, pooled=pooled)
        df = inside.noise.df if inside.noise else None
        return PairReport(
            a=a, b=b, change=inside.change, p=inside.p, second_p=inside.signs_p,
            second_test="wilcoxon", same_p=inside.same_p, margin=margin, verdict=inside.verdict,
            trials_needed=inside.blocks_needed,
            detectable=detectable(len(x), inside.sd, blocks=True, df=df),
            noise_within_blocks_ratio=inside.sd_ratio, noise=inside.noise,
            welch=welch_as_given(x, y),
        )  # fmt: skip
    found = compare(x, y, margin=margin)
    # Without a test nobody knows the noise: a deviation of nothing would show any difference.
    sd = None if found.p is None else pooled_sd(logs(x), logs(y))
    report = PairReport(
        a=a, b=b, change=found.change, p=found.p, second_p=found.permutation_p,
        second_test="permutation", same_p=found.same_p, margin=margin, verdict=found.verdict,
        trials_needed=found.trials_needed, detectable=detectable(min(len(x), len(y)), sd),
        g=found.g, delta=found.delta, welch=welch_as_given(x, y),
    )  # fmt: skip
    return report if pooled is None or not pooled.usable else _pooled(report, x, y, pooled)


def _pooled(pair: PairReport, a: Sequence[float], b: Sequence[float], pooled: Pooled) -> PairReport:
    """Judge a pair of independent lists again, by the noise of all treatments."""
    x, y = np.asarray(logs(a)), np.asarray(logs(b))
    alone = float(x.var(ddof=1)) / x.size + float(y.var(ddof=1)) / y.size
    together = pooled.variance * (1 / x.size + 1 / y.size)
    error = math.sqrt(max(alone, together))
    sd = error / math.sqrt(1 / x.size + 1 / y.size)
    n = min(x.size, y.size)
    found = tested(
        float(y.mean() - x.mean()), error, pooled.df, margin=pair.margin, level=pair.change.level,
        n=n, method=f"t of logs, noise of {pooled.treatments} treatments",
    )  # fmt: skip
    verdict = judge(found.change, found.p, found.same_p, pair.margin)
    return pair.model_copy(
        update={
            "change": found.change,
            "p": found.p,
            "same_p": found.same_p,
            "verdict": verdict,
            "trials_needed": needed(math.log1p(pair.margin), sd)
            if verdict == "cannot tell"
            else None,
            "detectable": detectable(n, sd, df=pooled.df),
            "noise": PairNoise(
                treatments=pooled.treatments, df=pooled.df, own_larger=alone > together,
                equal_p=pooled.equal_p,
            ),
        }
    )  # fmt: skip


def _correct(
    pairs: list[PairReport], values: Mapping[str, Sequence[float]], control: str | None
) -> None:
    """Adjust for testing many pairs, and judge again."""
    known = [pair for pair in pairs if pair.p is not None]
    different = adjusted([pair.p for pair in known if pair.p is not None])
    same = adjusted([1.0 if pair.same_p is None else pair.same_p for pair in known])
    for pair, p, same_p in zip(known, different, same, strict=True):
        pair.adjusted_p, pair.same_p = p, same_p
        pair.verdict = judge(pair.change, p, same_p, pair.margin)
    if len(pairs) < 2 or any(len(one) < 2 for one in values.values()):
        return
    together = all_pairs(values) if control is None else against_control(values, control)
    for pair, one in zip(pairs, together, strict=True):
        pair.change_of_all = one.change


def _order(trials: Sequence[Trial], values: Mapping[str, Sequence[float]], drawn: bool) -> Order:
    deviations = {name: iter(one) for name, one in residuals(values).items()}
    run_order = [next(deviations[trial.treatment]) for trial in trials]
    return Order(
        fixed=not drawn and order_fixed([trial.treatment for trial in trials]),
        drift_p=drift(run_order)[0],
        autocorrelation=autocorrelation(run_order),
    )


def _doubts(report: CompareReport) -> list[Doubt]:
    found = []
    if report.order.fixed:
        found.append(
            doubt(
                "order_fixed",
                "Each treatment ran in one go, or all ran in the same order in every round: what "
                "the machine did meanwhile looks like an effect",
            )
        )
    if report.order.drift_p is not None and report.order.drift_p < 0.01:
        found.append(
            doubt(
                "drift",
                "Times rise or fall with the order of trials"
                f" (Mann-Kendall, p = {report.order.drift_p:.2g})",
            )
        )
    few = [one.name for one in report.treatments if len(one.values) < 3]
    if few:
        found.append(
            doubt("few_trials", f"{', '.join(few)}: fewer than three trials, the interval is wide")
        )
    return found
