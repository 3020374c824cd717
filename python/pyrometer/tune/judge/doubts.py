"""What to doubt of a tuning."""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.core import units
from pyrometer.core.doubt import Doubt
from pyrometer.core.schema import doubt
from pyrometer.experiments.judge.analysis import disturbances_of
from pyrometer.experiments.judge.machines import doubts_of_machines
from pyrometer.tune.confirm.blocks import Pairs
from pyrometer.tune.judge.schema import Confirmed
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.planned import BASELINE
from pyrometer.tune.trials.replay import History
from pyrometer.tune.trials.results import agreed, not_compared


def doubts_of(
    tuning: Tuning,
    history: History,
    pairs: Sequence[Pairs],
    confirmed: Confirmed | None,
    elsewhere: Sequence[Confirmed],
) -> list[Doubt]:
    """Collect the doubts about a tuning.

    Parameters
    ----------
    pairs : sequence of Pairs
        Of its own scale and of others.
    confirmed, elsewhere : Confirmed
        What they say.
    """
    found = [doubt("refuted_elsewhere", elsewhere_words(one)) for one in refuted(elsewhere)]
    # Of a level that did not hold, no trial counts, and its factor is named as not varied.
    searched = [
        one.ended
        for one in history.steps
        if one.ended is not None and not (one.told and one.told.unapplied)
    ]
    ended = [*searched, *(one for part in pairs for one in part.ended)]
    if tuning.check is None:
        found += _of_results(tuning, history, pairs)
    disturbed = [one for one in ended if disturbances_of(one)]
    if disturbed:
        text = disturbances_of(disturbed[-1])[0]
        later = sum(bool(disturbances_of(one)) for part in pairs for one in part.ended)
        of = f", {later} of them of the confirmation" if later else ""
        message = f"{len(disturbed)} of {len(ended)} trials{of}; in {disturbed[-1].folder} {text}"
        found.append(doubt("trials_disturbed", message))
    found += doubts_of_machines(ended)
    if history.known is not None and history.known.similar:
        similar = history.known.similar
        trials = units.counted(sum(one.trials for one in similar), "trial")
        differs = sorted({what for one in similar for what in one.differs})
        but = f"; they differ in {', '.join(differs)}" if differs else ""
        message = f"{trials} of {units.counted(len(similar), 'other tuning')} came first{but}"
        found.append(doubt("warm_start", message))
    spread = confirmed.verdict.spread_ratio if confirmed else None
    if spread is not None and spread.low is not None and spread.low > 1 and spread.value:
        message = f"the winner's runs differ {spread.value:.2g} times as much as the baseline's"
        found.append(doubt("less_stable", message))
    return found


def refuted(elsewhere: Sequence[Confirmed]) -> list[Confirmed]:
    """Give the confirmations at other scales in which the winner failed, or was worse."""
    return [one for one in elsewhere if one.verdict.outcome in ("failed", "slower")]


def elsewhere_words(one: Confirmed) -> str:
    """Say what refuted a winner at another scale."""
    if one.verdict.outcome == "slower":
        return f"at scale {one.scale} it is {one.told}"
    times = "once" if len(one.failures) == 1 else f"{len(one.failures)} times"
    return f"at scale {one.scale} it failed {times} ({one.failures[0]})"


def _of_results(tuning: Tuning, history: History, pairs: Sequence[Pairs]) -> list[Doubt]:
    """Doubt what the job as it is does not show of its results, or shows differently each time."""
    baselines = [one.ended for one in history.baselines if one.ended is not None]
    baselines += [
        one
        for part in pairs if part.scale == tuning.scale
        for one in part.ended if one.treatment == BASELINE
    ]  # fmt: skip
    right = agreed(baselines)
    lacking = not_compared(right)
    if right.different > 1:
        message = f"the baseline itself gave {right.different} different results"
        return [doubt("results_differ", f"{message}; {lacking}" if lacking else message)]
    return [doubt("results_unchecked", lacking)] if baselines and lacking else []
