"""The search: the next level is chosen, its trial run, and what is believed follows from all.

The plan has every trial that was chosen, written before it begins; whatever kills the search, it
goes on with the trial that it had chosen.
"""

from __future__ import annotations

from pathlib import Path

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.experiments.bisect.plan import KIND
from pyrometer.experiments.bisect.state import (
    State,
    bisection_of,
    has_ended,
    next_level,
    state_of,
)
from pyrometer.experiments.bisect.words import so_far
from pyrometer.experiments.folder import ExperimentPaths, Plan, PlannedTrial, read_plan, write_plan
from pyrometer.experiments.journal import Entries, opened_journal, read_journal
from pyrometer.experiments.run.attempts import make_attempts, settle
from pyrometer.experiments.run.environment import Actions, Quiet, Screen
from pyrometer.experiments.run.loop import redact
from pyrometer.experiments.run.planned import check_same
from pyrometer.experiments.run.trials import folder_word
from pyrometer.experiments.run.versions import check_versions


def search(
    root: Path,
    *,
    screen: Screen | None = None,
    actions: Actions | None = None,
    retry: bool = False,
    most_trials: int | None = None,
) -> State:
    """Run trials until the first slower level is known with the stated error.

    Parameters
    ----------
    root : Path
        Folder with the plan.
    screen, actions, retry
        As for :func:`pyrometer.experiments.run.loop.carry_out`.
    most_trials : int, optional
        Stop after so many trials in all, instead of the plan's number.

    Raises
    ------
    UsageError
        As :func:`~pyrometer.experiments.run.loop.carry_out`; or the folder is of another kind.
    WorkloadError
        If the first level, or all others, fail.
    CapabilityError
        If plan or journal cannot be written: what was finished is kept.
    KeyboardInterrupt
        If the user stopped it; what was finished is kept.
    """
    plan = read_plan(root)
    if plan.kind != KIND:
        raise UsageError(f"{root} is an experiment, not a bisection", "pyrometer experiment resume")
    check_same(root, plan.machine, plan.workloads, plan.workload_sha256)
    screen, actions = screen or Quiet(), actions or Actions()
    with opened_journal(root) as journal:
        entries = read_journal(root)
        settle(root, plan, entries, journal, screen)
        wanted = bisection_of(plan)
        kept, wanted.most_trials = wanted.most_trials, most_trials or wanted.most_trials
        unfinished = _unfinished(plan, entries, retry)
        if unfinished or not has_ended(root, plan, entries):
            check_versions(root, plan)
        if wanted.most_trials != kept:
            _keep(root, plan)
        screen.planned(plan, entries)
        for one in unfinished:
            make_attempts(root, plan, [one], entries, journal, screen, actions)
        state = state_of(root, plan, entries)
        while not state.decided and len(plan.trials) < wanted.most_trials:
            planned = _chosen(plan, state)
            plan.trials.append(planned)
            _keep(root, plan)
            make_attempts(root, plan, [planned], entries, journal, screen, actions)
            state = state_of(root, plan, entries)
            screen.note(so_far(plan, state))
    if state.decided and not _unfinished(plan, entries, retry=True):
        redact(ExperimentPaths(root), plan, screen)
    return state


def _keep(root: Path, plan: Plan) -> None:
    try:
        write_plan(root, plan)
    except OSError as error:
        raise CapabilityError(
            f"{ExperimentPaths(root).plan} cannot be written: {error.strerror}",
            f"make room, then: pyrometer experiment resume {root}",
        ) from error


def _unfinished(plan: Plan, entries: Entries, retry: bool) -> list[PlannedTrial]:
    found = ((one, entries.ended.get(one.number)) for one in plan.trials)
    return [one for one, end in found if end is None or (retry and end.status != "finished")]


def _chosen(plan: Plan, state: State) -> PlannedTrial:
    wanted, number = bisection_of(plan), len(plan.trials) + 1
    name = wanted.treatments[wanted.levels[next_level(plan, state)]]
    folder = f"{number:04d}-{folder_word(name)}"
    return PlannedTrial(number=number, block=number, treatment=name, folder=folder)
