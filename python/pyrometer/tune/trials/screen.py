"""What shows the progress of a search."""

from __future__ import annotations

from typing import Protocol

from pyrometer.experiments.run.environment import Quiet, Screen
from pyrometer.tune.advise.adviser import Adviser
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.records import Asked, Known, Offered
from pyrometer.tune.trials.replay import History, Step


class TuneScreen(Screen, Protocol):
    """Shows the progress of a tuning."""

    def began(self, tuning: Tuning, history: History) -> None:
        """Show what is searched for, and what there is already."""

    def asked(self, asked: Asked) -> None:
        """Show which trial comes."""

    def told(self, step: Step, history: History, adviser: Adviser) -> None:
        """Show what it gave, and the best so far."""

    def said(self, record: Offered | Known) -> None:
        """Show what the engine is told beside trials."""


class QuietTuning(Quiet):
    """A `TuneScreen` that shows nothing."""

    def began(self, tuning: Tuning, history: History) -> None:
        """Show nothing."""

    def asked(self, asked: Asked) -> None:
        """Show nothing."""

    def told(self, step: Step, history: History, adviser: Adviser) -> None:
        """Show nothing."""

    def said(self, record: Offered | Known) -> None:
        """Show nothing."""
