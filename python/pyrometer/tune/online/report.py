"""What a recurring job's tuning has come to: ``pyrometer/tuning-online/1`` of ``tune show``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from scipy import stats

from pyrometer.compare.terminal import show_doubts
from pyrometer.core import units
from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.core.schema import doubt
from pyrometer.experiments.journal import read_journal
from pyrometer.tune.online.run import online_of, policy_of
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.planned import in_brief, named
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import History, history_of

MOST_DECISIONS = 12


class OnlineRunReport(BaseModel):
    """A run of the job, or a try that came to nothing."""

    trial: int
    configuration: dict[str, str]
    why: str
    value: float | None = None
    given_up: bool = False
    failed: str | None = None


class DecisionReport(BaseModel):
    """What was decided, and why."""

    what: str
    configuration: dict[str, str]
    why: str


class OnlineReport(BaseModel):
    """A recurring job.

    Attributes
    ----------
    change : Estimate or None
        Of the incumbent's last runs to the baseline, a ratio less one.
    lost_runs, allowed_runs : float
        Runs of the baseline that all runs have lost, below 0 saved, and may have lost by now.
    next : str
        What the next scheduled run will be.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/tuning-online/1"] = Field(
        "pyrometer/tuning-online/1", alias="schema"
    )
    name: str
    folder: str
    command: list[str] = Field(default_factory=list)
    risk: float
    over_runs: int
    limit: float
    told: str
    done_count: int
    incumbent: dict[str, str] = Field(default_factory=dict)
    change: Estimate | None = None
    trying: dict[str, str] | None = None
    lost_runs: float
    allowed_runs: float
    next: str
    decisions: list[DecisionReport] = Field(default_factory=list)
    runs: list[OnlineRunReport] = Field(default_factory=list)
    doubts: list[Doubt] = Field(default_factory=list)


def online_report(root: Path) -> OnlineReport:
    """Report on a recurring job.

    Raises
    ------
    UsageError
        If it is none, or its journal was edited.
    """
    tuning, terms = online_of(root)
    history = history_of(read_journal(root, KINDS))
    policy, decided = policy_of(tuning, terms, history)
    change = None
    if (found := policy.change()) is not None:
        effect, error, freedom, count = found
        half = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * error
        change = Estimate(
            value=math.expm1(effect), low=math.expm1(effect - half),
            high=math.expm1(effect + half), level=LEVEL, n=count,
            method="least squares with a trend, last runs",
        )  # fmt: skip
    move = policy.next()
    what = in_brief(policy.incumbent) if policy.incumbent else "the job as it is"
    told = f"{units.counted(policy.done, 'run')}: {what}"
    if change is not None and change.value is not None:
        assert change.low is not None
        assert change.high is not None
        ends = f"{units.percent(change.low, True)}, {units.percent(change.high, True)}"
        told += f", {units.percent(change.value, True)} [{ends}]"
    told += f"; {policy.excess:.2f} of {policy.allowed:.2f} runs lost"
    return OnlineReport(
        name=tuning.name, folder=str(root), command=tuning.command, risk=terms.risk,
        over_runs=terms.runs, limit=terms.limit, told=f"{told}.", done_count=policy.done,
        incumbent=dict(policy.incumbent), change=change,
        trying=None if policy.challenger is None else dict(policy.challenger),
        lost_runs=policy.excess, allowed_runs=policy.allowed,
        next=f"{move.role}: {in_brief(move.configuration)} ({move.why})",
        decisions=[
            DecisionReport(what=one.what, configuration=dict(one.configuration), why=one.why)
            for one in decided
        ],
        runs=[
            OnlineRunReport(
                trial=one.asked.trial, configuration=one.asked.configuration, why=one.asked.why,
                value=one.told.value, given_up=one.told.censored, failed=one.told.failed,
            )
            for one in history.steps
            if one.told is not None
        ],
        doubts=_doubts(tuning, history),
    )  # fmt: skip


def _doubts(tuning: Tuning, history: History) -> list[Doubt]:
    """Say why nobody knows whether a step changes results, where that is so."""
    ended = [one.ended for one in history.baselines if one.ended is not None]
    if tuning.check is not None or not ended:
        return []
    results = {(one.rows, one.checksum) for one in ended if one.checksum is not None}
    if not results:
        return [doubt("results_unchecked", "results of steps were not compared")]
    if len(results) > 1:
        message = f"the job as it is gave {len(results)} results: those of steps are not compared"
        return [doubt("results_differ", message)]
    return []


def show(console: Any, found: OnlineReport) -> None:
    """Print what a recurring job's tuning has come to."""
    console.print(found.told, markup=False, style="bold", soft_wrap=True)
    percent = units.percent(found.risk)
    console.print(
        f"promise: all runs together at most {percent} more than as it is, from run"
        f" {found.over_runs} on",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    show_doubts(console, found.doubts)
    for one in found.decisions[-MOST_DECISIONS:]:
        text = f"  {one.what}: {named(one.configuration)}: {one.why}"
        console.print(text, markup=False, soft_wrap=True)
    console.print(f"\nnext run: {found.next}", markup=False, soft_wrap=True)
