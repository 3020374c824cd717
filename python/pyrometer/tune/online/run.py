"""One scheduled run of a recurring job: decided, run, judged; as it is again where a step failed.

Whatever ends it, the journal says what was decided, and the next run goes on from there.
"""

from __future__ import annotations

import statistics
import time
from contextlib import AbstractContextManager, chdir, nullcontext
from dataclasses import dataclass
from pathlib import Path

from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import redacted
from pyrometer.experiments.folder import Ended
from pyrometer.experiments.journal import Entries, Journal, opened_journal, read_journal
from pyrometer.experiments.run.attempts import make_attempts, settle
from pyrometer.experiments.run.environment import Quiet, Screen
from pyrometer.tune.advise.history import fitting
from pyrometer.tune.online.policy import Decision, Move, Policy
from pyrometer.tune.online.terms import OnlineRun, Terms
from pyrometer.tune.trials import refused
from pyrometer.tune.trials.folder import Tuning, read_tuning
from pyrometer.tune.trials.judged import Judge
from pyrometer.tune.trials.measured import NS
from pyrometer.tune.trials.planned import Length, plan_of
from pyrometer.tune.trials.records import KINDS, Asked, Decided, Told
from pyrometer.tune.trials.replay import History, Step, history_of
from pyrometer.tune.trials.search import TuneActions

VERB = "tune step"
KEPT_BASELINES = 5
"""Last runs of the baseline by which the time beside its work is known."""


@dataclass(frozen=True)
class Stepped:
    """What a scheduled run came to.

    Attributes
    ----------
    done : bool
        Whether the job was done, by a step or as it is.
    told : tuple of Told
        Of its runs: one, or two where a step had to be made good.
    """

    move: Move
    done: bool
    told: tuple[Told, ...]
    decisions: tuple[Decision, ...]


def online_of(root: Path) -> tuple[Tuning, Terms]:
    """Read the plan of a recurring job.

    Raises
    ------
    UsageError
        If it is none.
    """
    tuning = read_tuning(root)
    if tuning.online is None:
        raise UsageError(
            f"{root} is a tuning that searches at once, not one of a recurring job",
            f"pyrometer tune resume {root}; or: pyrometer tune online",
        )
    return tuning, Terms(**tuning.online.model_dump(include=set(Terms.__dataclass_fields__)))


def policy_of(tuning: Tuning, terms: Terms, history: History) -> tuple[Policy, list[Decision]]:
    """Replay a policy from its journal, and give all that it decided."""
    space = tuning.space.read()
    ideas = [fitting(space, one.levels) for one in tuning.priors]
    policy = Policy(space, terms, seed=tuning.seed, ideas=ideas)
    decided = []
    for step in history.steps:
        if step.told is not None:
            decided += policy.tell(_seen(step, history))
    return policy, decided


def step(
    root: Path, *, screen: Screen | None = None, actions: TuneActions | None = None
) -> Stepped:
    """Run a recurring job once.

    Raises
    ------
    UsageError
        If there is no such plan, the folder of its command is gone, another process runs it, or
        its journal was edited.
    CapabilityError
        If the journal cannot be written.
    KeyboardInterrupt
        If the user stopped it; it counts as a run that was lost.
    """
    root = root.absolute()
    tuning, terms = online_of(root)
    with _in_its_folder(tuning), opened_journal(root, KINDS, VERB) as journal:
        entries = read_journal(root, KINDS)
        history = history_of(entries)
        policy, _ = policy_of(tuning, terms, history)
        one = _Online(
            root, tuning, policy, history, entries, journal, screen or Quiet(),
            actions or TuneActions(),
        )  # fmt: skip
        one.settle_open()
        return one.run()


def _in_its_folder(tuning: Tuning) -> AbstractContextManager[None]:
    """Be where a command was prepared: schedulers start their jobs anywhere."""
    if tuning.folder is None:
        return nullcontext()
    if not Path(tuning.folder).is_dir():
        raise UsageError(
            f"the command was prepared in {tuning.folder}, which is no folder any more",
            "put it back, or prepare the job again: pyrometer tune online",
        )
    return chdir(tuning.folder)


@dataclass
class _Online:
    root: Path
    tuning: Tuning
    policy: Policy
    history: History
    entries: Entries
    journal: Journal
    screen: Screen
    actions: TuneActions

    def __post_init__(self) -> None:
        actions = self.actions
        self._judge = Judge(self.root, self.tuning, actions.measure, actions.check, actions.length)

    def settle_open(self) -> None:
        """Account for a run that a kill left without its end; one that had finished is adopted."""
        last = self.history.steps[-1] if self.history.steps else None
        if last is None or last.told is not None:
            return
        number = last.asked.trial
        settle(self.root, plan_of(self.tuning, last.asked), self.entries, self.journal, self.screen)
        if number in self.entries.ended:
            self._tell(last, self._judged(last, self.entries.ended[number]))
        else:
            why = "it was killed before its end"
            self._tell(last, Told(trial=number, cost=0.0, failed=why, wall_ns=time.time_ns()))

    def run(self) -> Stepped:
        move = self.policy.next()
        told, decisions = self._run(move)
        if _done(told) or not move.configuration:
            return Stepped(move, _done(told), (told,), tuple(decisions))
        again = Move("control", {}, "again as it is: the step came to nothing")
        second, more = self._run(again)
        return Stepped(move, _done(second), (told, second), (*decisions, *more))

    def _run(self, move: Move) -> tuple[Told, list[Decision]]:
        limit_s = None if move.limit is None else move.limit / NS
        asked = Asked(
            trial=1 + len(self.history.steps), configuration=dict(move.configuration),
            fidelity="full", block=0, why=f"{move.role}: {move.why}", limit_s=limit_s,
            timeout_s=None if limit_s is None else limit_s + self._beside_s(),
            wall_ns=time.time_ns(),
        )  # fmt: skip
        self.journal.append(asked)
        one = Step(asked)
        self.history.steps.append(one)
        return self._finish(one)

    def _finish(self, one: Step) -> tuple[Told, list[Decision]]:
        asked = one.asked
        why = refused.why_not(
            asked.configuration, self.tuning.shared, self.tuning.space.read(),
            self.tuning.workload, self.root, self.actions.available(), self.actions.honour,
        )  # fmt: skip
        if why is not None:
            told = Told(
                trial=asked.trial, cost=0.0, failed=f"not launched: {why}", refused=True,
                wall_ns=time.time_ns(),
            )  # fmt: skip
            return told, self._tell(one, told)
        plan = plan_of(self.tuning, asked)
        switches = {**self.tuning.shared, **asked.configuration}
        with self.actions.trials.hold_switches(switches) as doubts:
            make_attempts(
                self.root, plan, plan.trials, self.entries, self.journal, self.screen,
                self.actions.trials,
            )  # fmt: skip
        for each in doubts:
            self.screen.note(f"{each.message} {each.remedy}")
        told = self._judged(one, self.entries.ended[asked.trial])
        return told, self._tell(one, told)

    def _judged(self, one: Step, ended: Ended) -> Told:
        one.ended = ended
        one.attempts = [*(e for e in self.entries.disturbed if e.trial == ended.trial), ended]
        return self._judge.judged(one, self.history)

    def _tell(self, one: Step, told: Told) -> list[Decision]:
        if told.failed is not None:
            told.failed = redacted(told.failed)
        self.journal.append(told)
        one.told = told
        decisions = self.policy.tell(_seen(one, self.history))
        for each in decisions:
            self.journal.append(
                Decided(
                    trial=told.trial, what=each.what, configuration=dict(each.configuration),
                    why=each.why, wall_ns=time.time_ns(),
                )
            )  # fmt: skip
            self.screen.note(f"{each.what}: {each.why}")
        return decisions

    def _beside_s(self) -> float:
        """Time of a run beside its work: launch, reading, tables; the longest of the last ones."""
        ended = [one.ended for one in self.history.baselines if one.ended is not None]
        return max((Length.of(one).beside_s for one in ended[-KEPT_BASELINES:]), default=0.0)


def _done(told: Told) -> bool:
    return told.value is not None and told.failed is None and not told.censored


def _seen(one: Step, history: History) -> OnlineRun:
    told = one.told
    assert told is not None
    return OnlineRun(
        one.asked.configuration, told.value, given_up=told.censored, failed=told.failed,
        lost=told.value if told.censored else _lost(one.asked.trial, told, history),
    )  # fmt: skip


def _lost(trial: int, told: Told, history: History) -> float | None:
    """Say what a run took that came to nothing: its length over that of the baselines before it.

    Launches count on both sides: where the value is an iteration's, they are no part of it.
    """
    if told.refused:
        return 0.0
    before = [
        each.told
        for each in history.baselines
        if each.asked.trial < trial and each.told and each.told.length_s and each.told.value
    ]
    if told.length_s is None or not before:
        return None
    length = statistics.median(each.length_s or 0.0 for each in before)
    value = statistics.median(each.value or 0.0 for each in before)
    return value * told.length_s / length
