"""What a recurring job's tuning has come to: ``pyrometer/tuning-online/1`` of ``tune show``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.compare.terminal import show_doubts
from pyrometer.core import units
from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.core.schema import doubt
from pyrometer.experiments.folder import ExperimentPaths
from pyrometer.experiments.journal import read_journal
from pyrometer.statistics.distributions import t_quantile
from pyrometer.tune.judge.terminal import show_not_varied
from pyrometer.tune.online.policy import Policy
from pyrometer.tune.online.run import AS_IT_IS_AGAIN, course, new_policy, not_varied, online_of
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.judged import LAST_RESULTS
from pyrometer.tune.trials.planned import in_brief, named
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import History, history_of
from pyrometer.tune.trials.results import agreed, not_compared

MOST_DECISIONS = 12


class Band(BaseModel):
    """What a run is expected to take, with its 95 % interval, in the objective's unit."""

    value: float
    low: float
    high: float


class OnlineRunReport(BaseModel):
    """A run of the job, or a try that failed.

    Attributes
    ----------
    night : int
        Which scheduled run it is of, from 1; two where the job had to be run again as it is.
    role : str
        As it is (``first``, ``control``), with what was found (``incumbent``), or a ``step``.
    void : bool
        Something outside ended it: it says nothing of its configuration.
    elsewhere : str or None
        The machine, if it was another one: it says nothing then, either.
    folder : str or None
        Its run directory; ``None`` if it was never launched or something killed us with it.
    as_it_is, with_incumbent : Band or None
        What runs were expected to take once it had ended; ``None`` while nobody knows, and where
        there is no incumbent.
    lost_runs, allowed_runs : float
        Runs of the baseline that all runs so far had lost by then, and might have lost.
    """

    trial: int
    night: int = 0
    role: str = ""
    wall_ns: int | None = None
    configuration: dict[str, str]
    why: str
    value: float | None = None
    given_up: bool = False
    failed: str | None = None
    void: bool = False
    elsewhere: str | None = None
    folder: str | None = None
    as_it_is: Band | None = None
    with_incumbent: Band | None = None
    lost_runs: float = 0.0
    allowed_runs: float = 0.0


class DecisionReport(BaseModel):
    """What was decided after which run, and why."""

    trial: int = 0
    night: int = 0
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
    objective : str
        What the values of runs are.
    space : str
        What is varied.
    not_varied : dict of str to str
        What of it is not, since runs showed that it cannot be, each with why.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/tuning-online/1"] = Field(
        "pyrometer/tuning-online/1", alias="schema"
    )
    name: str
    folder: str
    command: list[str] = Field(default_factory=list)
    workload: str = ""
    scale: str = ""
    objective: str = "elapsed"
    space: str = ""
    not_varied: dict[str, str] = Field(default_factory=dict)
    machine: dict[str, str | int | None] = Field(default_factory=dict)
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
    policy = new_policy(tuning, terms, history)
    runs, decisions = _told(root, policy, history)
    change = None
    if (found := policy.change()) is not None:
        effect, error, freedom, count = found
        half = float(t_quantile((1 + LEVEL) / 2, freedom)) * error
        change = Estimate(
            value=math.expm1(effect), low=math.expm1(effect - half),
            high=math.expm1(effect + half), level=LEVEL, n=count,
            method="least squares with a trend, last runs",
        )  # fmt: skip
    move = policy.next()
    what = in_brief(policy.incumbent) if policy.incumbent else "the job as it is"
    told = f"{units.counted(policy.done, 'run')} done: {what}"
    if change is not None and change.value is not None:
        assert change.low is not None
        assert change.high is not None
        ends = f"{units.percent(change.low, True)}, {units.percent(change.high, True)}"
        told += f", {units.percent(change.value, True)} [{ends}]"
    told += f"; {policy.account()}"
    return OnlineReport(
        name=tuning.name, folder=str(root), command=tuning.command, risk=terms.risk,
        over_runs=terms.runs, limit=terms.limit, told=f"{told}.", done_count=policy.done,
        incumbent=dict(policy.incumbent), change=change,
        trying=None if policy.challenger is None else dict(policy.challenger),
        lost_runs=policy.excess, allowed_runs=policy.allowed,
        next=f"{move.role}: {in_brief(move.configuration)} ({move.why})",
        decisions=decisions, runs=runs, workload=tuning.workload, scale=tuning.scale,
        objective=tuning.objective, space=tuning.space.name, machine=tuning.machine,
        not_varied=not_varied(history), doubts=_doubts(tuning, history),
    )  # fmt: skip


def _told(
    root: Path, policy: Policy, history: History
) -> tuple[list[OnlineRunReport], list[DecisionReport]]:
    """Tell a policy all runs, and say how things stood after each."""
    runs: list[OnlineRunReport] = []
    decisions: list[DecisionReport] = []
    trials = ExperimentPaths(root).trials
    night = 0
    for one, decided in course(policy, history):
        asked, told = one.asked, one.told
        assert told is not None
        role, _, why = asked.why.partition(": ")
        night += not why.startswith(AS_IT_IS_AGAIN)
        runs.append(
            OnlineRunReport(
                trial=asked.trial, night=night, role=role, wall_ns=asked.wall_ns,
                configuration=asked.configuration, why=asked.why, value=told.value,
                given_up=told.censored, failed=told.failed, void=told.void,
                elsewhere=asked.elsewhere,
                folder=None if one.ended is None else str(trials / one.ended.folder),
                as_it_is=_band(policy.expected("as it is")),
                with_incumbent=_band(policy.expected("incumbent")),
                lost_runs=policy.excess, allowed_runs=policy.allowed,
            )
        )  # fmt: skip
        decisions += [
            DecisionReport(
                trial=asked.trial, night=night, what=each.what,
                configuration=dict(each.configuration), why=each.why,
            )
            for each in decided
        ]  # fmt: skip
    return runs, decisions


def _band(found: tuple[float, float, float] | None) -> Band | None:
    if found is None:
        return None
    middle, error, freedom = found
    half = float(t_quantile((1 + LEVEL) / 2, freedom)) * error
    return Band(value=math.exp(middle), low=math.exp(middle - half), high=math.exp(middle + half))


def _doubts(tuning: Tuning, history: History) -> list[Doubt]:
    """Say why nobody knows whether a step changes results, where that is so."""
    ended = [one.ended for one in history.baselines if one.ended is not None]
    if tuning.check is not None or not ended:
        return []
    right = agreed(ended[-LAST_RESULTS:])
    if (lacking := not_compared(right)) is None:
        return []
    if right.different > 1:
        message = (
            f"the last {LAST_RESULTS} runs of the job as it is gave different results; until they"
            f" agree, of steps: {lacking}"
        )
        return [doubt("results_differ", message)]
    return [doubt("results_unchecked", f"of steps: {lacking}")]


def show(console: Any, found: OnlineReport) -> None:
    """Print what a recurring job's tuning has come to."""
    console.print(found.told, markup=False, style="bold", soft_wrap=True)
    percent = units.percent(found.risk)
    console.print(
        f"promise: from run {found.over_runs} on, all runs together take at most {percent} longer"
        " than the job as it is would have",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    show_doubts(console, found.doubts)
    for one in found.decisions[-MOST_DECISIONS:]:
        text = f"  {one.what}: {named(one.configuration)}: {one.why}"
        console.print(text, markup=False, soft_wrap=True)
    show_not_varied(console, found.not_varied)
    console.print(f"\nnext run: {found.next}", markup=False, soft_wrap=True)
