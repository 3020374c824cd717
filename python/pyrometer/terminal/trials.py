"""Progress of trials, one after another: a live screen on a terminal, elsewhere lines."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from typing import Any

from pyrometer.terminal import console
from pyrometer.terminal.console import WORDS, LiveDisplay, progress_line

LINES = 8


class TrialsScreen(LiveDisplay):
    """Shows what the present trial is doing, and the last lines that were told."""

    def __init__(self) -> None:
        super().__init__()
        self._what, self._since = "", time.monotonic()
        self._last: deque[str] = deque(maxlen=LINES)

    def phase(self, name: str) -> None:
        """Show that a phase of the trial begins."""
        self._show(WORDS.get(name, name))

    def progress(self, what: str, done: int, total: int) -> None:
        """Show how far data generation is."""
        self._show(progress_line(what, done, total))

    def running(self, iteration: int | None, iterations: int, warmup: bool) -> None:
        """Show which iteration runs."""
        where = "starting" if iteration is None else f"iteration {iteration}"
        self._show(f"{where}{' (warm-up)' if warmup else ''}")

    def exited(self, record: object, ending: object) -> None:
        """Show nothing: the end of a trial is shown when its run has been read."""

    def summarised(self, record: object, summary: object, scope: object) -> None:
        """Show nothing: the same."""

    def note(self, text: str) -> None:
        """Show something that matters now."""
        self._tell(text, self._what)

    def _begin(self) -> None:
        """Show that a trial begins."""
        self._since = time.monotonic()
        self._show("looking at the machine")

    def _tell(self, line: str, what: str = "", more: str = "") -> None:
        """Add a line; where there is no terminal, with more of what the screen shows."""
        if not self.shows:
            console.err().print(line + more, markup=False, soft_wrap=True)
        else:
            self._last.append(line)
            self._show(what)

    def _show(self, what: str) -> None:
        self._what = what
        if self.shows:
            self.draw(self._screen())

    @property
    def _doing(self) -> str:
        return f"{self._what} {time.monotonic() - self._since:.0f} s"

    @abstractmethod
    def _screen(self) -> Any:
        """Give what is drawn."""
