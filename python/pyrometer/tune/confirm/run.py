"""Winner against baseline in fresh blocks: run as any experiment, and read for the verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pyrometer.collect.launch.observe import Watch
from pyrometer.core.errors import PyrometerError
from pyrometer.core.redaction import redacted
from pyrometer.experiments.folder import Ended, Surroundings, is_experiment, read_plan
from pyrometer.experiments.journal import Journal, read_journal
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.experiments.run.environment import Actions, Screen
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.trial.trial import Trial
from pyrometer.tune.believe.verdict import Verdict, judge
from pyrometer.tune.confirm.plan import WINNER, other_scale, plan_of, shares
from pyrometer.tune.trials.folder import Tuning, TuningPaths
from pyrometer.tune.trials.judged import Judge
from pyrometer.tune.trials.measured import NS, value_of
from pyrometer.tune.trials.planned import BASELINE
from pyrometer.tune.trials.records import Added, Stopped
from pyrometer.tune.trials.replay import History
from pyrometer.tune.trials.search import TuneActions
from pyrometer.workloads import registry
from pyrometer.workloads.contract import parse_scale


class OutOfBudgetError(Exception):
    """The budget is used up; what was run is kept."""


@dataclass(frozen=True)
class Pairs:
    """Values of whole blocks of one scale.

    Attributes
    ----------
    folders : tuple of Path
        The experiments that they are from, in the order of time.
    counts : tuple of int
        Whole blocks of each.
    pairs : tuple of (float, float)
        Baseline and winner of each block.
    failures : tuple of str
        Why trials of the winner came to nothing.
    left : int
        Planned trials that have not run, and may still.
    ended : tuple of Ended
        All trials that ended.
    """

    scale: str
    folders: tuple[Path, ...] = ()
    counts: tuple[int, ...] = ()
    pairs: tuple[tuple[float, float], ...] = ()
    failures: tuple[str, ...] = ()
    planned: int = 0
    spent_s: float = 0.0
    left: int = 0
    ended: tuple[Ended, ...] = ()

    def verdict(self, margin: float) -> Verdict | None:
        """Judge them; ``None`` where no trial was to confirm anything."""
        if not self.folders:
            return None
        looks: list[int] = []
        before = 0
        for count in self.counts[:-1]:
            before += count
            # An experiment without a whole block was no look at anything.
            if count and before < len(self.pairs):
                looks.append(before)
        return judge(
            self.pairs, margin=margin, looks=looks, failures=len(self.failures), left=self.left
        )


def folders_of(root: Path, scale: str | None = None) -> list[Path]:
    """Folders of confirmations of a tuning, in the order of time: of its own scale, or another."""
    paths = TuningPaths(root)
    first = paths.confirmation if scale is None else paths.elsewhere(scale)
    found = [first] if is_experiment(first) else []
    while is_experiment(next_ := first.with_name(f"{first.name}.{len(found) + 1}")):
        found.append(next_)
    return found


def scales_of(root: Path) -> list[str]:
    """Other scales at which a tuning was confirmed."""
    front = f"{TuningPaths(root).confirmation.name}-"
    return sorted({read_plan(one).scale for one in root.glob(f"{front}*") if is_experiment(one)})


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
) -> bool:
    """Run what is still to be run of the confirmation.

    Parameters
    ----------
    journal : Journal
        Of the tuning: it is told when the budget is used up.
    blocks : int, optional
        Add so many blocks to those that are there, whatever the budget says.
    scale : str, optional
        Add them at another scale.

    Returns
    -------
    bool
        Whether all that was planned has run; else the budget is used up.

    Raises
    ------
    UsageError, CapabilityError
        As :func:`pyrometer.experiments.run.loop.carry_out`.
    KeyboardInterrupt
        If the user stopped it; what was finished is kept.
    """
    settled = history.settled
    if settled is None or not settled.configuration:
        return True
    if blocks is None and history.stopped:
        return False
    # A trial of it that hangs ends some time; elsewhere nobody knows how long one takes.
    patient = tuning.model_copy(update={"timeout_s": history.patience_s(tuning.timeout_s)})
    if blocks is not None:
        there = folders_of(root, scale)
        order = len(there) + (0 if scale is None else 10)
        of = patient if scale is None else tuning
        plan = plan_of(of, settled.configuration, blocks, order, scale or tuning.scale)
        journal.append(Added(blocks=blocks, scale=plan.scale, wall_ns=time.time_ns()))
        begin(_next(root, scale), plan)
    elif not folders_of(root):
        _begin(root, patient, history)
    unbounded = blocks is not None or history.added
    left_s = None if unbounded else _left_s(root, tuning, history)
    others = [folder for one in scales_of(root) for folder in folders_of(root, one)]
    # One deadline for all of them.
    bounded = timely(checked(actions, tuning.check), left_s)
    try:
        for folder in [*folders_of(root), *others]:
            carry_out(folder, screen=screen, actions=bounded)
    except OutOfBudgetError:
        journal.append(Stopped(wall_ns=time.time_ns()))
        return False
    return bool(folders_of(root))


def _begin(root: Path, tuning: Tuning, history: History) -> None:
    """Plan what the budget has room for; the confirmation itself last, as it says that all is."""
    settled, paths = history.settled, TuningPaths(root)
    assert settled is not None
    other = _other_scale(tuning)
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
    return left - sum(spent_s(folder) for one in scales for folder in folders_of(root, one))


def spent_s(folder: Path) -> float:
    """Time that the trials of an experiment have taken."""
    entries = read_journal(folder)
    return sum(one.duration_s or 0.0 for one in (*entries.ended.values(), *entries.disturbed))


def _left_runs(tuning: Tuning, history: History) -> float:
    """Full runs that are left of the budget."""
    left = tuning.budget.amount - history.spent(tuning)
    if tuning.budget.unit == "runs":
        return left
    each = (history.last_whole() or 0.0) / NS
    if tuning.budget.unit == "seconds":
        each /= tuning.cpus
    return left / each if each else 0.0


def _other_scale(tuning: Tuning) -> str | None:
    if tuning.command:
        return None
    try:
        workload = registry.get(tuning.workload)
        if not workload.scales:
            return None
        return other_scale(parse_scale(workload, tuning.scale))
    except PyrometerError:
        return None


def pairs_of(
    root: Path, tuning: Tuning, read: Judge, scale: str | None = None, *, stopped: bool = False
) -> Pairs:
    """Read the blocks of a confirmation that are whole, and what failed in the others.

    Parameters
    ----------
    stopped : bool
        Whether the budget was used up: what has not run never will, unless somebody adds to it.
    """
    pairs: list[tuple[float, float]] = []
    counts: list[int] = []
    failures: list[str] = []
    folders, planned, spent, left = folders_of(root, scale), 0, 0.0, 0
    all_ended: list[Ended] = []
    for folder in folders:
        plan, entries = read_plan(folder), read_journal(folder)
        planned += plan.blocks
        left += 0 if stopped else len(plan.trials) - len(entries.ended)
        spent += sum(one.duration_s or 0.0 for one in (*entries.ended.values(), *entries.disturbed))
        configuration = next(one.varied for one in plan.treatments if one.name == WINNER)
        ended = list(entries.ended.values())
        all_ended += ended
        right = {(one.rows, one.checksum) for one in ended if shows_result(one, BASELINE)}
        values: dict[int, dict[str, float]] = {}
        for one in ended:
            value, why = _value(one, configuration, folder, tuning, read, right)
            if why is not None and one.treatment == WINNER:
                failures.append(why)
            if value is not None:
                values.setdefault(one.block, {})[one.treatment] = value
        whole = [found for _, found in sorted(values.items()) if len(found) == 2]
        pairs += [(found[BASELINE], found[WINNER]) for found in whole]
        counts.append(len(whole))
    return Pairs(
        scale or tuning.scale, tuple(folders), tuple(counts), tuple(pairs), tuple(failures),
        planned, spent, left, tuple(all_ended),
    )  # fmt: skip


def shows_result(one: Ended, treatment: str) -> bool:
    """Whether a trial is of a treatment, and its result is known."""
    return one.treatment == treatment and one.status == "finished" and one.checksum is not None


def _value(
    one: Ended,
    configuration: dict[str, str],
    folder: Path,
    tuning: Tuning,
    read: Judge,
    right: set[tuple[int | None, str | None]],
) -> tuple[float | None, str | None]:
    """Give the objective of a trial, or why it came to nothing."""
    if one.status != "finished":
        return None, f"{one.status.replace('_', ' ')}: {one.reason or 'no reason is known'}"
    if tuning.check is not None:
        if one.adopted:
            return None, None  # A kill came before its check: its block does not count.
    elif shows_result(one, WINNER) and len(right) == 1 and (one.rows, one.checksum) not in right:
        return None, f"another result in trial {one.trial}: {one.rows} rows, {one.checksum}"
    levels = configuration if one.treatment == WINNER else {}
    if tuning.objective == "elapsed" and not tuning.conditions:
        return None if one.seconds is None else one.seconds * NS, None
    found = read.metrics(one, levels, folder)
    if one.treatment == WINNER and (why := read.broken(found)):
        return None, why
    return value_of(tuning.objective, found), None


def checked(actions: TuneActions, command: str | None) -> Actions:
    """Judge the result of each trial by the user's check as soon as it ends.

    The next trial may write over what the check reads.
    """
    trials = actions.trials
    if command is None:
        return trials

    def run(trial: Trial, watch: Watch) -> Attempt:
        found = trials.run_trial(trial, watch)
        if found.status != "finished" or trial.run_dir is None:
            return found
        why = actions.check(command, trial.run_dir)
        return found if why is None else Attempt("wrong_result", reason=redacted(why))

    return replace(trials, run_trial=run)


def timely(actions: Actions, seconds: float | None) -> Actions:
    """Begin no trial after so many seconds."""
    if seconds is None:
        return actions
    deadline = time.monotonic() + seconds
    wait = actions.wait_for_calm

    def before(limits: Guard, say: Callable[[str], None]) -> Surroundings:
        if time.monotonic() > deadline:
            raise OutOfBudgetError
        return wait(limits, say)

    return replace(actions, wait_for_calm=before)
