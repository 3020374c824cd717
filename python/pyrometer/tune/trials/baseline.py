"""What a search needs of the job as it is before it tries anything else."""

from __future__ import annotations

from pathlib import Path

from pyrometer.core import units
from pyrometer.core.errors import WorkloadError
from pyrometer.experiments.folder import ExperimentPaths
from pyrometer.tune.trials.budget import FEWEST_CONFIRMING, RESERVED
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.judged import WRONG
from pyrometer.tune.trials.measured import NS, conditions_of
from pyrometer.tune.trials.replay import History, Step

MEASURED = (
    "its doubts say more, and of executors on other hosts docs/how-to/clusters/executors.md; then"
    " begin again in another folder, or ask for something else"
)


def need_baseline(root: Path, tuning: Tuning, history: History) -> None:
    """Refuse to go on without a trial of the job as it is that counts.

    Raises
    ------
    WorkloadError
        With why there is none, and what to do.
    """
    if history.baselines:
        return
    step = history.steps[-1]
    why = (step.told.failed if step.told else None) or "no time is known"
    where = ExperimentPaths(root).trials / (step.ended.folder if step.ended else "")
    if step.ended is not None and step.ended.status == "timeout":
        raise WorkloadError(
            f"the job as it is did not finish within {units.duration(tuning.timeout_s * NS)}, the"
            " longest time of a trial of this tuning",
            "start a new one with a longer --timeout, or a larger --budget of time",
        )
    if _finished(step) and why.startswith(WRONG):
        raise WorkloadError(
            f"the job as it is finished, and its check fails: {why.removeprefix(WRONG)}",
            f"run the check by hand, with PYROMETER_RUN_DIR={where}; if the job is at fault:"
            f" pyrometer tune resume {root}; if the check is, a new tuning with -o",
        )
    if _finished(step):
        raise WorkloadError(
            f"the job as it is finished, and {why}", f"pyrometer show {where}; {MEASURED}"
        )
    then = f"pyrometer tune resume {root}"
    if tuning.workload_sha256 is not None:
        then += f"; or, where {tuning.workload} has to change, a new tuning with -o"
    raise WorkloadError(
        f"the job as it is does not finish: {why}", f"pyrometer show {where}; then: {then}"
    )


def need_metrics(tuning: Tuning, history: History) -> None:
    """Refuse to go on where the first run of the job as it is does not show what conditions are of.

    Raises
    ------
    WorkloadError
        With what it does not show, and why: no other trial would.
    """
    told = history.baselines[0].told
    assert told is not None
    for condition in conditions_of(tuning.conditions):
        for name in sorted(condition.names - told.metrics.keys()):
            why = told.missing.get(name, "not measured")
            raise WorkloadError(
                f"--subject-to {condition.text!r}: the first run of the job does not show {name}"
                f" ({why})",
                MEASURED,
            )


def short_of_room(tuning: Tuning, history: History) -> str | None:
    """Say that a budget of time has no room for a verdict, once it is known what a run takes."""
    each = (history.last_whole() or 0.0) / NS
    if tuning.budget.unit == "runs" or not each:
        return None
    if tuning.budget.unit == "seconds":
        each /= tuning.cpus
    blocks, needed = int(tuning.reserved / (2 * each)), FEWEST_CONFIRMING * each / RESERVED
    if blocks >= FEWEST_CONFIRMING // 2:
        return None
    return (
        f"what is kept of the budget has room for {units.counted(blocks, 'block')}, and a verdict"
        f" needs {FEWEST_CONFIRMING // 2}: nothing may be confirmed with less than"
        f" {tuning.budget.words(needed)}"
    )


def _finished(step: Step) -> bool:
    return step.ended is not None and step.ended.status == "finished"
