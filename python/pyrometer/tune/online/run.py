"""One scheduled run of a recurring job: decided, run, judged; as it is again where a step failed.

Whatever ends it, the journal says what was decided, and the next run goes on from there.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, chdir, nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from pyrometer.collect.launch.command import understand
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.redaction import redacted
from pyrometer.experiments.folder import Began, Ended, ExperimentPaths
from pyrometer.experiments.history.stored_runs import length_of
from pyrometer.experiments.journal import Entries, Journal, opened_journal, read_journal
from pyrometer.experiments.run.attempts import settle
from pyrometer.experiments.run.environment import Quiet, Screen
from pyrometer.experiments.run.planned import machine_words, this_machine
from pyrometer.store.manifest import read_manifest
from pyrometer.tune.advise.history import fitting
from pyrometer.tune.online.policy import Decision, Move, Policy
from pyrometer.tune.online.terms import OnlineRun, Terms
from pyrometer.tune.trials import refused
from pyrometer.tune.trials.folder import Tuning, read_tuning
from pyrometer.tune.trials.judged import Judge
from pyrometer.tune.trials.launching import launched
from pyrometer.tune.trials.measured import NS
from pyrometer.tune.trials.planned import Length, in_brief, plan_of
from pyrometer.tune.trials.records import KINDS, Asked, Decided, Dropped, Told
from pyrometer.tune.trials.replay import History, Step, history_of
from pyrometer.tune.trials.search import TuneActions
from pyrometer.tune.trials.unapplied import to_drop, without

VERB = "tune step"
AS_IT_IS_AGAIN = "again as it is"
"""Why a job is run a second time in a night begins with this, in journals and for pages."""
KEPT_BASELINES = 5
"""Last runs of the baseline by which the time beside its work is known."""
KEPT_LENGTHS = 25
"""Last runs of the baseline by which the length of one that failed is known."""


@dataclass(frozen=True)
class Stepped:
    """What a scheduled run came to.

    Attributes
    ----------
    done : bool
        Whether the job was done, by a step or as it is.
    told : tuple of Told
        Of its runs: one, or two where it had to be run again as it is.
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


def new_policy(tuning: Tuning, terms: Terms, history: History) -> Policy:
    """Make the policy of a recurring job, before it is told of any run.

    Parameters
    ----------
    history : History
        All runs: what they show that cannot be varied is not.
    """
    space = without(tuning, not_varied(history)).space.read()
    ideas = [fitting(space, one.levels) for one in tuning.priors]
    return Policy(space, terms, seed=tuning.seed, ideas=ideas)


def not_varied(history: History) -> dict[str, str]:
    """Say why factors are not varied: a level did not hold, or Spark does not have them yet."""
    seen = [one.told for one in history.steps if one.told is not None]
    not_held = {factor: one.failed or "not applied" for one in seen for factor in one.unapplied}
    return {**not_held, **history.dropped}


def policy_of(tuning: Tuning, terms: Terms, history: History) -> tuple[Policy, list[Decision]]:
    """Replay a policy from its journal, and give all that it decided."""
    policy = new_policy(tuning, terms, history)
    decided: list[Decision] = []
    for _, told in course(policy, history):
        decided += told
    return policy, decided


def course(policy: Policy, history: History) -> Iterator[tuple[Step, list[Decision]]]:
    """Tell a policy all runs in their order, and give what it decided after each.

    Those of another machine are given, and not told: times of two cannot be mixed.
    """
    baselines: deque[Told] = deque(maxlen=KEPT_LENGTHS)
    for one, next_ in zip_longest(history.steps, history.steps[1:]):
        if one.told is None:
            continue
        if one.asked.elsewhere is not None:
            yield one, []
            continue
        again = next_ is not None and AS_IT_IS_AGAIN in next_.asked.why
        yield one, policy.tell(_seen(one, one.told, baselines, again=again))
        if one.is_baseline and one.counts:
            baselines.append(one.told)


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
        If the user stopped it; it says nothing of what ran.
    """
    root = root.absolute()
    tuning, terms = online_of(root)
    again = f"pyrometer {VERB} {root}"
    with _in_its_folder(tuning), opened_journal(root, KINDS, VERB, again) as journal:
        entries = read_journal(root, KINDS)
        history = history_of(entries)
        screen, actions = screen or Quiet(), actions or TuneActions()
        for record in _unknown(root, tuning, history, actions):
            journal.append(record)
            history.say(record)
            screen.note(f"not varied: {', '.join(record.factors)}: {record.why}")
        policy = new_policy(tuning, terms, history)
        decided = [each for _, each in course(policy, history)]
        one = _Online(root, tuning, policy, history, entries, journal, screen, actions)
        one.settle_open(decided[-1] if decided else [])
        return one.run()


def _unknown(
    root: Path, tuning: Tuning, history: History, actions: TuneActions
) -> Iterator[Dropped]:
    """Find what the job's Spark does not have yet, by its first run as it is; each once."""
    here = (one.ended for one in history.baselines if one.asked.elsewhere is None)
    if (first := next(filter(None, here), None)) is None:
        return
    spark = actions.spark(ExperimentPaths(root).trials / first.folder)
    for factors, why in to_drop(tuning.space, (), history.dropped, spark):
        yield Dropped(factors=factors, why=why, wall_ns=time.time_ns())


def _in_its_folder(tuning: Tuning) -> AbstractContextManager[None]:
    """Be where a command was prepared: schedulers start their jobs anywhere."""
    if tuning.folder is None:
        return nullcontext()
    if not Path(tuning.folder).is_dir():
        raise UsageError(
            f"the command was prepared in {tuning.folder}, which is no longer a folder",
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

    def settle_open(self, decided: Sequence[Decision]) -> None:
        """Account for what a kill left open; a run that had finished is adopted.

        Parameters
        ----------
        decided : sequence of Decision
            What followed from the last run that was told; the journal may not have it yet.
        """
        last = self.history.steps[-1] if self.history.steps else None
        if last is None:
            return
        if last.told is not None:
            noted = [one.trial for one in self.entries.others if isinstance(one, Decided)]
            if last.asked.trial not in noted:
                self._note(last.told, decided)
            return
        number, began = last.asked.trial, self.entries.open.get(last.asked.trial)
        settle(self.root, plan_of(self.tuning, last.asked), self.entries, self.journal, self.screen)
        if number in self.entries.ended:
            self._tell(last, self._judged(last, self.entries.ended[number]))
        else:
            self._tell(last, _killed(self.root, number, began))

    def run(self) -> Stepped:
        move = self._next()
        told, decisions = self._run(move)
        if _done(told) or not move.configuration:
            return Stepped(move, _done(told), (told,), tuple(decisions))
        again = Move("control", {}, f"{AS_IT_IS_AGAIN}: the run before did not do the job")
        second, more = self._run(again)
        return Stepped(move, _done(second), (told, second), (*decisions, *more))

    def _next(self) -> Move:
        if (other := _elsewhere(self.tuning)) is None:
            return self.policy.next()
        return Move("control", {}, f"as it is: this is another machine ({other})")

    def _run(self, move: Move) -> tuple[Told, list[Decision]]:
        limit_s = None if move.limit is None else move.limit / NS
        asked = Asked(
            trial=1 + len(self.history.steps), configuration=dict(move.configuration),
            fidelity="full", block=0, why=f"{move.role}: {move.why}", limit_s=limit_s,
            timeout_s=None if limit_s is None else limit_s + self._beside_s(),
            elsewhere=_elsewhere(self.tuning),
            wall_ns=time.time_ns(),
        )  # fmt: skip
        self.journal.append(asked)
        one = Step(asked)
        self.history.steps.append(one)
        return self._finish(one)

    def _finish(self, one: Step) -> tuple[Told, list[Decision]]:
        asked = one.asked
        if (why := self._refused(asked)) is not None:
            # What others take tonight says nothing of a configuration that fits the machine.
            told = Told(
                trial=asked.trial, cost=0.0, failed=f"{refused.NOT_LAUNCHED}{why.reason}",
                refused=True, void=why.passing, wall_ns=time.time_ns(),
            )  # fmt: skip
            return told, self._tell(one, told)
        ended = launched(
            self.root, self.tuning, asked, self.entries, self.journal, self.screen,
            self.actions.trials,
        )  # fmt: skip
        told = self._judged(one, ended)
        return told, self._tell(one, told)

    def _refused(self, asked: Asked) -> refused.Refusal | None:
        return refused.why_not(
            asked.configuration, self.tuning.shared, self.tuning.space.read(),
            self.tuning.workload, self.root, self.actions.available(), self.actions.honour,
        )  # fmt: skip

    def _judged(self, one: Step, ended: Ended) -> Told:
        one.ended = ended
        one.attempts = [*(e for e in self.entries.disturbed if e.trial == ended.trial), ended]
        return self._judge.judged(one, self.history)

    def _tell(self, one: Step, told: Told) -> list[Decision]:
        if told.failed is not None:
            told.failed = redacted(told.failed)
        self.journal.append(told)
        one.told = told
        before = [
            each.told
            for each in self.history.baselines
            if each.told and each is not one and each.asked.elsewhere is None
        ]
        if one.asked.elsewhere is not None:
            return []
        decisions = self.policy.tell(_seen(one, told, before[-KEPT_LENGTHS:]))
        self._note(told, decisions)
        return decisions

    def _note(self, told: Told, decisions: Sequence[Decision]) -> None:
        for each in decisions:
            self.journal.append(
                Decided(
                    trial=told.trial, what=each.what, configuration=dict(each.configuration),
                    why=each.why, wall_ns=time.time_ns(),
                )
            )  # fmt: skip
            self.screen.note(f"{each.what}: {in_brief(each.configuration)}: {each.why}")

    def _beside_s(self) -> float:
        """Time of a run beside its work: launch, reading, tables; the longest of the last ones."""
        here = [one for one in self.history.baselines if one.asked.elsewhere is None]
        ended = [one.ended for one in here if one.ended is not None]
        return max((Length.of(one).beside_s for one in ended[-KEPT_BASELINES:]), default=0.0)


def _elsewhere(tuning: Tuning) -> str | None:
    """Say which machine this is, if it is another one than that of the runs before.

    Where a cluster does the job, it does not matter who submits it.
    """
    master = understand(tuning.command).master if tuning.command else None
    if not tuning.machine or (master is not None and not master.startswith("local")):
        return None
    here = this_machine()
    return None if here == tuning.machine else machine_words(here)


def _done(told: Told) -> bool:
    """Whether the job was done, be it with another level than was asked for."""
    whole = told.value is not None and told.failed is None and not told.censored
    return whole or bool(told.unapplied)


def _killed(root: Path, number: int, began: Began | None) -> Told:
    """Tell of a run that something ended together with us, or before it began."""
    told = Told(
        trial=number, cost=0.0, failed="it was killed before its end", void=True,
        wall_ns=time.time_ns(),
    )  # fmt: skip
    if began is None:
        told.failed, told.length_s = "it was killed before it began", 0.0
        return told
    try:
        manifest = read_manifest(ExperimentPaths(root).trials / began.folder)
    except PyrometerError:
        return told
    if manifest.exit.reason:
        told.failed = f"it was killed before its end: {manifest.exit.reason}"
    if all(one.end_mono_ns is not None for one in manifest.phases):
        told.length_s = length_of(manifest)
    return told


def _seen(one: Step, told: Told, baselines: Collection[Told], *, again: bool = False) -> OnlineRun:
    """Give a run as the policy sees it, by the last runs of the baseline before it.

    In older journals a job was run `again` also where only a level did not hold.
    """
    ended, limit_s = one.ended, one.asked.limit_s
    lost = told.value if told.censored else _lost(told, baselines, again)
    if told.void and lost is not None and limit_s is not None:
        # Its time in a queue is no loss, and for its work it had no more than its limit.
        lost = min(lost, limit_s * NS)
    return OnlineRun(
        one.asked.configuration, told.value, given_up=told.censored, failed=told.failed,
        lost=lost, void=told.void,
        differs=told.differs,
        result=told.result or _result(ended),
    )  # fmt: skip


def _result(ended: Ended | None) -> str | None:
    """Give the result of a run, where the journal does not say what of it was compared."""
    known = ended is not None and ended.checksum is not None
    return f"{ended.rows} {ended.checksum}" if ended is not None and known else None


def _lost(told: Told, baselines: Collection[Told], again: bool) -> float | None:
    """Say what a run took that failed: its length over that of baselines before it.

    Where it did the job all the same, and nothing ran `again` for it, only what it took longer.
    Launches count on both sides: where the value is an iteration's, they are no part of it.
    """
    if told.refused:
        return 0.0
    if told.value is not None and told.failed is None:
        return None
    known = [(one.length_s, one.value) for one in baselines if one.length_s and one.value]
    if told.length_s is None or not known:
        return None
    length = statistics.median(length for length, _ in known)
    value = statistics.median(value for _, value in known)
    return value * (told.length_s / length - (bool(told.unapplied) and not again))
