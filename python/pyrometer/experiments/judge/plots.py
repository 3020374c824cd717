"""What the plots of an experiment show: matrix, interactions, run order, and cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, median

from pydantic import BaseModel, Field

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.experiments.folder import Canaries, Ended, Plan
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.forecast import Forecast, forecast, past_trials
from pyrometer.experiments.judge.schema import ExperimentReport
from pyrometer.experiments.slow_hosts import judged_again, medians_of_hosts
from pyrometer.statistics.blocks import residuals
from pyrometer.statistics.factorial import UNSET
from pyrometer.statistics.two import geometric_mean_of, mean_of


class MatrixCell(BaseModel):
    """One treatment in the matrix.

    ``levels`` are those of the matrix. ``ratio`` is its geometric mean over that of the reference;
    ``reason`` says why there is none.
    """

    treatment: str
    levels: dict[str, str]
    ratio: float | None = None
    time: Estimate | None = None
    change: Estimate | None = None
    verdict: str | None = None
    reason: str | None = None


class Matrix(BaseModel):
    """Treatments by the two factors with most levels; the others' levels form a grid of them.

    ``reference`` says what ratios are of: the baseline, or the geometric mean of all treatments.
    """

    factors: dict[str, list[str]]
    reference: str
    cells: list[MatrixCell]


class InteractionPoint(BaseModel):
    """Trials that share a level of each of two factors."""

    a: str
    b: str
    time: Estimate


class Interaction(BaseModel):
    """Two factors: whether what one does depends on the other.

    ``adjusted_p`` is that of their common term in the factorial model, if it has one.
    """

    factors: tuple[str, str]
    points: list[InteractionPoint]
    adjusted_p: float | None = None


class HostPoint(BaseModel):
    """A host of a cluster in one attempt at a trial, by its canary before.

    ``canaries`` are over the host's own median, less 1; ``age_s`` is how long before the trial's
    first executor there it was measured; ``reason`` says why there is none.
    """

    host: str
    canaries: dict[str, float] = Field(default_factory=dict)
    age_s: float | None = None
    reason: str | None = None


class OrderPoint(BaseModel):
    """One attempt at a trial in the order of time; numbers are relative.

    ``residual`` is its time over the geometric mean of its treatment, less 1; canaries are over
    their median, less 1.
    """

    number: int
    attempt: int
    block: int
    treatment: str
    status: str
    folder: str
    wall_ns: int
    seconds: float | None = None
    residual: float | None = None
    duration_s: float | None = None
    waited_s: float = 0.0
    canaries: dict[str, float] = Field(default_factory=dict)
    hosts: list[HostPoint] = Field(default_factory=list)
    disturbed: list[str] = Field(default_factory=list)
    shape: str | None = None
    counted_from: int | None = None
    reason: str | None = None


class RunOrder(BaseModel):
    """All attempts, and the trend of their residuals from the first trial to the last."""

    points: list[OrderPoint]
    trend: Estimate


class TreatmentCost(BaseModel):
    """How long a treatment's attempts took, launch and ingest included."""

    treatment: str
    trials_count: int
    trial_s: Estimate
    total_s: float


class Cost(BaseModel):
    """How long the experiment took, and how long what remains will take.

    ``elapsed_s`` is from the first trial's beginning to the last one's end, pauses included;
    ``waited_s`` the part of ``trials_s`` in which the guard waited for calm; ``left_s`` what trials
    that are still to come will take by the mean of those that ended.
    """

    treatments: list[TreatmentCost]
    trials_s: float
    waited_s: float
    elapsed_s: float | None
    left_s: float | None


class ExperimentPlots(BaseModel):
    """All plots of an experiment."""

    matrix: Matrix
    interactions: list[Interaction]
    order: RunOrder
    cost: Cost
    forecast: Forecast


CANARIES = ("alu_ns", "latency_ns", "copy_bytes_per_s")


def experiment_plots(plan: Plan, entries: Entries, report: ExperimentReport) -> ExperimentPlots:
    """Compute all plots of an experiment.

    Parameters
    ----------
    plan, entries : Plan, Entries
        As its folder holds them.
    report : ExperimentReport
        The same experiment, judged.
    """
    pairs = len(report.comparison.pairs) if report.comparison else 1
    entries = judged_again(plan, entries)
    return ExperimentPlots(
        matrix=_matrix(plan, report),
        interactions=_interactions(plan, report),
        order=run_order(entries),
        cost=cost_of(plan, entries),
        forecast=foreseen(plan, entries, pairs, report.margin),
    )


def foreseen(plan: Plan, entries: Entries, comparisons: int, margin: float) -> Forecast:
    """Forecast an experiment from its own trials.

    Parameters
    ----------
    comparisons : int
        Pairs that are judged.
    margin : float
        Relative difference that counts as none.
    """
    return forecast(
        past_trials(plan, entries), kind=plan.kind, trials=len(plan.trials), blocks=plan.blocks,
        comparisons=max(1, comparisons), margin=margin,
    )  # fmt: skip


def _attempts(entries: Entries) -> list[Ended]:
    """All attempts in the order of time."""
    return sorted([*entries.ended.values(), *entries.disturbed], key=lambda one: one.wall_ns)


def _matrix(plan: Plan, report: ExperimentReport) -> Matrix:
    varied = {one.name: one.varied for one in plan.treatments}
    times = {one.name: geometric_mean_of(one.values) for one in report.treatments if one.values}
    base = times.get(report.baseline or "")
    known = [one.value for one in times.values() if one.value]
    middle = base.value if base else math.exp(fmean(map(math.log, known))) if known else None
    pairs = {one.b: one for one in (report.comparison.pairs if report.comparison else ())}
    cells = []
    for one in report.treatments:
        time = times.get(one.name)
        pair = pairs.get(one.name) if report.baseline else None
        cells.append(
            MatrixCell(
                treatment=one.name,
                levels=varied[one.name],
                ratio=time.value / middle if time and time.value and middle else None,
                time=time,
                change=pair.change if pair else None,
                verdict=pair.verdict if pair else None,
                reason=None if time else "; ".join(one.reasons) or "no trial has finished",
            )
        )
    cells += [
        MatrixCell(treatment=one.name, levels=one.varied, reason=f"left out: {one.reason}")
        for one in plan.left_out
        if one.varied
    ]
    return Matrix(
        factors=_factors([one.levels for one in cells]),
        reference=report.baseline if base and report.baseline else "the geometric mean of all",
        cells=cells,
    )


def _factors(levels: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Factors that vary, those with most levels first, each with its levels in order."""
    names = dict.fromkeys(name for one in levels for name in one)
    found = {name: list(dict.fromkeys(o.get(name, UNSET) for o in levels)) for name in names}
    kept = [(name, one) for name, one in found.items() if len(one) > 1] or list(found.items())
    return dict(sorted(kept, key=lambda item: -len(item[1])))


def _interactions(plan: Plan, report: ExperimentReport) -> list[Interaction]:
    varied = {one.name: one.varied for one in plan.treatments}
    shown = [one for one in report.treatments if one.values and one.compared]
    factors = _factors([varied[one.name] for one in shown])
    effects = report.factors.effects if report.factors else []
    p = {frozenset(one.factors): one.adjusted_p for one in effects}
    found, noise = report.factors, None
    # Whole plots of a split plot have different noise: each point then uses its values alone.
    if found and found.whole_noise_sd is None and found.noise_sd and found.freedom:
        noise = found.noise_sd, found.freedom
    interactions = []
    for a, b in combinations([name for name, levels in factors.items() if len(levels) > 1], 2):
        lists: dict[tuple[str, str], list[float]] = {}
        for one in shown:
            at = varied[one.name].get(a, UNSET), varied[one.name].get(b, UNSET)
            lists.setdefault(at, []).extend(one.values)
        points = [
            InteractionPoint(a=at[0], b=at[1], time=geometric_mean_of(values, noise=noise))
            for at, values in lists.items()
        ]
        interactions.append(
            Interaction(factors=(a, b), points=points, adjusted_p=p.get(frozenset((a, b))))
        )
    return sorted(interactions, key=lambda one: 1.0 if one.adjusted_p is None else one.adjusted_p)


def run_order(entries: Entries) -> RunOrder:
    """All attempts in the order of time, each relative to its treatment."""
    attempts = _attempts(entries)
    finished = [one for one in attempts if one.status == "finished" and one.seconds]
    lists: dict[str, list[float]] = {}
    for one in finished:
        lists.setdefault(one.treatment, []).append(one.seconds or 0.0)
    deviations = {name: iter(values) for name, values in residuals(lists).items()}
    found = {id(one): next(deviations[one.treatment]) for one in finished}
    middles = _canary_medians([one.canaries for one in attempts if one.canaries])
    hosts = medians_of_hosts(entries)
    return RunOrder(
        points=[_point(one, found.get(id(one)), middles, hosts) for one in attempts],
        trend=trend([found[id(one)] for one in finished]),
    )


def _point(
    one: Ended,
    residual: float | None,
    middles: Mapping[str, float],
    hosts: Mapping[str, Mapping[str, float]],
) -> OrderPoint:
    facts = one.canaries.model_dump() if one.canaries else {}
    return OrderPoint(
        number=one.trial, attempt=one.attempt, block=one.block, treatment=one.treatment,
        status=one.status, folder=one.folder, wall_ns=one.wall_ns, seconds=one.seconds,
        residual=None if residual is None else math.expm1(residual),
        duration_s=one.duration_s, waited_s=one.before.waited_s if one.before else 0.0,
        canaries=_relative(facts, middles),
        hosts=[
            HostPoint(
                host=seen.host, age_s=seen.canary.age_s, reason=seen.canary.reason,
                canaries=_relative(seen.canary.model_dump(), hosts.get(seen.host, {})),
            )
            for seen in (one.during.hosts if one.during else ()) if seen.canary
        ],
        disturbed=[text for seen in (one.before, one.during) if seen for text in seen.disturbed],
        shape=one.shape, counted_from=one.counted_from, reason=one.reason,
    )  # fmt: skip


def _relative(facts: Mapping[str, float], middles: Mapping[str, float]) -> dict[str, float]:
    return {name: facts[name] / middle - 1 for name, middle in middles.items() if facts.get(name)}


def _canary_medians(seen: Sequence[Canaries]) -> dict[str, float]:
    lists = {name: [v for one in seen if (v := getattr(one, name))] for name in CANARIES}
    return {name: median(values) for name, values in lists.items() if values}


def trend(residuals: Sequence[float], level: float = LEVEL) -> Estimate:
    """Relative change from the first trial to the last, by the slope of Theil and Sen (1968).

    Parameters
    ----------
    residuals : sequence of float
        Logarithms less the mean of their treatment, in the order of time.

    Examples
    --------
    >>> round(trend([0.00, 0.01, 0.02, 0.03, 0.04]).value, 4)
    0.0408
    >>> trend([0.0, 0.1]).value is None
    True
    """
    from scipy import stats

    n = len(residuals)
    ends: list[float | None] = [None, None, None]
    if n > 3:
        found = stats.theilslopes(residuals, alpha=level)
        slopes = (found.slope, found.low_slope, found.high_slope)
        ends = [math.expm1(float(one) * (n - 1)) for one in slopes]
    return Estimate(
        value=ends[0], low=ends[1], high=ends[2], level=level, n=n, method="theil-sen of logs"
    )


def cost_of(plan: Plan, entries: Entries) -> Cost:
    """How long an experiment took, and how long what remains will take."""
    attempts, treatments = _attempts(entries), []
    for one in plan.treatments:
        took = [e.duration_s for e in attempts if e.treatment == one.name and e.duration_s]
        treatments.append(
            TreatmentCost(
                treatment=one.name, trials_count=len(took), trial_s=mean_of(took), total_s=sum(took)
            )
        )
    lengths = [e.duration_s for e in attempts if e.duration_s]
    remaining = len(plan.trials) - len(entries.ended)
    launches = _launches(plan, attempts)
    first = [e.duration_s for e in launches[0] if e.duration_s is not None] if launches else []
    elapsed = None
    if first:
        elapsed = sum(first) + (attempts[-1].wall_ns - attempts[0].wall_ns) / 1e9
    return Cost(
        treatments=treatments,
        trials_s=sum(lengths),
        waited_s=sum(one[0].before.waited_s for one in launches if one[0].before),
        elapsed_s=elapsed,
        left_s=remaining * fmean(lengths) if lengths else None if remaining else 0.0,
    )


def _launches(plan: Plan, attempts: Sequence[Ended]) -> list[list[Ended]]:
    """Group attempts by the launch that they share: each has its part of the launch's time."""
    shared = {one.number: one.launch for one in plan.trials if one.launch is not None}
    found: dict[tuple[int, int, int], list[Ended]] = {}
    for one in attempts:
        launch = shared.get(one.trial)
        key = (0, one.trial, one.attempt) if launch is None else (1, launch, one.attempt)
        found.setdefault(key, []).append(one)
    return list(found.values())
