"""The report on an experiment: the structure of ``experiment show --json``.

Also what ``corun``, ``layout`` and ``scale`` all report of the trials of their experiments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.core.schema import doubt
from pyrometer.experiments.folder import Ended, LeftOutTreatment
from pyrometer.statistics.factorial import Factorial
from pyrometer.statistics.treatments import CompareReport

ESTIMANDS = {
    "toggle": "treatments took turns in one JVM, whose compiled code, heap and caches they share:"
    " not what each would take in a JVM of its own",
    "duet": "two ran in parallel, each on half of the CPUs: what they do to each other is in it",
    "corun": "workloads at once, each under load of the others for all of the time that counts",
}
"""What is estimated, where treatments do not have the machine and a JVM to themselves."""


class SeriesReport(BaseModel):
    """Which iterations of a trial count.

    Attributes
    ----------
    shape : str or None
        What its times look like (:mod:`pyrometer.statistics.warmup`); ``None`` without iterations.
    series_s : list of float
        All of them, those of the warm-up first.
    counted_from : int or None
        Position from which they count.
    """

    trial: int
    shape: str | None
    series_s: list[float]
    counted_from: int | None


class TreatmentReport(BaseModel):
    """The trials of one treatment.

    Attributes
    ----------
    ends : dict of str to int
        Trials by how they ended.
    censored_s : list of float
        How long trials had run that ran out of time or memory, less what they waited for executors:
        each would have taken longer.
    reasons : list of str
        Why trials did not finish, each once.
    compared : bool
        Whether it is among the comparisons: not where half of its trials or more did not finish.
    series : list of SeriesReport
        Of each trial that finished: which iterations count.
    """

    name: str
    levels: dict[str, str]
    mean: Estimate
    values: list[float]
    ends: dict[str, int]
    censored_s: list[float] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)
    compared: bool = True
    series: list[SeriesReport] = Field(default_factory=list)


class AdjustedPair(BaseModel):
    """A change with the canaries held equal."""

    a: str
    b: str
    change: Estimate


class CanaryReport(BaseModel):
    """What canaries explain; `reason` says why nothing is known.

    Attributes
    ----------
    before : str
        Before what they were measured: each ``iteration``, or each ``trial``.
    moved : list of str
        Measures that treatments move: they are not held equal.
    variance_ratio : float or None
        Variance within blocks with them held equal over that without.
    log_ratio_sd, adjusted_log_ratio_sd : Estimate or None
        Standard deviation of the log ratio of two trials of a block, without and with.
    """

    before: str
    covariates: list[str] = Field(default_factory=list)
    moved: list[str] = Field(default_factory=list)
    variance_ratio: float | None = None
    log_ratio_sd: Estimate | None = None
    adjusted_log_ratio_sd: Estimate | None = None
    slopes: dict[str, Estimate] = Field(default_factory=dict)
    pairs: list[AdjustedPair] = Field(default_factory=list)
    reason: str | None = None


class ExperimentReport(BaseModel):
    """Structure of ``experiment show --json`` (``pyrometer/experiment-report/1``).

    Attributes
    ----------
    estimand : str or None
        What is estimated, where treatments do not run alone, each in a fresh JVM.
    carry_over_p : float or None
        Where treatments took turns: p of the F test of whether it matters which came before.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/experiment-report/1"] = Field(
        "pyrometer/experiment-report/1", alias="schema"
    )
    name: str
    workload: str
    scale: str
    kind: str
    estimand: str | None = None
    carry_over_p: float | None = None
    seed: int
    blocks: int
    margin: float
    baseline: str | None
    trials_count: int
    done_count: int
    repeated_count: int
    disturbed_count: int
    treatments: list[TreatmentReport]
    left_out: list[LeftOutTreatment]
    comparison: CompareReport | None = None
    reason: str | None = None
    canaries: CanaryReport | None = None
    factors: Factorial | None = None
    doubts: list[Doubt] = Field(default_factory=list)


class TrialsReport(BaseModel):
    """Which experiment is reported, and how many of its trials.

    Attributes
    ----------
    experiment, folder : str
        Its name, and where it lies.
    done_count : int
        Trials that finished.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: str = Field(alias="schema")
    experiment: str
    folder: str
    scale: str
    trials_count: int
    done_count: int


@dataclass(frozen=True)
class Measures:
    """The measures of one trial.

    Attributes
    ----------
    measures : dict of str to float
        Those that are known.
    missing : dict of str to str
        Why others are not.
    unread : str or None
        Why the trial's run could not be read.
    """

    measures: dict[str, float]
    missing: dict[str, str] = field(default_factory=dict)
    unread: str | None = None


def in_none(names: Iterable[str], trials: Sequence[Measures]) -> dict[str, str]:
    """Find measures that no trial has; return why the first lacks them whose run was read.

    Examples
    --------
    >>> in_none(["ipc", "gc_s"], [Measures({"gc_s": 1.0}, {"ipc": "no counters"})])
    {'ipc': 'no counters'}
    """
    read = [one for one in trials if one.unread is None] or trials
    return {
        name: read[0].missing[name]
        for name in names
        if trials and all(name not in one.measures for one in trials)
    }


MOST_NAMED = 3


def unread(trials: Sequence[tuple[Ended, Measures]]) -> list[Doubt]:
    """Doubt trials whose runs could not be read."""
    lost = [f"trial {one.trial}: {its.unread}" for one, its in trials if its.unread is not None]
    if not lost:
        return []
    more = f"; and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
    message = f"{len(lost)} of {len(trials)} trials: {'; '.join(lost[:MOST_NAMED])}{more}"
    return [doubt("trials_unread", message)]
