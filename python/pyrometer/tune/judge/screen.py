"""Progress of a tuning: best so far, budget and time left; elsewhere than a terminal, lines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pyrometer.core import units
from pyrometer.terminal.trials import TrialsScreen
from pyrometer.tune.advise.adviser import FULL
from pyrometer.tune.judge.report import status_of
from pyrometer.tune.trials.measured import words_of
from pyrometer.tune.trials.planned import in_brief
from pyrometer.tune.trials.records import Known, Offered

if TYPE_CHECKING:
    from pyrometer.experiments.folder import Ended, Plan, PlannedTrial
    from pyrometer.experiments.journal import Entries
    from pyrometer.tune.advise.adviser import Adviser, Incumbent
    from pyrometer.tune.trials.folder import Tuning
    from pyrometer.tune.trials.records import Asked
    from pyrometer.tune.trials.replay import History, Step


class TuningScreen(TrialsScreen):
    """A :class:`pyrometer.tune.trials.screen.TuneScreen` for people."""

    def __init__(self) -> None:
        super().__init__()
        self._tuning: Tuning | None = None
        self._history: History | None = None
        self._asked: Asked | None = None
        self._best: Incumbent | None = None

    def began(self, tuning: Tuning, history: History) -> None:
        """Show what is there already."""
        self._tuning, self._history = tuning, history
        done = sum(one.told is not None for one in history.steps)
        if done:
            verb = "is" if done == 1 else "are"
            self.note(f"{units.counted(done, 'trial')} {verb} there already")

    def asked(self, asked: Asked) -> None:
        """Show which trial comes."""
        self._asked = asked
        self._begin()

    def told(self, step: Step, history: History, adviser: Adviser) -> None:
        """Show what it gave, and the best so far."""
        assert self._tuning is not None
        self._history, self._best = history, adviser.best()
        told = step.told
        assert told is not None
        how: str = status_of(step)
        if told.failed is not None:
            how = told.failed
        elif told.value is not None:
            least = "more than " if told.censored else ""
            how = least + words_of(self._tuning.objective, told.value, self._currency)
        name = in_brief(step.asked.configuration)
        if step.asked.fidelity != FULL:
            name += f" ({step.asked.fidelity})"
        line = f"{step.asked.trial}  {name}  {how}"
        if step.asked.why:
            line += f"  ({step.asked.why})"
        self._tell(line, more=f"  [{self._state()}]")

    def said(self, record: Offered | Known) -> None:
        """Show what the engine is told beside trials: before any trial, apart from them."""
        for text in said_words(record):
            self.note(text)

    @property
    def _currency(self) -> str:
        return str((self._tuning.prices or {}).get("currency", "")) if self._tuning else ""

    def planned(self, plan: Plan, entries: Entries) -> None:
        """Show nothing: trials of the search are asked for one by one."""

    def trial(self, planned: PlannedTrial, attempt: int) -> None:
        """Show that an attempt begins."""
        if attempt > 1:
            self.note(f"trial {planned.number}: attempt {attempt}")

    def ended(self, ended: Ended) -> None:
        """Show nothing: it is shown when it is told."""

    def _state(self) -> str:
        """Say the best so far, what is spent, and when the search ends."""
        tuning, history = self._tuning, self._history
        if tuning is None or history is None:
            return ""
        budget = tuning.budget
        whole = budget.amount - tuning.reserved
        spent = history.spent(tuning)
        parts = [best_words(self._best)]
        parts.append(f"search: {budget.words(spent)} of {budget.words(whole)}")
        left_s = self._left_s(spent, whole)
        if left_s is not None:
            at = time.strftime("%H:%M", time.localtime(time.time() + left_s))
            left = units.duration(left_s * 1e9)
            parts.append(f"about {left} left, confirmation included, until {at}")
        return "; ".join(part for part in parts if part)

    def _left_s(self, spent: float, whole: float) -> float | None:
        tuning, history = self._tuning, self._history
        assert tuning is not None
        assert history is not None
        left = max(0.0, whole - spent) + tuning.reserved
        if tuning.budget.unit == "seconds":
            return left
        if tuning.budget.unit == "core-seconds":
            return left / tuning.cpus
        each = history.last_whole()
        return None if each is None else left * each / 1e9 / tuning.cpus

    def _screen(self) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        parts: list[Any] = [Text(self._state())]
        if self._tuning is not None and self._history is not None:
            whole = self._tuning.budget.amount - self._tuning.reserved
            spent = min(whole, self._history.spent(self._tuning))
            parts.append(ProgressBar(total=whole or 1, completed=spent, width=60))
        if self._asked is not None:
            name = in_brief(self._asked.configuration)
            parts.append(Text(f"trial {self._asked.trial}: {name}: {self._doing}"))
        return Group(*parts, *map(Text, self._last))


def said_words(record: Offered | Known) -> list[str]:
    """Say what an engine is told beside trials."""
    if isinstance(record, Offered):
        one = record.fidelity
        if record.left_out is not None:
            return [f"no stand-in: {one.summary}: {record.left_out}"]
        return [f"stands in: {one.summary}, {units.percent(one.cost_ratio)} of a run"]
    lines = []
    for prior in record.priors:
        saves = ""
        if prior.saving_ratio is not None:
            saves = f": predicted to save {units.percent(prior.saving_ratio)}"
        lines.append(f"before any trial: {in_brief(prior.levels)}{saves} ({prior.source})")
    for like in record.similar:
        doubts = f"; differs in {', '.join(like.differs)}" if like.differs else ""
        trials = units.counted(like.trials, "trial")
        lines.append(f"before any trial: {trials} of a similar job, {like.job} ({like.of}){doubts}")
    lines += [f"not read: {text}" for text in record.unread]
    if not lines and record.reason is not None:
        lines.append(f"before any trial: nothing is known: {record.reason}")
    return lines


def best_words(best: Incumbent | None) -> str:
    """Say what is best so far, with the engine's interval.

    Examples
    --------
    >>> from pyrometer.tune.advise.adviser import Incumbent
    >>> best_words(Incumbent({"jvm.gc": "parallel"}, (-0.2, -0.3, -0.1), 3))
    'best so far −20.0 % [−30.0 %, −10.0 %]: jvm.gc=parallel'
    """
    if best is None or not best.configuration:
        return "best so far: the job as it is"
    value, low, high = (units.percent(one, True) for one in best.change)
    return f"best so far {value} [{low}, {high}]: {in_brief(best.configuration)}"
