"""Progress of an experiment: a live screen on a terminal, elsewhere a line per trial."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

from pyrometer.experiments.judge.terminal import duration
from pyrometer.terminal.trials import TrialsScreen

if TYPE_CHECKING:
    from pyrometer.experiments.folder import Ended, Plan, PlannedTrial
    from pyrometer.experiments.journal import Entries


class ExperimentScreen(TrialsScreen):
    """A :class:`pyrometer.experiments.run.environment.Screen` for people."""

    def __init__(self, trial_s: float | None = None) -> None:
        """Know how long a trial should take, until the first one has ended."""
        super().__init__()
        self._trial_s = trial_s
        self._plan: Plan | None = None
        self._now: tuple[PlannedTrial, int] | None = None
        self._done = 0
        self._lengths: list[float] = []
        self._values: dict[str, list[float]] = {}

    def planned(self, plan: Plan, entries: Entries) -> None:
        """Show what will run."""
        self._plan = plan
        for one in entries.ended.values():
            self._take(one)
        if self._done:
            self.note(f"{self._done} of {len(plan.trials)} trials are there already")

    def trial(self, planned: PlannedTrial, attempt: int) -> None:
        """Show that an attempt begins."""
        self._now = planned, attempt
        self._begin()

    def ended(self, ended: Ended) -> None:
        """Show how it ended."""
        total = len(self._plan.trials) if self._plan else 0
        how = f"{ended.seconds:.4g} s" if ended.seconds is not None else ended.status
        disturbances = [
            text for seen in (ended.before, ended.during) if seen for text in seen.disturbed
        ]
        number = f"{ended.trial}/{total}" if total else f"{ended.trial}"
        line = f"{number}  {ended.treatment}  {how}"
        if ended.status != "finished" and ended.reason:
            line += f"  {ended.reason}"
        line += f"  ({disturbances[0]})" if disturbances else ""
        if ended.status != "disturbed":
            self._take(ended)
        self._tell(line, more=self._left())

    def _take(self, ended: Ended) -> None:
        self._done += 1
        if ended.duration_s is not None:
            self._lengths.append(ended.duration_s)
        if ended.seconds is not None:
            self._values.setdefault(ended.treatment, []).append(ended.seconds)

    def _left(self) -> str:
        total = len(self._plan.trials) if self._plan else 0
        each = statistics.fmean(self._lengths) if self._lengths else self._trial_s
        if each is None or self._done >= total:
            return ""
        seconds = each * (total - self._done)
        at = time.strftime("%H:%M", time.localtime(time.time() + seconds))
        return f"  [{duration(seconds)} left, until {at}]"

    def _screen(self) -> Any:
        from rich.console import Group
        from rich.padding import Padding
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        total = len(self._plan.trials) if self._plan else 0
        head = Text(f"{self._done} of {total} trials{self._left()}")
        bar = Padding(ProgressBar(total=total or 1, completed=self._done, width=60), 0)
        parts: list[Any] = [head, bar]
        if self._now is not None:
            planned, attempt = self._now
            again = f", attempt {attempt}" if attempt > 1 else ""
            whose = planned.treatment if planned.launch is None else "all treatments"
            parts.append(Text(f"block {planned.block}: {whose}{again}: {self._doing}"))
        if self._values:
            table = Table(box=None, pad_edge=False)
            for title in ("treatment", "trials", "mean so far"):
                table.add_column(title)
            for name, values in list(self._values.items())[:20]:
                table.add_row(
                    Text(name), str(len(values)), f"{statistics.fmean(values):.4g} s"
                )  # fmt: skip
            parts.append(table)
        return Group(*parts, *map(Text, self._last))
