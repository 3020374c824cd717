"""Launches of one trial that was asked for: with the machine's switches as its levels want them."""

from __future__ import annotations

from pathlib import Path

from pyrometer.experiments.folder import Ended
from pyrometer.experiments.journal import Entries, Journal
from pyrometer.experiments.run.attempts import make_attempts
from pyrometer.experiments.run.environment import Actions, Screen
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.planned import plan_of
from pyrometer.tune.trials.records import Asked


def launched(
    root: Path, tuning: Tuning, asked: Asked, entries: Entries, journal: Journal, screen: Screen,
    actions: Actions,
) -> Ended:  # fmt: skip
    """Launch a trial, again where the guard says so, and give its end.

    Parameters
    ----------
    entries : Entries
        What the journal holds; what ends is added, here and there.

    Raises
    ------
    CapabilityError
        If the journal cannot be written.
    KeyboardInterrupt
        If the user stopped it.
    """
    plan = plan_of(tuning, asked)
    with actions.hold_switches({**tuning.shared, **asked.configuration}) as doubts:
        make_attempts(root, plan, plan.trials, entries, journal, screen, actions)
    for one in doubts:
        screen.note(f"{one.message} {one.remedy}")
    return entries.ended[asked.trial]
