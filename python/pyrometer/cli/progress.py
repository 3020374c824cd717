"""How a run goes on, in one line on the terminal (stderr); nothing where that is no terminal."""

from __future__ import annotations

import time

from pyrometer.cli import common
from pyrometer.cli.live_display import WORDS, LiveDisplay, made_so_far
from pyrometer.plan import Trial


class Progress(LiveDisplay):
    """A :class:`pyrometer.run.observe.Watch` for people.

    A command of the user's owns the terminal while it runs: then only notes are shown, so that
    its own output stays as it is.

    Parameters
    ----------
    trial : Trial
        What runs.
    """

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self._trial = trial
        self._since = time.monotonic()
        self._phase = ""

    def phase(self, name: str) -> None:
        """Show that a phase begins."""
        self._phase, self._since = name, time.monotonic()
        if self._live is not None and self._trial.name is None:
            if name == "run":
                self._live.stop()
            elif name == "close":
                self._live.start()
        self._show(WORDS.get(name, name))

    def progress(self, what: str, done: int, total: int) -> None:
        """Show how far the making of data is."""
        self._show(made_so_far(what, done, total))

    def running(self, iteration: int | None, iterations: int, warmup: bool) -> None:
        """Show which iteration runs."""
        if self._trial.name is None:
            return
        where = "starting Spark" if iteration is None else f"iteration {iteration}"
        self._show(f"running {self._trial.name}: {where}{' (warm-up)' if warmup else ''}")

    def note(self, text: str) -> None:
        """Print a line that stays."""
        common.err().print(text, markup=False)

    def _show(self, text: str) -> None:
        self.draw(f"{text}  {time.monotonic() - self._since:.0f} s")
