"""What has happened in a tuning, read from its journal: each trial with what was asked and told."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from pyrometer.core.errors import UsageError
from pyrometer.experiments.folder import Ended
from pyrometer.experiments.journal import Entries
from pyrometer.tune.advise.adviser import (
    FULL,
    Adviser,
    Observation,
    Suggestion,
    TakesHints,
    TakesStandIns,
)
from pyrometer.tune.trials.folder import Earlier, Tuning
from pyrometer.tune.trials.planned import Length, fidelity_of
from pyrometer.tune.trials.records import (
    Added,
    Asked,
    Dropped,
    Known,
    Offered,
    Settled,
    Stopped,
    Told,
)
from pyrometer.tune.trials.unapplied import without

MakeAdviser = Callable[[Tuning], Adviser]
"""Makes the engine of a tuning: the same one for the same tuning, so that it can be replayed."""

EARLIER = -1
"""Block of trials of earlier work."""

HANGS = 5.0
"""A trial without a limit of its own hangs once it takes so many times as long as the job as it is,
and more than `HANGS_S`.
"""
HANGS_S = 600.0


@dataclass
class Step:
    """A trial: what was asked, how its last attempt ended, what was told; in this order.

    Attributes
    ----------
    attempts : list of Ended
        All attempts that ended, disturbed ones included.
    """

    asked: Asked
    ended: Ended | None = None
    told: Told | None = None
    attempts: list[Ended] = field(default_factory=list)

    @property
    def is_baseline(self) -> bool:
        """Whether it is the job as the user runs it, in full."""
        return not self.asked.configuration and self.asked.fidelity == FULL

    @property
    def counts(self) -> bool:
        """Whether it has a value that can be the best."""
        told = self.told
        return (
            told is not None
            and told.value is not None
            and told.failed is None
            and not told.censored
        )


@dataclass
class History:
    """All trials in their order, and the end of the search if it has come.

    Attributes
    ----------
    stopped : bool
        Whether the budget was used up before all of the confirmation had run.
    added : bool
        Whether somebody added blocks since, for which it does not count.
    closed : set of str
        Folders of the confirmation that it ended before blocks were added.
    offers : dict of str to Offered
        Cheap stand-ins by their names, offered or left out.
    known : Known or None
        What was known before the search.
    said : list of (int, Offered or Known or Dropped)
        What an engine is told beside trials, each with the number of those asked for before.
    """

    steps: list[Step] = field(default_factory=list)
    settled: Settled | None = None
    stopped: bool = False
    added: bool = False
    closed: set[str] = field(default_factory=set)
    offers: dict[str, Offered] = field(default_factory=dict)
    known: Known | None = None
    said: list[tuple[int, Offered | Known | Dropped]] = field(default_factory=list)

    def say(self, record: Offered | Known | Dropped) -> None:
        """Add what the engine is told beside trials."""
        self.said.append((len(self.steps), record))
        if isinstance(record, Offered):
            self.offers[record.fidelity.name] = record
        elif isinstance(record, Known):
            self.known = record

    @property
    def dropped(self) -> dict[str, str]:
        """Why factors are varied no longer."""
        records = [one for _, one in self.said if isinstance(one, Dropped)]
        return {factor: one.why for one in records for factor in one.factors}

    def add(self, record: Added) -> None:
        """Take that somebody added blocks."""
        self.stopped, self.added = False, True
        self.closed.update(record.closed)

    def length_s(self) -> float | None:
        """Median length of full runs as they are, without making data, in s."""
        known = [one.told.length_s for one in self.baselines if one.told and one.told.length_s]
        return statistics.median(known) if known else None

    def patience_s(self, most_s: float) -> float:
        """Longest time of a trial that has no limit of its own, such as the job as it is again.

        Parameters
        ----------
        most_s : float
            Beyond which nothing goes on; before the job as it is has finished, all that is known.
        """
        lengths = [Length.of(one.ended) for one in self.baselines if one.ended is not None]
        if not lengths:
            return most_s
        longest = max(one.work_s + one.beside_s for one in lengths)
        return min(most_s, max(HANGS_S, HANGS * longest))

    @property
    def baselines(self) -> list[Step]:
        """Trials of the baseline in full that count."""
        return [one for one in self.steps if one.is_baseline and one.counts]

    @property
    def best(self) -> Step | None:
        """The full trial with the least value; one trial, not what is believed to be best."""
        whole = [one for one in self.steps if one.asked.fidelity == FULL and one.counts]
        return min(whole, key=lambda one: _value(one), default=None)

    def spent(self, tuning: Tuning, upto: int | None = None) -> float:
        """How much of the budget trials have taken, in its unit.

        Parameters
        ----------
        upto : int, optional
            Only trials up to this number.
        """
        told = [
            one
            for one in self.steps
            if one.told is not None and (upto is None or one.asked.trial <= upto)
        ]
        return sum(cost_of(tuning, one) for one in told)

    def last_whole(self) -> float | None:
        """Median length of full trials in core-ns; ``None`` before there is one."""
        costs = [
            one.told.cost for one in self.steps
            if one.told is not None and one.asked.fidelity == FULL and one.counts
        ]  # fmt: skip
        return statistics.median(costs) if costs else None


def _value(step: Step) -> float:
    assert step.told is not None
    assert step.told.value is not None
    return step.told.value


def cost_of(tuning: Tuning, step: Step) -> float:
    """Give what a trial took of the budget: one that was never launched, nothing."""
    told = step.told
    if told is None or told.refused:
        return 0.0
    if tuning.budget.unit == "runs":
        if told.runs is not None:
            return told.runs
        return fidelity_of(tuning, step.asked.fidelity).cost_ratio
    core_s = told.cost / 1e9
    if tuning.budget.unit == "core-seconds":
        return core_s
    return core_s / tuning.cpus + told.waited_s


def history_of(entries: Entries) -> History:
    """Arrange the records of a journal by trial.

    Raises
    ------
    UsageError
        If something was told of a trial that nobody asked for: somebody edited it.
    """
    found = History()
    by_trial: dict[int, Step] = {}
    for record in entries.others:
        if isinstance(record, Asked):
            by_trial[record.trial] = step = Step(record)
            found.steps.append(step)
        elif isinstance(record, Told):
            if record.trial not in by_trial:
                raise UsageError(
                    f"the journal tells of trial {record.trial}, which was never asked for",
                    "restore the journal from a copy, or start again in another folder with -o",
                )
            by_trial[record.trial].told = record
        elif isinstance(record, Settled):
            found.settled = record
        elif isinstance(record, Stopped):
            found.stopped = True
        elif isinstance(record, Added):
            found.add(record)
        elif isinstance(record, Offered | Known | Dropped):
            found.say(record)
    for one in (*entries.disturbed, *entries.before):
        if one.trial in by_trial:
            by_trial[one.trial].attempts.append(one)
    for number, step in by_trial.items():
        step.ended = entries.ended.get(number)
        if step.ended is not None:
            step.attempts.append(step.ended)
    return found


def replay(
    make: MakeAdviser, tuning: Tuning, history: History, say: Callable[[str], None]
) -> tuple[Adviser, Suggestion | None]:
    """Ask and tell an engine all that it was asked and told before, in the same order.

    Parameters
    ----------
    say : callable
        Told where it suggests something else than it did: the journal counts.

    Returns
    -------
    (Adviser, Suggestion or None)
        The engine, and what it has suggested that was not begun yet.
    """
    adviser = make(tuning)
    tell_earlier(adviser, tuning.earlier)
    held: Suggestion | None = None
    heard = 0
    for at in range(len(history.steps) + 1):
        while heard < len(history.said) and history.said[heard][0] <= at:
            record, heard, held = history.said[heard][1], heard + 1, None
            if isinstance(record, Dropped):
                before = History(steps=history.steps[:at], said=history.said[:heard])
                adviser = narrowed(make, tuning, before) or adviser
            else:
                inform(adviser, record)
        if at == len(history.steps):
            break
        step = history.steps[at]
        if step.asked.early:
            if step.told is not None:
                adviser.tell(step.told.observation(step.asked))
            continue
        wanted, held = held or adviser.ask(), None
        if step.asked.own:
            # It was asked for first, and something else was run before.
            held = wanted
        elif not same(wanted, step.asked):
            say(f"trial {step.asked.trial}: the engine would ask for another one by now")
        if step.told is not None:
            adviser.tell(step.told.observation(step.asked))
    return adviser, held


def narrowed(make: MakeAdviser, tuning: Tuning, history: History) -> Adviser | None:
    """Make an engine for what is left of the space, and tell it all that it can take of trials."""
    left = without(tuning, history.dropped)
    adviser = made(make, left)
    if adviser is not None:
        retell(adviser, left, history)
    return adviser


def made(make: MakeAdviser, tuning: Tuning) -> Adviser | None:
    """Make the engine of a tuning; ``None``: nothing that it varies is left."""
    try:
        return make(tuning) if tuning.space.knobs else None
    except UsageError:
        return None


def retell(adviser: Adviser, tuning: Tuning, history: History) -> None:
    """Tell an engine all that it was told, and ask it nothing: for what it says of it."""
    tell_earlier(adviser, tuning.earlier)
    said, dropped = list(history.said), history.dropped.keys()
    for at, step in enumerate(history.steps):
        while said and said[0][0] <= at:
            inform(adviser, said.pop(0)[1], dropped)
        if step.told is not None and dropped.isdisjoint(step.asked.configuration):
            adviser.tell(step.told.observation(step.asked))
    for _, record in said:
        inform(adviser, record, dropped)


def tell_earlier(adviser: Adviser, earlier: Sequence[Earlier]) -> None:
    """Tell an engine trials of earlier work: each work is a fidelity, and a block, of its own."""
    works = list(dict.fromkeys(one.of for one in earlier))
    for one in earlier:
        adviser.tell(
            Observation(
                configuration=one.configuration,
                fidelity=one.of or FULL,
                block=EARLIER - works.index(one.of),
                value=one.value,
                cost=one.cost,
                metrics=one.metrics,
            )
        )


def inform(
    adviser: Adviser, record: Offered | Known | Dropped, dropped: Collection[str] = ()
) -> None:
    """Tell an engine of a stand-in, or of what is known; one that has no use for it, nothing.

    Parameters
    ----------
    dropped : collection of str
        Factors that its space lacks: of earlier trials with one it is not told.
    """
    if isinstance(record, Offered):
        if record.left_out is None and isinstance(adviser, TakesStandIns):
            adviser.offer(record.fidelity.name, record.fidelity.cost_ratio)
    elif isinstance(record, Known) and isinstance(adviser, TakesHints):
        # Earlier work first: what it says of a space is no trial of this one.
        known = [one for one in record.earlier if set(dropped).isdisjoint(one.configuration)]
        tell_earlier(adviser, known)
        adviser.hint([one.levels for one in record.priors])


def same(now: Suggestion | None, then: Asked) -> bool:
    """Whether an engine suggests what it did."""
    return now is not None and (dict(now.configuration), now.fidelity, now.block) == (
        then.configuration,
        then.fidelity,
        then.block,
    )
