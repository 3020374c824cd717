"""Where a search stands: what is believed by all trials that have ended, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyrometer.core.errors import WorkloadError
from pyrometer.experiments.folder import Ended, Plan, PlannedBisection
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.plan.design import Draw
from pyrometer.statistics.bisection import Belief, Bisection

FAILURES = 2
"""Trials of a level that fail before it counts as one that cannot run."""

Status = Literal["found", "none", "undecided"]


@dataclass(frozen=True)
class State:
    """Where a search stands.

    Attributes
    ----------
    search : Bisection
        The levels, and which of them cannot run.
    belief : Belief
        What the trials show.
    ended : tuple of Ended
        Trials that ended, in the order of time.
    decided : bool
        Whether the answer is known with the stated error.
    """

    search: Bisection
    belief: Belief
    ended: tuple[Ended, ...]
    decided: bool

    @property
    def late(self) -> list[Ended]:
        """Trials that ran out of time: they count with that time, and would have taken longer."""
        return [one for one in self.ended if one.status == "timeout"]

    @property
    def status(self) -> Status:
        """The answer in a word."""
        if not self.decided:
            return "undecided"
        return "found" if self.belief.best.levels else "none"


def bisection_of(plan: Plan) -> PlannedBisection:
    """Give what is searched for."""
    assert plan.bisection is not None
    return plan.bisection


def is_lower_bound(plan: Plan, state: State) -> bool:
    """Whether the change is at least what is said.

    True where trials ran out of time from the step on, and none before it.
    """
    if state.status != "found":
        return False
    wanted = bisection_of(plan)
    before = wanted.levels[: state.belief.best.levels[0]]
    faster = {wanted.treatments[level] for level in before if level in wanted.treatments}
    return bool(state.late) and all(one.treatment not in faster for one in state.late)


def state_of(root: Path, plan: Plan, entries: Entries) -> State:
    """Say where a search stands; `root` is its folder, for messages.

    Raises
    ------
    WorkloadError
        If the first level, or all others, fail.
    """
    wanted = bisection_of(plan)
    ended = tuple(entries.ended.values())
    out = {at for at, level in enumerate(wanted.levels) if level not in wanted.treatments}
    places = {
        wanted.treatments[level]: at for at, level in enumerate(wanted.levels) if at not in out
    }
    for name, at in places.items():
        mine = [one for one in ended if one.treatment == name]
        times = [_time_of(one) if at else one.seconds for one in mine]
        if len(mine) >= FAILURES and all(time is None for time in times):
            out.add(at)
            if at == 0 or len(out) == len(wanted.levels) - 1:
                raise WorkloadError(
                    f"{name} does not finish: {mine[-1].reason or mine[-1].status}",
                    f"pyrometer experiment resume {root} --retry tries it again; without it"
                    " nothing is left to compare",
                )
    search = Bisection(len(wanted.levels), wanted.error, plan.margin, frozenset(out))
    seen = [(places[one.treatment], time) for one in ended if (time := _time_of(one)) is not None]
    belief = search.belief(seen)
    return State(search, belief, ended, search.decided(belief))


def _time_of(one: Ended) -> float | None:
    """Give the time of a trial; of one that ran out of time the least that it would have taken."""
    return (one.worked_s or None) if one.status == "timeout" else one.seconds


def has_ended(root: Path, plan: Plan, entries: Entries) -> bool:
    """Whether a search has its answer, or has run as many trials as it may."""
    return (
        len(plan.trials) >= bisection_of(plan).most_trials or state_of(root, plan, entries).decided
    )


def next_level(plan: Plan, state: State) -> int:
    """Choose the level of the next trial: of those that are as good, one by the seed."""
    pending = state.search.pending(state.belief)
    candidates = state.belief.candidates() if pending is None else [pending]
    draw = Draw((plan.seed << 20) + len(plan.trials))
    return candidates[draw.below(len(candidates))]
