"""The report on a search: the structure of ``experiment bisect --json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.core.schema import doubt
from pyrometer.experiments.bisect.state import (
    State,
    Status,
    bisection_of,
    is_lower_bound,
    state_of,
)
from pyrometer.experiments.bisect.words import verdict
from pyrometer.experiments.folder import Ended, Plan
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.analysis import differing, disturbed
from pyrometer.experiments.judge.machines import doubts_of_machines, doubts_of_nodes
from pyrometer.experiments.slow_hosts import hosts_differ, judged_again
from pyrometer.statistics.two import mean_of

MISFIT = 0.01
"""p below which levels differ by more than one step."""


class LevelReport(BaseModel):
    """One level of the list.

    Attributes
    ----------
    probability : float
        That it is the first slower one, or one of those of ``together``.
    together : list of str
        Levels that no trial can tell apart from it: those before it that cannot run.
    reason : str or None
        Why it cannot run.
    """

    level: str
    treatment: str | None
    probability: float
    together: list[str] = Field(default_factory=list)
    mean: Estimate
    values: list[float]
    ends: dict[str, int]
    reason: str | None = None


class BisectionReport(BaseModel):
    """Structure of ``experiment bisect --json`` (``pyrometer/experiment-bisect/1``).

    Attributes
    ----------
    status : str
        ``found``, ``none`` (no level is slower by the margin) or ``undecided``.
    first_slower : list of str
        The answer; several where those that cannot run cannot be told apart from it.
    probability, none_probability : float
        Of the most probable answer, and that no level is slower.
    change : Estimate
        Relative change of the time from the levels before it; the interval holds wherever the
        search stops.
    noise_sd : float or None
        Of the logarithm of a trial's time.
    misfit_p : float or None
        F test of one step against levels that each have a time of their own.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: str = Field("pyrometer/experiment-bisect/1", alias="schema")
    name: str
    workload: str
    scale: str
    over: str
    error: float
    margin: float
    seed: int
    status: Status
    verdict: str
    first_slower: list[str]
    probability: float
    none_probability: float
    change: Estimate
    reason: str | None = None
    noise_sd: float | None
    misfit_p: float | None
    trials_count: int
    most_trials: int
    levels: list[LevelReport]
    doubts: list[Doubt] = Field(default_factory=list)


def bisection_report(root: Path, plan: Plan, entries: Entries) -> BisectionReport:
    """Report on a search, ended or not; `root` is its folder, for messages.

    Raises
    ------
    WorkloadError
        If the first level, or all others, fail.
    """
    entries = judged_again(plan, entries)
    state, wanted = state_of(root, plan, entries), bisection_of(plan)
    belief = state.belief
    best = belief.best
    none = next(one.probability for one in belief.hypotheses if not one.levels)
    return BisectionReport(
        name=plan.name,
        workload=plan.workload,
        scale=plan.scale,
        over=wanted.over,
        error=wanted.error,
        margin=plan.margin,
        seed=plan.seed,
        status=state.status,
        verdict=verdict(plan, state),
        first_slower=[wanted.levels[at] for at in best.levels] if state.decided else [],
        probability=best.probability,
        none_probability=none,
        change=belief.change,
        reason=None if belief.change.value is not None else _no_change(state),
        noise_sd=belief.noise,
        misfit_p=belief.misfit_p,
        trials_count=len(state.ended),
        most_trials=wanted.most_trials,
        levels=_levels(plan, state),
        doubts=[*_doubts(plan, state), *hosts_differ(plan, entries)],
    )


def _no_change(state: State) -> str:
    if len(state.ended) < 2:
        return "too few trials have ended"
    return "that no level is slower is the most probable"


def _levels(plan: Plan, state: State) -> list[LevelReport]:
    wanted = bisection_of(plan)
    reasons = {one.varied.get(wanted.over): one.reason for one in plan.left_out}
    groups = {at: one for one in state.belief.hypotheses for at in one.levels}
    found = []
    for at, level in enumerate(wanted.levels):
        name = wanted.treatments.get(level)
        mine = [one for one in state.ended if one.treatment == name]
        values = [one.seconds for one in mine if one.seconds is not None]
        failed = next((one.reason or one.status for one in mine if one.seconds is None), None)
        group = groups.get(at)
        found.append(
            LevelReport(
                level=level,
                treatment=name,
                probability=group.probability if group else 0.0,
                together=[wanted.levels[one] for one in group.levels if one != at] if group else [],
                mean=mean_of(values),
                values=values,
                ends=dict(Counter(one.status for one in mine)),
                reason=reasons.get(level, failed) if at in state.search.out else None,
            )
        )
    return found


def _doubts(plan: Plan, state: State) -> list[Doubt]:
    ended: Sequence[Ended] = state.ended
    found = [
        *differing(ended),
        *doubts_of_machines(ended),
        *doubts_of_nodes(plan),
        *disturbed(ended),
    ]
    if late := state.late:
        times = [one.worked_s for one in late if one.worked_s is not None]
        after = f" after {min(times):.4g} s" if times else ""
        bound = is_lower_bound(plan, state)
        size = "is at least what is said" if bound else "may be larger or smaller"
        message = (
            f"{len(late)} of {len(ended)} trials ran out of time{after} and count with that time:"
            f" they would have taken longer, and the change {size}"
        )
        found.append(doubt("trials_out_of_time", message))
    p = state.belief.misfit_p
    if p is not None and p < MISFIT:
        message = f"levels differ by more than one step (F test, p = {p:.2g})"
        found.append(doubt("not_one_step", message))
    return found
