"""The smallest fair experiment on a finding: as it was against with the remedy. Pure.

Both are launched alike, in random order within blocks, in fresh processes. There are as many blocks
as find the predicted saving with a chance of 0.8, given the noise of the run, and at least three;
where they take longer than the budget, the data get smaller, or nothing is run.
"""

from __future__ import annotations

import math
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pyrometer.collect.launch.command import understand
from pyrometer.collect.launch.executors_place import alone
from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.core.redaction import Redactor
from pyrometer.explain.schema import Finding
from pyrometer.explain.words import LEAST_BIAS
from pyrometer.statistics.power import detectable, needed
from pyrometer.statistics.two import MARGIN
from pyrometer.verification.by_hand import (
    DRIVER_MEMORY,
    SCALE,
    STRUCK_OUT,
    beside,
    by_hand,
    factor_remedies,
    factor_remedy,
    levels_of,
    replaced,
    run_again,
)
from pyrometer.verification.ran import Ran
from pyrometer.workloads.custom.typed_command import filled_in

AS_IT_WAS = "as it was"
REMEDY = "with the remedy"
FEWEST_BLOCKS = 3
"""Of fewer, the comparison itself says that its interval is wide (doubt ``few_trials``)."""
FEWEST_TIMES = 3
MOST_ITERATIONS = 3
"""Iterations of a trial: blocks show how runs differ, further iterations do not."""
LEAST_SD = 0.02
"""Least deviation of a trial's logarithm: how runs differ does not show in one run."""
TRIALS_SHARE = 0.9
"""Share of the budget that trials take; the rest is for waiting until the machine is calm."""

MOST = 0.99
"""Share of a trial's time that a remedy is planned to save: it cannot save all."""

Policy = Literal["wait", "flag", "repeat"]

VARIANT = "remedy"


@dataclass(frozen=True)
class Proposal:
    """An experiment that can be run.

    Attributes
    ----------
    workload : str or None
        As of `Ran`; ``None``: a file is to be written for the command.
    changed : tuple of str
        The command with the remedy, where the remedy is in it.
    shared, remedy : mapping of str to str
        Levels of both treatments, and of the second alone.
    own : mapping of str to str
        Levels of the first alone: the run's own, in whose place the remedy is.
    scale : str
        Of the data.
    smaller : str or None
        Why the data are smaller than the run's.
    trial_s : float
        Expected length of a trial.
    sd : float
        Expected deviation of the logarithm of its time.
    predicted_ratio : float
        Share of a trial's time that the remedy should save.
    """

    workload: str | None
    command: tuple[str, ...]
    changed: tuple[str, ...]
    shared: Mapping[str, str]
    remedy: Mapping[str, str]
    own: Mapping[str, str]
    scale: str
    smaller: str | None
    blocks: int
    iterations: int
    warmup: int | Literal["auto"]
    trial_s: float
    budget_s: float
    sd: float
    predicted_ratio: float
    margin: float
    policy: Policy = "wait"

    @property
    def total_s(self) -> float:
        """Expected length of all trials."""
        return 2 * self.blocks * self.trial_s

    @property
    def detectable(self) -> float:
        """Smallest relative change that it finds with a chance of 0.8."""
        return detectable(self.blocks, self.sd, blocks=True) or math.inf

    @property
    def words(self) -> str:
        """Name what is different with the remedy."""
        if self.changed:
            return " ".join(Redactor.of(self.changed).words(self.changed))
        return ", ".join(f"{name}={level}" for name, level in self.remedy.items())


@dataclass(frozen=True)
class Refusal:
    """Why nothing is run, and what to do by hand."""

    reason: str
    by_hand: str


def propose(
    finding: Finding,
    ran: Ran,
    budget_s: float,
    noise_ratio: float,
    changed: Sequence[str] = (),
    policy: Policy = "wait",
) -> Proposal | Refusal:
    """Plan the smallest fair experiment on a finding.

    Parameters
    ----------
    budget_s : float
        Longest time of all trials together.
    noise_ratio : float
        Of the run, as `explain` judged it.
    changed : sequence of str
        The changed command, where the remedy is an edit of the code.
    policy : str
        Of the guard, where something else uses the machine.
    """
    tried = _what(finding, ran, tuple(changed))
    if isinstance(tried, Refusal):
        return tried
    command, remedy = tried
    if why := _not_as_typed(ran, command):
        return Refusal(why, by_hand(finding, ran))
    if ran.length_s is None or not ran.whole_ns:
        return Refusal("how long the run took, and would take, is not known", by_hand(finding, ran))
    ratio = min((to_find(finding).value or 0.0) / ran.whole_ns, MOST)
    if ratio <= 0:
        return Refusal("no saving is predicted", by_hand(finding, ran))
    sd = noise_sd(ran.iterations_s, noise_ratio)
    wanted = needed(-math.log1p(-ratio), sd, blocks=True)
    if wanted is None:
        return Refusal(
            f"no experiment sees a saving of {units.percent(ratio)} at a noise of"
            f" {units.percent(sd)} from run to run",
            by_hand(finding, ran),
        )
    blocks = max(FEWEST_BLOCKS, wanted)
    iterations = 1 if ran.once else min(ran.iterations, MOST_ITERATIONS)
    shared = beside(ran.levels, remedy)
    whole = Proposal(
        workload=ran.workload, command=ran.command, changed=command,
        shared=shared, remedy=remedy,
        own={
            name: level for name, level in ran.levels.items() if name not in {SCALE, *shared}
        },
        scale=ran.scale or "default", smaller=None, blocks=blocks, iterations=iterations,
        warmup=0 if ran.once else ran.warmup, trial_s=_trial_s(ran, iterations, 1.0),
        budget_s=budget_s, sd=sd, predicted_ratio=ratio, margin=min(MARGIN, ratio / 2),
        policy=policy,
    )  # fmt: skip
    return _within(whole, ran, finding)


def to_find(finding: Finding) -> Estimate:
    """Give the elapsed time that trials are to find saved.

    Where earlier ones saved next to nothing, what the rule predicts without them: else none of its
    findings could be tried, and the rule could not recover.
    """
    saving, earlier = finding.saving.elapsed_ns, finding.record.earlier
    learned = earlier.bias_ratio if earlier else 1.0
    return saving.scaled(1 / learned) if 0 < learned <= LEAST_BIAS else saving


def _what(
    finding: Finding, ran: Ran, changed: tuple[str, ...]
) -> tuple[tuple[str, ...], dict[str, str]] | Refusal:
    """Give the changed command, or the levels, with the remedy."""
    if ran.workload is None and not ran.command:
        return Refusal("what was launched is not known", by_hand(finding, ran))
    if changed:
        if ran.workload is not None:
            return Refusal(
                f"--with is for runs of a command, and this is workload {ran.workload}",
                run_again(finding, ran, changed=changed),
            )
        return changed, {}
    first = factor_remedy(finding, ran)
    if first is None:
        had = [name for one in factor_remedies(finding) for name in levels_of(one)]
        if had:
            return Refusal(f"the run had {', '.join(had)} already", by_hand(finding, ran))
        code = any(one.kind == "code" for one in finding.remedies)
        reason = "the remedy is an edit of the code" if code else "no setting is the remedy"
        return Refusal(reason, by_hand(finding, ran))
    levels = levels_of(first)
    if others := ran.not_here(levels):
        reason = f"{', '.join(others)}: {alone(ran.master)}: it cannot be tried here"
        return Refusal(reason, by_hand(finding, ran))
    if ran.workload is None and DRIVER_MEMORY in levels:
        return _driver_memory(finding, ran, levels)
    return (), levels


def _not_as_typed(ran: Ran, changed: Sequence[str]) -> str | None:
    """Say why words of a command, or levels, would reach the trials as others than they were."""
    words = (*ran.command, *changed)
    if any(STRUCK_OUT in word for word in (*words, *ran.levels.values())):
        return "a secret of the command was struck out when the run was written down"
    return filled_in(words) if ran.workload is None else None


def _driver_memory(
    finding: Finding, ran: Ran, levels: dict[str, str]
) -> tuple[tuple[str, ...], dict[str, str]] | Refusal:
    """Change the heap of a command's driver where the command itself decides it."""
    known = understand(ran.command)
    if known.kind == "java":
        return Refusal(
            "the command starts the driver's JVM itself, so its heap is not Spark's to set",
            by_hand(finding, ran),
        )
    if known.driver_memory is None:
        return (), levels
    others = {name: level for name, level in levels.items() if name != DRIVER_MEMORY}
    return replaced(ran.command, known.driver_memory, levels[DRIVER_MEMORY]), others


def noise_sd(times: Sequence[float], noise_ratio: float) -> float:
    """Expect the deviation of the logarithm of a trial's time, by one run.

    By its iterations; of fewer than `FEWEST_TIMES`, half of what `explain` takes for its noise (an
    interval of two deviations to each side). At least `LEAST_SD`.

    Examples
    --------
    >>> round(noise_sd([1.0, 1.1, 0.9, 1.0], 0.02), 2), noise_sd([], 0.08), noise_sd([], 0.01)
    (0.08, 0.04, 0.02)
    """
    logs = [math.log(one) for one in times if one > 0]
    found = statistics.stdev(logs) if len(logs) >= FEWEST_TIMES else noise_ratio / 2
    return max(LEAST_SD, found)


def _trial_s(ran: Ran, iterations: int, size: float) -> float:
    """Expect the length of a trial with so many iterations and so much of the data."""
    assert ran.length_s is not None
    work = _work_s(ran, ran.iterations)
    return max(ran.length_s - work, 0.0) + size * _work_s(ran, iterations)


def _work_s(ran: Ran, iterations: int) -> float:
    """Give the time of a trial that goes with its data."""
    assert ran.length_s is not None
    if ran.once or not ran.iterations_s:
        return ran.length_s
    warmup = 1 if ran.warmup == "auto" else ran.warmup
    return min(ran.length_s, statistics.fmean(ran.iterations_s) * (iterations + warmup))


MOST_DATA = 0.8
"""Of the run's data, where less are tried: other data have to be made first, in the same budget."""


def with_less(whole: Proposal, ran: Ran, scale: str, why: str = "") -> Proposal:
    """Give the same experiment on less data than the run had."""
    share = int(scale) / ran.size if ran.size and scale.isdecimal() else 1.0
    return replace(
        whole, scale=scale, trial_s=_trial_s(ran, whole.iterations, share),
        smaller=f"at scale {scale} instead of {ran.size}{f': {why}' if why else ''}",
    )  # fmt: skip


def _within(whole: Proposal, ran: Ran, finding: Finding) -> Proposal | Refusal:
    """Fit an experiment into its budget, with less data if need be."""
    left_s = TRIALS_SHARE * whole.budget_s / (2 * whole.blocks)
    if whole.trial_s <= left_s:
        return whole
    times = units.duration(whole.total_s * 1e9)
    budget = units.duration(whole.budget_s * 1e9)
    long = f"{whole.blocks} blocks take about {times}, and the budget is {budget}"
    work_s = _work_s(ran, whole.iterations)
    share = (left_s - (whole.trial_s - work_s)) / work_s if work_s else 0.0
    share = min(share, MOST_DATA)
    if ran.size and ran.least_size and ran.least_size <= share * ran.size:
        return with_less(whole, ran, str(int(share * ran.size)), long)
    minutes = math.ceil(whole.total_s / TRIALS_SHARE / 60)
    verify = ["pyrometer", "explain", ran.run, finding.key, "--verify"]
    return Refusal(long, shlex.join([*verify, "--budget", str(minutes)]))
