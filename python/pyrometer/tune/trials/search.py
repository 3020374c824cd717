"""The search: an engine is asked, the trial is run, the engine is told; all of it is journalled.

Whatever kills it, the journal says where it was: it is told to the engine again, which is
deterministic, and a run that had finished is adopted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pyrometer.core.errors import CapabilityError
from pyrometer.core.redaction import redacted
from pyrometer.experiments.folder import Ended, ExperimentPaths
from pyrometer.experiments.journal import Entries, Journal
from pyrometer.experiments.run.attempts import settle
from pyrometer.experiments.run.check import run_check
from pyrometer.experiments.run.environment import Actions
from pyrometer.experiments.run.honoured import honoured
from pyrometer.tune.advise.adviser import (
    FULL,
    Adviser,
    Suggestion,
    TakesHints,
    TakesStandIns,
)
from pyrometer.tune.trials import offers, refused
from pyrometer.tune.trials.baseline import need_baseline, need_metrics, short_of_room
from pyrometer.tune.trials.folder import Fidelity, Tuning
from pyrometer.tune.trials.judged import Check, Judge, Lasted, Measure, lasted, queued
from pyrometer.tune.trials.launching import launched
from pyrometer.tune.trials.measured import NS, measured, parts_of
from pyrometer.tune.trials.planned import TIMES_BEST, Length, plan_of, with_more_time
from pyrometer.tune.trials.records import Asked, Dropped, Known, Offered, Settled, Told
from pyrometer.tune.trials.replay import (
    History,
    MakeAdviser,
    Step,
    history_of,
    inform,
    made,
    narrowed,
    replay,
)
from pyrometer.tune.trials.screen import QuietTuning, TuneScreen
from pyrometer.tune.trials.unapplied import spark_of_run, to_drop, without

MOST_REFUSED = 20
"""Configurations in a row that are not launched, after which a search ends."""


def nothing_known(root: Path, run_dir: Path, tuning: Tuning) -> Known:
    """Look for nothing that is known before the search."""
    return Known(reason="nobody looked", wall_ns=time.time_ns())


@dataclass(frozen=True)
class TuneActions:
    """What touches the machine.

    Attributes
    ----------
    trials : Actions
        As experiments run trials.
    measure : callable
        Reads the metrics of a run.
    check : callable
        The user's own check of a run: why its result is wrong, or ``None``.
    available : callable
        Memory that programs can still have, and all of it.
    honour : callable
        Leaves out what this host cannot honour.
    length : callable
        How long a run took, without making its data.
    parts : callable
        Times of the queries of a run.
    spark : callable
        Version of the Spark that a run had.
    known : callable
        What is known before the search, by the first run of the job as it is; arguments are the
        folder of the tuning, the run directory, and the tuning.
    """

    trials: Actions = field(default_factory=Actions)
    measure: Measure = measured
    check: Check = run_check
    available: Callable[[], tuple[float, float] | None] = refused.available
    honour: refused.Honour = honoured
    length: Lasted = lasted
    parts: offers.Parts = parts_of
    spark: Callable[[Path], str | None] = spark_of_run
    known: Callable[[Path, Path, Tuning], Known] = nothing_known


@dataclass
class Search:
    """A search that is under way.

    Attributes
    ----------
    make : callable
        Makes the engine.
    entries : Entries
        The journal, as far as it was written.
    """

    root: Path
    tuning: Tuning
    make: MakeAdviser
    entries: Entries
    journal: Journal
    screen: TuneScreen = field(default_factory=QuietTuning)
    actions: TuneActions = field(default_factory=TuneActions)
    history: History = field(default_factory=History)
    adviser: Adviser = field(init=False)

    def __post_init__(self) -> None:
        self._space = self.tuning.space.read()
        actions = self.actions
        self._judge = Judge(self.root, self.tuning, actions.measure, actions.check, actions.length)
        self._held: Suggestion | None = None
        self._refused: list[Told] = []

    def carry_out(self) -> History:
        """Search until the budget's part for it is spent, or the engine has no more to ask.

        Raises
        ------
        WorkloadError
            If the job as it is does not finish, its check fails, or it does not show what is asked
            for: there is nothing to compare with.
        CapabilityError
            If the journal cannot be written, or others have the memory that one configuration
            after another needs; what ended is kept.
        KeyboardInterrupt
            If the user stopped it; what ended is kept.
        """
        self.history = history_of(self.entries)
        if self.history.settled is None:
            self.adviser, self._held = replay(
                self.make, self.tuning, self.history, self.screen.note
            )
            self.tuning = offers.with_offers(self.tuning, self.history)
            self._narrow()
            self.screen.began(self.tuning, self.history)
            self._settle_open()
            why = self._search()
            best = self.adviser.best()
            record = Settled(
                configuration={} if best is None else dict(best.configuration),
                change=None if best is None else best.change,
                trials=0 if best is None else best.trials,
                why=why, wall_ns=time.time_ns(),
            )  # fmt: skip
            self.journal.append(record)
            self.history.settled = record
        return self.history

    def _search(self) -> str:
        self._prepare()
        while True:
            if self.history.baselines:
                need_metrics(self.tuning, self.history)
            self._drop()
            if self._varied_out:
                what = "this engine varies" if self._space.knobs else "can be varied"
                return f"nothing that {what} is left"
            if not self._affordable():
                return "the budget's part for the search is spent"
            if why := self._all_refused():
                return why
            self._choose_queries()
            wanted, self._held = self._held or self.adviser.ask(), None
            if (why := self._needs_baseline()) and not (wanted and _is_baseline(wanted)):
                self._run(Suggestion({}, why=why), own=True)
                need_baseline(self.root, self.tuning, self.history)
            if wanted is None:
                return "nothing is left that is worth its cost"
            self._run(wanted)
            need_baseline(self.root, self.tuning, self.history)

    def _needs_baseline(self) -> str | None:
        """Say why the job as it is has to run next, whatever is asked for."""
        known = self.history.baselines
        if not known:
            return "the job as it is"
        unsure = any(one.told and one.told.differs and one.told.void for one in self.history.steps)
        return "whether its result repeats" if unsure and len(known) == 1 else None

    def _prepare(self) -> None:
        """Run the job as it is, look at what is known then, and measure stand-ins."""
        if self.history.settled is not None or self._held is not None:
            return
        takes_hints = isinstance(self.adviser, TakesHints) and self.history.known is None
        measures = [
            one
            for one in self.tuning.fidelities
            if one.name not in self.history.offers and not one.chosen
            and isinstance(self.adviser, TakesStandIns)
        ]  # fmt: skip
        engine_began = any(not one.asked.early for one in self.history.steps)
        if engine_began or not (takes_hints or measures):
            return
        if not self.history.baselines:
            self._run(Suggestion({}, why="the job as it is"), early=True)
            need_baseline(self.root, self.tuning, self.history)
        if takes_hints:
            first = self.history.baselines[0].ended
            assert first is not None
            run_dir = ExperimentPaths(self.root).trials / first.folder
            self._say(self.actions.known(self.root, run_dir, self.tuning))
        for one in measures:
            self._say(self._measured(one))

    def _measured(self, fidelity: Fidelity) -> Offered:
        if why := offers.room(self.tuning, self.history):
            return offers.left_out(fidelity, why)
        known = [one for one in self.history.steps if one.asked.fidelity == fidelity.name]
        if not known:
            self._run(Suggestion({}, fidelity.name, why="what a stand-in costs"), early=True)
        step = next(s for s in self.history.steps if s.asked.fidelity == fidelity.name)
        return offers.measured(fidelity, step, self.history)

    def _choose_queries(self) -> None:
        """Choose the queries that stand for a suite, as soon as enough trials have shown them."""
        if self._held is not None or not isinstance(self.adviser, TakesStandIns):
            return
        for one in self.tuning.fidelities:
            if not one.chosen or one.name in self.history.offers:
                continue
            if why := offers.room(self.tuning, self.history):
                self._say(offers.left_out(one, why))
                continue
            found = offers.chosen(self.tuning, one, self.history, self.root, self.actions.parts)
            if found is not None:
                self._say(found)

    @cached_property
    def _spark(self) -> str | None:
        one = self.history.baselines[0].ended
        return self.actions.spark(ExperimentPaths(self.root).trials / one.folder) if one else None

    def _drop(self) -> None:
        """Vary no longer what the job decides itself, or its Spark does not have; once for each."""
        spark = self._spark if self.history.baselines else None
        told = [step.told for step in self.history.steps if step.told]
        for factors, why in to_drop(self.tuning.space, told, self.history.dropped, spark):
            record = Dropped(factors=factors, why=why, wall_ns=time.time_ns())
            self.journal.append(record)
            self.history.say(record)
            self._narrow()
            adviser = narrowed(self.make, self.tuning, self.history)
            self.adviser, self._held = adviser or self.adviser, None
            self.screen.note(f"not varied any more: {', '.join(factors)}: {why}")

    def _narrow(self) -> None:
        self.tuning = without(self.tuning, self.history.dropped)
        self._space = self.tuning.space.read()
        self._varied_out = made(self.make, self.tuning) is None

    def _say(self, record: Offered | Known) -> None:
        self.journal.append(record)
        self.history.say(record)
        self.tuning = offers.with_offers(self.tuning, self.history)
        inform(self.adviser, record)
        self.screen.said(record)

    def _all_refused(self) -> str | None:
        """Say why the search ends, where one configuration after another is not launched.

        Raises
        ------
        CapabilityError
            If that may pass: then the search goes on another time.
        """
        if len(self._refused) < MOST_REFUSED:
            return None
        why = f"the last {MOST_REFUSED} configurations were {self._refused[-1].failed}"
        if any(one.void for one in self._refused):
            raise CapabilityError(
                why, f"end what else takes memory; then: pyrometer tune resume {self.root}"
            )
        return why

    def _affordable(self) -> bool:
        """Whether another full trial fits into the part of the budget that is for the search."""
        tuning = self.tuning
        left = tuning.budget.amount - tuning.reserved - self.history.spent(tuning)
        if tuning.budget.unit == "runs":
            return left >= 1.0
        each = (self.history.last_whole() or 0.0) / NS
        return left > (each if tuning.budget.unit == "core-seconds" else each / tuning.cpus)

    def _settle_open(self) -> None:
        """Finish the last trial, if a kill left it between two records."""
        step = self.history.steps[-1] if self.history.steps else None
        if step is None or step.told is not None:
            return
        plan = plan_of(self.tuning, step.asked)
        settle(self.root, plan, self.entries, self.journal, self.screen)
        self.adviser.tell(self._finish(step).observation(step.asked))
        self.screen.told(step, self.history, self.adviser)

    def _run(self, wanted: Suggestion, *, own: bool = False, early: bool = False) -> None:
        limit_s, timeout_s = self._limits(wanted)
        asked = Asked(
            trial=1 + len(self.history.steps), configuration=dict(wanted.configuration),
            fidelity=wanted.fidelity, block=wanted.block, why=wanted.why, own=own,
            early=early,
            limit_s=limit_s, timeout_s=timeout_s, wall_ns=time.time_ns(),
        )  # fmt: skip
        self.journal.append(asked)
        step = Step(asked)
        self.history.steps.append(step)
        self.adviser.tell(self._finish(step).observation(asked))
        self.screen.told(step, self.history, self.adviser)
        if self.history.baselines == [step] and (why := short_of_room(self.tuning, self.history)):
            self.screen.note(why)

    def _finish(self, step: Step) -> Told:
        """Do what is still to be done of a trial that was asked for: refuse or run it, and tell."""
        asked = step.asked
        self.screen.asked(asked)
        number = asked.trial
        if number not in self.entries.ended:
            why = None
            if number not in self.entries.attempts:
                why = refused.why_not(
                    asked.configuration, self.tuning.shared, self._space, self.tuning.workload,
                    self.root, self.actions.available(), self.actions.honour,
                )  # fmt: skip
            if why is not None:
                told = Told(
                    trial=number, value=None, cost=0.0, refused=True,
                    failed=f"{refused.NOT_LAUNCHED}{why.reason}", void=why.passing,
                    wall_ns=time.time_ns(),
                )  # fmt: skip
                return self._tell(step, told)
            self._launch(asked)
        before = [one for one in self.entries.before if one.trial == number]
        ended = [*before, self.entries.ended[number]]
        void = ended[0].outside or queued(asked, ended[0], self.history)
        if void is not None and not before:
            self.screen.note(f"trial {number} is run again: {void}")
            more = with_more_time(asked, ended[0], self.tuning.timeout_s)
            ended.append(self._launch(more))
        step.ended = ended[-1]
        disturbed = [one for one in self.entries.disturbed if one.trial == number]
        step.attempts = [*disturbed, *ended]
        return self._tell(step, self._judge.judged(step, self.history))

    def _launch(self, asked: Asked) -> Ended:
        return launched(
            self.root, self.tuning, asked, self.entries, self.journal, self.screen,
            self.actions.trials,
        )  # fmt: skip

    def _tell(self, step: Step, told: Told) -> Told:
        if told.failed is not None:
            told.failed = redacted(told.failed)
        self.journal.append(told)
        step.told = told
        if told.refused:
            self._refused.append(told)
        elif step.asked.configuration:
            # The job as it is runs anyway, in each block again.
            self._refused.clear()
        return told

    def _limits(self, wanted: Suggestion) -> tuple[float | None, float | None]:
        """Time of an iteration beyond which a trial is given up, and the timeout that does it."""
        alike = [
            one
            for one in self.history.steps
            if one.asked.fidelity == wanted.fidelity and one.counts and one.ended is not None
        ]
        known = [one for one in alike if not one.asked.configuration]
        times = [one.ended.seconds for one in alike if one.ended and one.ended.seconds]
        if not known or not times or not wanted.configuration:
            return None, self.history.patience_s(self.tuning.timeout_s)
        if wanted.limit is not None and self.tuning.objective == "elapsed":
            limit = wanted.limit / NS
        else:
            limit = TIMES_BEST * min(times)
        ended = known[-1].ended
        assert ended is not None
        length = Length.of(ended)
        # A queue that was long once may be so again.
        waits = [one.ended.waited_s or 0.0 for one in known if one.ended is not None]
        length = replace(length, beside_s=max(length.beside_s, *waits))
        timeout, limit = length.timeout(limit, self.tuning.timeout_s)
        # A baseline that itself takes nearly all of the time says nothing of a limit.
        return (limit, timeout) if limit > 0 else (None, self.tuning.timeout_s)


def _is_baseline(wanted: Suggestion) -> bool:
    return not wanted.configuration and wanted.fidelity == FULL
