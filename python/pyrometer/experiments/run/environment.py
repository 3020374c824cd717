"""What an experiment needs of the machine and of who looks on: its hands, and its screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from pyrometer.collect.host import settings
from pyrometer.collect.launch.observe import Silent, Watch
from pyrometer.core.doubt import Doubt
from pyrometer.experiments.folder import Canaries, Ended, Plan, PlannedTrial, Surroundings
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run import attempt as making
from pyrometer.experiments.run import guard, parallel
from pyrometer.experiments.run import guard as canary
from pyrometer.experiments.run.attempt import Attempt, Make, MakeTurns
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.trial import Trial


class Screen(Watch, Protocol):
    """Who is told how an experiment goes on."""

    def planned(self, plan: Plan, entries: Entries) -> None:
        """Tell what is to be done, and what is done already."""

    def trial(self, planned: PlannedTrial, attempt: int) -> None:
        """Tell that an attempt begins."""

    def ended(self, ended: Ended) -> None:
        """Tell how it ended."""


class Quiet(Silent):
    """A `Screen` that shows nothing."""

    def planned(self, plan: Plan, entries: Entries) -> None:
        """Show nothing."""

    def trial(self, planned: PlannedTrial, attempt: int) -> None:
        """Show nothing."""

    def ended(self, ended: Ended) -> None:
        """Show nothing."""


def held(levels: Mapping[str, str]) -> AbstractContextManager[list[Doubt]]:
    """Keep the kernel's switches at the levels of a whole plot."""
    wanted = parse_treatment([f"{k}={v}" for k, v in levels.items() if k.startswith("os.")])
    return settings.applied(settings.switches(wanted))


@dataclass(frozen=True)
class Actions:
    """What touches the machine.

    Parameters
    ----------
    make : callable
        Makes a trial.
    turns : callable
        Makes one in which treatments take turns.
    duet : callable
        Makes two at once.
    hold : callable
        Keeps the host at the levels of a whole plot, from its first trial to its last; gives what
        could not be put back then.
    canaries : callable
        Measures the machine before it.
    before : callable
        Waits for calm, and tells what it saw.
    look, after : callable
        Read counters, and judge what others did since.
    """

    make: Make = making.make
    turns: MakeTurns = making.make_turns
    duet: Callable[[Sequence[Trial], Watch], list[Attempt]] = parallel.duet
    hold: Callable[[Mapping[str, str]], AbstractContextManager[list[Doubt]]] = held
    canaries: Callable[[], Canaries] = canary.measure
    before: Callable[[Guard, Callable[[str], None]], Surroundings] = guard.before_trial
    look: Callable[[], guard.Look] = guard.look
    after: Callable[[guard.Look, Guard, bool], Surroundings] = guard.after_trial

    def made(self, trials: Sequence[Trial], watch: Watch) -> list[Attempt]:
        """Make what shares a launch."""
        if trials[0].turns:
            return self.turns(trials[0], watch)
        return self.duet(trials, watch) if len(trials) > 1 else [self.make(trials[0], watch)]
