"""Winner against baseline in fresh blocks, run as any experiment."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyrometer.collect.launch.observe import Watch
from pyrometer.core.errors import PyrometerError
from pyrometer.core.redaction import redacted
from pyrometer.experiments.folder import Plan, Surroundings, is_experiment
from pyrometer.experiments.journal import Journal, read_journal
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.experiments.run.environment import Actions, Screen
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.trial.trial import Trial
from pyrometer.tune.confirm.blocks import folders_of, going_on, scales_of, spent_s
from pyrometer.tune.confirm.plan import other_scale, plan_of, shares
from pyrometer.tune.trials.folder import Tuning, TuningPaths
from pyrometer.tune.trials.judged import Check
from pyrometer.tune.trials.measured import NS
from pyrometer.tune.trials.records import Added, Stopped
from pyrometer.tune.trials.replay import History
from pyrometer.tune.trials.search import TuneActions
from pyrometer.workloads import registry
from pyrometer.workloads.contract import parse_scale

USED_UP = "the budget is used up"
NO_ROOM = "the budget has no room for a block of the confirmation"


class OutOfBudgetError(Exception):
    """The budget is used up; what was run is kept."""


def confirm(
    root: Path,
    tuning: Tuning,
    history: History,
    *,
    screen: Screen,
    actions: TuneActions,
    journal: Journal,
    blocks: int | None = None,
    scale: str | None = None,
) -> str | None:
    """Run what is still to be run of the confirmation, and then what somebody adds to it.

    Parameters
    ----------
    history : History
        It is told what is added, and when the budget is used up.
    journal : Journal
        Of the tuning: it is told the same.
    blocks : int, optional
        Add so many blocks to those that are there, whatever the budget says.
    scale : str, optional
        Add them at another scale.

    Returns
    -------
    str or None
        Why not all that was planned has run; ``None``: it has.

    Raises
    ------
    UsageError, CapabilityError
        As :func:`pyrometer.experiments.run.loop.carry_out`.
    KeyboardInterrupt
        If the user stopped it; what was finished is kept.
    """
    settled = history.settled
    if settled is None or not settled.configuration:
        return None
    # A trial of it that hangs ends some time; elsewhere nobody knows how long one takes.
    patient = tuning.model_copy(update={"timeout_s": history.patience_s(tuning.timeout_s)})
    if not history.stopped and not folders_of(root):
        _begin(root, patient, history)
    why = _go_on(root, tuning, history, screen, actions, journal)
    if blocks is None:
        return why
    there = folders_of(root, scale)
    plan = plan_of(
        patient if scale is None else tuning, settled.configuration, blocks,
        len(there) + (0 if scale is None else 10), scale or tuning.scale,
    )  # fmt: skip
    _add(root, history, journal, plan)
    begin(_next(root, scale), plan)
    return _go_on(root, tuning, history, screen, actions, journal)


def _go_on(
    root: Path,
    tuning: Tuning,
    history: History,
    screen: Screen,
    actions: TuneActions,
    journal: Journal,
) -> str | None:
    """Run what is there and may still run; say why not all of it has."""
    if history.stopped:
        return USED_UP
    own = going_on(root, history)
    others = [folder for one in scales_of(root) for folder in going_on(root, history, one)]
    left_s = None if history.added else _left_s(root, tuning, history)
    # One deadline for all of them. The user's check knows the data of the tuning's own scale alone.
    bounded = timely(actions.trials, left_s, waits=_waits_count(tuning))
    judged = checked(bounded, actions.check, tuning.check)
    then = f"pyrometer tune resume {root}"
    try:
        for folder in own:
            carry_out(folder, screen=screen, actions=judged, then=then)
        for folder in others:
            carry_out(folder, screen=screen, actions=bounded, then=then)
    except OutOfBudgetError:
        journal.append(Stopped(wall_ns=time.time_ns()))
        history.stopped = True
        return USED_UP
    return None if own or others or history.added else NO_ROOM


def _add(root: Path, history: History, journal: Journal, plan: Plan) -> None:
    """Note that blocks are added; what the budget ended stays ended."""
    ended = set(history.closed)
    if history.stopped:
        scales: list[str | None] = [None, *scales_of(root)]
        ended.update(folder.name for one in scales for folder in folders_of(root, one))
    record = Added(
        blocks=plan.blocks, scale=plan.scale, closed=sorted(ended), wall_ns=time.time_ns()
    )
    journal.append(record)
    history.add(record)


def _begin(root: Path, tuning: Tuning, history: History) -> None:
    """Plan what the budget has room for; the confirmation itself last, as it says that all is."""
    settled, paths = history.settled, TuningPaths(root)
    assert settled is not None
    other = scale_with_more(tuning)
    share = shares(_left_runs(tuning, history), scales=other is not None)
    if share.elsewhere and other is not None and not is_experiment(paths.elsewhere(other)):
        plan = plan_of(tuning, settled.configuration, share.elsewhere, 10, other)
        begin(paths.elsewhere(other), plan)
    if share.blocks:
        plan = plan_of(tuning, settled.configuration, share.blocks, 0, tuning.scale)
        begin(paths.confirmation, plan)


def _next(root: Path, scale: str | None) -> Path:
    paths, there = TuningPaths(root), folders_of(root, scale)
    first = paths.confirmation if scale is None else paths.elsewhere(scale)
    return first.with_name(f"{first.name}.{len(there) + 1}") if there else first


def _left_s(root: Path, tuning: Tuning, history: History) -> float | None:
    """Time that is left of a budget of time; ``None`` where runs are counted."""
    if tuning.budget.unit == "runs":
        return None
    left = tuning.budget.amount - history.spent(tuning)
    if tuning.budget.unit == "core-seconds":
        left /= tuning.cpus
    scales: list[str | None] = [None, *scales_of(root)]
    waits = _waits_count(tuning)
    return left - sum(
        spent_s(read_journal(folder), waits=waits)
        for one in scales
        for folder in folders_of(root, one)
    )


def _waits_count(tuning: Tuning) -> bool:
    """Whether time in which the guard waits counts: nothing uses the CPUs then."""
    return tuning.budget.unit == "seconds"


def _left_runs(tuning: Tuning, history: History) -> float:
    """Full runs that are left of the budget."""
    left = tuning.budget.amount - history.spent(tuning)
    if tuning.budget.unit == "runs":
        return left
    each = (history.last_whole() or 0.0) / NS
    if tuning.budget.unit == "seconds":
        each /= tuning.cpus
    return left / each if each else 0.0


def scale_with_more(tuning: Tuning) -> str | None:
    """Name the scale with a fifth more data; ``None`` where the job has no scales."""
    if tuning.command:
        return None
    try:
        workload = registry.get(tuning.workload)
        if len(set(workload.scales.values())) < 2:
            return None  # None, or all are the user's own data.
        return other_scale(parse_scale(workload, tuning.scale))
    except PyrometerError:
        return None


def checked(trials: Actions, check: Check, command: str | None) -> Actions:
    """Judge the result of each trial by the user's check as soon as it ends.

    The next trial may write over what the check reads.
    """
    if command is None:
        return trials

    def run(trial: Trial, watch: Watch) -> Attempt:
        found = trials.run_trial(trial, watch)
        if found.status != "finished" or trial.run_dir is None:
            return found
        why = check(command, trial.run_dir)
        return found if why is None else Attempt("wrong_result", reason=redacted(why))

    return replace(trials, run_trial=run)


def timely(actions: Actions, seconds: float | None, *, waits: bool = True) -> Actions:
    """Begin no trial after so many seconds; `waits`: those in which the guard waits count."""
    if seconds is None:
        return actions
    deadline = time.monotonic() + seconds
    wait = actions.wait_for_calm

    def before(limits: Guard, say: Callable[[str], None]) -> Surroundings:
        nonlocal deadline
        if time.monotonic() > deadline:
            raise OutOfBudgetError
        found = wait(limits, say)
        deadline += 0.0 if waits else found.waited_s
        return found

    return replace(actions, wait_for_calm=before)
