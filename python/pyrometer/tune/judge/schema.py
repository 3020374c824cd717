"""The report on a tuning: the structure of ``tune show --json`` (``pyrometer/tuning/1``)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.compare.cause_schema import Cause
from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.tune.believe.verdict import Verdict
from pyrometer.tune.importance.front import Both
from pyrometer.tune.trials.folder import Objective, Prior
from pyrometer.tune.trials.records import Similar

State = Literal["searching", "confirming", "done"]
TrialStatus = Literal["finished", "gave up", "failed", "not launched", "under way"]


class BudgetReport(BaseModel):
    """What it may cost, and has: all in the budget's unit.

    Attributes
    ----------
    searched, confirmed : float
        What trials of the search, and of confirmations, have taken.
    core_s : float
        Core time of all trials: their length times the CPUs that they occupied.
    """

    text: str
    unit: str
    amount: float
    reserved: float
    searched: float
    confirmed: float
    core_s: float


class KnobReport(BaseModel):
    """A factor that is varied, with its range here."""

    factor: str
    kind: str
    low: float | None = None
    high: float | None = None
    levels: list[str] = Field(default_factory=list)
    log: bool = False
    default: str | None = None
    breaks: str | None = None


class TrialReport(BaseModel):
    """One trial of the search.

    Attributes
    ----------
    value : float or None
        The objective, times in ns; of one that was given up what it had reached, at least.
    best_so_far : float or None
        Least value of a full trial up to this one.
    change : float or None
        Value over the mean of the baseline, less one.
    failed : str or None
        Why it counts for nothing.
    folder : str or None
        Its run directory.
    """

    trial: int
    configuration: dict[str, str]
    fidelity: str
    block: int
    why: str
    status: TrialStatus
    value: float | None = None
    change: float | None = None
    best_so_far: float | None = None
    failed: str | None = None
    limit_s: float | None = None
    cost_core_s: float = 0.0
    canary: float | None = None
    metrics: dict[str, float] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)
    disturbed: list[str] = Field(default_factory=list)
    folder: str | None = None


class StandInReport(BaseModel):
    """A cheap stand-in for a run.

    Attributes
    ----------
    share : float or None
        Cost of its trials over that of a full run, measured.
    correlation : Estimate
        Spearman's rank correlation with the full run, of the configurations that ran at both.
    trials : int
        How many trials ran at it.
    left_out : str or None
        Why it was not used, or not any more.
    """

    name: str
    summary: str
    share: float | None = None
    correlation: Estimate
    trials: int = 0
    left_out: str | None = None


class ScreenedReport(BaseModel):
    """What a factor did between its default and another level, in a screening at a stand-in.

    Attributes
    ----------
    effect : Estimate
        Ratio of the objective at the level to that at the default, less one.
    dropped : bool
        Whether the search left it at its default from then on.
    """

    factor: str
    level: str
    effect: Estimate
    dropped: bool


class Discarded(BaseModel):
    """A configuration that counts for nothing, or was never launched, and why."""

    configuration: dict[str, str]
    reason: str
    trials: list[int]


class Recommendation(BaseModel):
    """A change that needs no trial: a finding of the baseline's run with a factor as its remedy.

    Attributes
    ----------
    saving_ratio : Estimate
        Elapsed time that it is predicted to save.
    trials : list of int
        Trials that had these levels.
    """

    finding: str
    title: str
    text: str
    levels: dict[str, str]
    saving_ratio: Estimate
    trials: list[int] = Field(default_factory=list)


class BestReport(BaseModel):
    """What the search ended with: not confirmed by itself.

    Attributes
    ----------
    change : Estimate or None
        Of the objective, as the engine believes; ``None`` while it searches.
    """

    configuration: dict[str, str]
    change: Estimate | None = None
    trials: int = 0
    why: str | None = None


class Confirmed(BaseModel):
    """What fresh blocks say, at one scale.

    Attributes
    ----------
    told : str
        The verdict in words.
    pairs : list of (float, float)
        The objective of baseline and winner, a block each, times in ns.
    runs : list of (str, str)
        Their run directories.
    failures : list of str
        Why trials of the winner came to nothing.
    folders : list of str
        The experiments.
    """

    scale: str
    told: str
    verdict: Verdict
    pairs: list[tuple[float, float]] = Field(default_factory=list)
    runs: list[tuple[str, str]] = Field(default_factory=list)
    blocks_planned: int = 0
    failures: list[str] = Field(default_factory=list)
    folders: list[str] = Field(default_factory=list)


class Earning(BaseModel):
    """After how many runs of the job what was spent is earned back.

    Attributes
    ----------
    core_s_a_run : Estimate
        Core time that one run of the job saves.
    runs : Estimate
        Runs; ``None`` with `reason` where nothing was confirmed.
    """

    core_s_a_run: Estimate | None = None
    runs: Estimate | None = None
    reason: str | None = None


class Influence(BaseModel):
    """How much of what trials differ by goes back to a factor, or to two together."""

    factors: list[str]
    share: Estimate
    text: str | None = None


class DependencePoint(BaseModel):
    """What the model believes at one level, averaged over the other factors.

    Attributes
    ----------
    level : str or None
        ``None``: the factor is not set.
    change : Estimate
        Ratio of the objective to that at the default, less one.
    """

    level: str | None
    change: Estimate


class Dependence(BaseModel):
    """What the model believes of one factor."""

    factor: str
    points: list[DependencePoint]


class Shortened(BaseModel):
    """The shortest configuration that keeps the gain.

    Attributes
    ----------
    loss : Estimate
        What it is believed to lose against the winner, as a share.
    sure : bool
        Whether all of the interval lies within what may be lost.
    """

    told: str
    configuration: dict[str, str]
    put_back: list[str]
    loss: Estimate
    sure: bool


class FrontReport(BaseModel):
    """Configurations by the objective and by another metric: those that nothing beats in both.

    Attributes
    ----------
    metric : str
        ``elapsed``, ``core_seconds`` (both in s) or ``peak_memory`` (bytes); never the objective's.
    """

    metric: str
    points: list[Both]


class Why(BaseModel):
    """Why the winner is faster: seconds by cause, of baseline and winner runs compared."""

    baseline_runs: list[str] = Field(default_factory=list)
    winner_runs: list[str] = Field(default_factory=list)
    answer: list[str] = Field(default_factory=list)
    a_s: float | None = None
    b_s: float | None = None
    causes: list[Cause] = Field(default_factory=list)
    cannot_tell: list[str] = Field(default_factory=list)
    reason: str | None = None


class TuningReport(BaseModel):
    """A tuning, finished or not.

    Attributes
    ----------
    told : str
        What came of it, in one sentence.
    similar : list of Similar
        Earlier tunings that the start was warmed with, and what differs.
    stand_ins : list of StandInReport
        Cheap stand-ins for a run, and how well each ranks.
    screened : list of ScreenedReport
        What a screening showed of each factor; those that it dropped are marked.
    discarded, not_launched : list of Discarded
        What failed, changed results or broke a condition; and what was never tried.
    unapplied : dict of str to str
        Factors that were dropped since their levels did not hold, each with what a trial showed.
    elsewhere_reason : str or None
        Why a winner that was confirmed was not at another scale, and what would do it.
    before : list of Recommendation
        What could be recommended before any trial; `before_reason` says why there is nothing.
    influence : list of Influence
        The factors by how much they matter; `influence_reason` says why nothing is known.
    dependence : list of Dependence
        What the model believes of each factor.
    shortest : Shortened or None
        What of the winner could be left out without losing more than a little.
    fronts : list of FrontReport
        The objective against time, core time and memory.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/tuning/1"] = Field("pyrometer/tuning/1", alias="schema")
    name: str
    folder: str
    workload: str
    command: list[str] = Field(default_factory=list)
    scale: str
    objective: Objective
    currency: str = ""
    conditions: list[str] = Field(default_factory=list)
    shared: dict[str, str] = Field(default_factory=dict)
    state: State
    told: str
    seed: int
    margin: float
    machine: dict[str, Any] = Field(default_factory=dict)
    budget: BudgetReport
    space: str
    knobs: list[KnobReport]
    constraints: list[str] = Field(default_factory=list)
    priors: list[Prior] = Field(default_factory=list)
    trials: list[TrialReport]
    stand_ins: list[StandInReport] = Field(default_factory=list)
    screened: list[ScreenedReport] = Field(default_factory=list)
    baseline: Estimate | None = None
    best: BestReport | None = None
    discarded: list[Discarded] = Field(default_factory=list)
    not_launched: list[Discarded] = Field(default_factory=list)
    unapplied: dict[str, str] = Field(default_factory=dict)
    before: list[Recommendation] = Field(default_factory=list)
    before_reason: str | None = None
    similar: list[Similar] = Field(default_factory=list)
    confirmation: Confirmed | None = None
    elsewhere: list[Confirmed] = Field(default_factory=list)
    elsewhere_reason: str | None = None
    earned_back: Earning = Field(default_factory=Earning)
    influence: list[Influence] = Field(default_factory=list)
    influence_reason: str | None = None
    dependence: list[Dependence] = Field(default_factory=list)
    shortest: Shortened | None = None
    fronts: list[FrontReport] = Field(default_factory=list)
    why: Why | None = None
    doubts: list[Doubt] = Field(default_factory=list)
