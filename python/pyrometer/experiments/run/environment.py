"""What an experiment needs from outside: actions on the machine, and a screen."""

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
from pyrometer.experiments.run import attempt, guard, parallel
from pyrometer.experiments.run.attempt import Attempt, RunTrial, RunTurns
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.trial import Trial


class Screen(Watch, Protocol):
    """Shows the progress of an experiment."""

    def planned(self, plan: Plan, entries: Entries) -> None:
        """Show what will run, and what has run already."""

    def trial(self, planned: PlannedTrial, attempt: int) -> None:
        """Show that an attempt begins."""

    def ended(self, ended: Ended) -> None:
        """Show how it ended."""


class Quiet(Silent):
    """A `Screen` that shows nothing."""

    def planned(self, plan: Plan, entries: Entries) -> None:
        """Show nothing."""

    def trial(self, planned: PlannedTrial, attempt: int) -> None:
        """Show nothing."""

    def ended(self, ended: Ended) -> None:
        """Show nothing."""


def held_switches(levels: Mapping[str, str]) -> AbstractContextManager[list[Doubt]]:
    """Hold the kernel's switches at the levels of a whole plot; those of disks each trial sets."""
    wanted = parse_treatment([f"{k}={v}" for k, v in levels.items() if k.startswith("os.")])
    of_host = {name: level for name, level in wanted.items() if not settings.is_of_disks(name)}
    return settings.applied(settings.switches(of_host))


@dataclass(frozen=True)
class Actions:
    """What touches the machine.

    Parameters
    ----------
    run_trial : callable
        Runs one trial.
    run_turns : callable
        Runs one in which treatments take turns.
    run_parallel : callable
        Runs several at the same time.
    hold_switches : callable
        Holds the host at the levels of a whole plot, from its first trial to its last; gives doubts
        about what could not be restored then.
    measure_canaries : callable
        Measures the machine before a trial.
    wait_for_calm : callable
        Waits until other processes leave the machine idle, and gives what it saw.
    read_counters, judge_others : callable
        Read counters, and judge what other processes did since.
    """

    run_trial: RunTrial = attempt.run_trial
    run_turns: RunTurns = attempt.run_turns
    run_parallel: Callable[[Sequence[Trial], Watch], list[Attempt]] = parallel.run_parallel
    hold_switches: Callable[[Mapping[str, str]], AbstractContextManager[list[Doubt]]] = (
        held_switches
    )
    measure_canaries: Callable[[], Canaries] = guard.measure_canaries
    wait_for_calm: Callable[[Guard, Callable[[str], None]], Surroundings] = guard.before_trial
    read_counters: Callable[[], guard.Look] = guard.look
    judge_others: Callable[[guard.Look, Guard, bool], Surroundings] = guard.after_trial

    def run(self, trials: Sequence[Trial], watch: Watch) -> list[Attempt]:
        """Run what shares a launch."""
        if trials[0].turns:
            return self.run_turns(trials[0], watch)
        if len(trials) > 1:
            return self.run_parallel(trials, watch)
        return [self.run_trial(trials[0], watch)]
