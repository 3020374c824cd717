"""What the next scheduled run is: pure, from the runs so far, so that a journal replays it.

Nothing but the baseline is run unless the worst that can come of it, being given up at the limit
and run again as it is, still keeps the promise. So the promise holds whatever a step does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pyrometer.core import units
from pyrometer.statistics.distributions import t_quantile
from pyrometer.tune.advise.race import LOOKS, judged
from pyrometer.tune.online.fit import Fit, fitted
from pyrometer.tune.online.pattern import steps
from pyrometer.tune.online.terms import OnlineRun, Terms
from pyrometer.tune.space.cube import key
from pyrometer.tune.space.space import Configuration, Space

Role = Literal["first", "control", "incumbent", "step"]
What = Literal["adopted", "rejected", "rolled back", "barred", "not counted"]

SURE = 0.95
"""One-sided level of what the baseline takes at least, by which losses are counted."""
REGRESSION = 0.01
"""One-sided risk, a look, of rolling back an incumbent that is no slower than the baseline."""
RECENT = 6
"""Last runs of an incumbent by which it is judged: what was good last month may not be now."""
WAIT = 3
"""Runs as it is that may fail after something else had, before that is tried again all the same."""
WINDOW = 80
"""Runs that are looked at: the last ones, among them some of the baseline and of the incumbent."""


@dataclass(frozen=True)
class Move:
    """The next run.

    Attributes
    ----------
    limit : float or None
        Value at which it is given up; ``None``: it is not.
    """

    role: Role
    configuration: Configuration
    why: str
    limit: float | None = None


@dataclass(frozen=True)
class Decision:
    """What was decided after a run: kept in the journal for whoever asks why."""

    what: What
    configuration: Configuration
    why: str


@dataclass(frozen=True)
class _Fallen:
    """What failed in the last run, or was given up, as it stood before.

    Attributes
    ----------
    stood : str
        The incumbent, a step, or either of them where the run was not counted.
    reached : float or None
        What it had reached if it was given up.
    result : str or None
        Its result, where that is why it failed.
    """

    stood: Literal["incumbent", "step", "aside"]
    configuration: Configuration
    went: tuple[str, float] | None
    trying: tuple[str, float] | None
    looks: int
    reached: float | None
    result: str | None


@dataclass
class Policy:
    """Runs so far, and what follows from them.

    Attributes
    ----------
    excess : float
        Baseline runs that all runs have lost so far; below 0: saved.
    """

    space: Space
    terms: Terms
    seed: int = 0
    ideas: Sequence[Configuration] = ()
    incumbent: Configuration = field(default_factory=dict)
    challenger: Configuration | None = None
    excess: float = 0.0
    done: int = 0
    barred: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._counted: list[tuple[int, str, OnlineRun]] = []
        self._version = 0
        self._fitted: tuple[int, str, Fit] | None = None
        self._since_control = 0
        self._aside: dict[str, float] = {}
        self._cleared: set[str] = set()
        self._fallen: _Fallen | None = None
        self._ill = 0
        self._went: tuple[str, float] | None = None
        self._trying: tuple[str, float] | None = None
        self._looks = 0

    @property
    def allowed(self) -> float:
        """Baseline runs that may be lost by now."""
        return self.terms.allowed(self.done)

    def next(self) -> Move:
        """Decide on the next run; the same, as often as it is asked for."""
        baselines = sum(name == "" for _, name, _ in self._counted)
        if baselines < self.terms.first:
            return Move("first", {}, "the job as it is, to know it")
        if self._fallen is not None:
            return Move("control", {}, "the job as it is, to judge by it why the run before failed")
        if self._ill:
            return Move("control", {}, "the job as it is, since it failed, too")
        least = self._least()
        limit = self.terms.limit * least
        # Given up, it has cost the limit more than the run of the job that follows.
        if self.excess + sum(self._aside.values()) + self.terms.limit > self.allowed:
            return Move("control", {}, f"no room for a loss: {self.account()}")
        since = self._since_control
        if (self.incumbent or self.challenger is not None) and since >= self.terms.control - 1:
            return Move("control", {}, "the job as it is, against drift")
        if self.challenger is not None:
            return Move("step", self.challenger, f"look {self._looks + 1} of {LOOKS}", limit)
        found = next(
            steps(self.space, self.incumbent, self.barred, self.seed, self.ideas, self._went), None
        )
        if found is not None:
            return Move("step", found[0], found[2], limit)
        if self.incumbent:
            return Move("incumbent", self.incumbent, "no step is left", limit)
        return Move("control", {}, "no step is left")

    def tell(self, run: OnlineRun) -> list[Decision]:
        """Take in a run, and decide what follows."""
        name = key(run.configuration)
        if run.counts:
            self._count(name, run)
        fallen, self._fallen = self._fallen, None
        if not name:
            self._since_control = 0
            self.done += run.counts
            self._wait(fallen is not None, run)
            return [] if fallen is None else self._judge_fall(fallen, run)
        self._since_control += 1
        if run.void and name not in self._aside:
            return self._set_aside(run)
        before = self._aside.pop(name, 0.0)
        clears = run.counts and name not in self._cleared
        self.excess += self._loss(run) + (0.0 if clears else before)
        if before and clears:
            self._cleared.add(name)
        if run.counts:
            self.done += 1
        elif run.void:
            run = replace(run, failed=f"{run.failed}; its run before ended like this, too")
        if name == key(self.incumbent):
            return self._judge_incumbent(run)
        if self.challenger is None or key(self.challenger) != name:
            self._begin_step(run.configuration)
        self._looks += 1
        return self._judge_challenger(run)

    def change(self) -> tuple[float, float, float, int] | None:
        """How the incumbent's last runs differ from the baseline.

        Returns
        -------
        tuple or None
            Logarithm of the ratio, its standard error, degrees of freedom, and runs.
        """
        mine = sum(self._is_incumbent(name) for _, name, _ in self._counted)
        if not mine:
            return None
        fit = self._fit()
        return (*fit.difference("now", ""), fit.freedom, min(mine, RECENT))

    def expected(self, what: Literal["as it is", "incumbent"]) -> tuple[float, float, float] | None:
        """Say what a run takes now.

        Returns
        -------
        tuple or None
            Logarithm of its value, standard error and degrees of freedom; ``None`` while no run of
            it has counted, or there is no incumbent.
        """
        name = "" if what == "as it is" else "now"
        if not any(each == "" for _, each, _ in self._counted):
            return None
        fit = self._fit()
        return (*fit.value(name, self.done), fit.freedom) if name in fit.names else None

    def account(self) -> str:
        """Say what is lost of what may be, or saved, in time of runs of the baseline."""
        if self.excess < 0:
            said = f"{-self.excess:.2f} runs' worth of time saved"
        else:
            said = f"{self.excess:.2f} of at most {self.allowed:.2f} runs' worth of time lost"
        aside = sum(self._aside.values())
        return said + (f", {aside:.2f} more at stake in runs not counted yet" if aside else "")

    # Judging

    def _judge_incumbent(self, run: OnlineRun) -> list[Decision]:
        if not run.counts:
            fallen = self._falling("incumbent", self.incumbent, run)
            decision = self._roll_back(run.failed or "it reached the limit")
            self._fallen = fallen
            return [decision]
        fit = self._fit()
        if "now" not in fit.names:
            return []
        effect, error = fit.difference("now", "")
        if effect / error > -t_quantile(REGRESSION, fit.freedom):
            return [self._roll_back(f"{units.percent(math.expm1(effect), True)} to the baseline")]
        return []

    def _falling(
        self, stood: Literal["incumbent", "step", "aside"], what: Configuration, run: OnlineRun
    ) -> _Fallen:
        """Note how things stand before what follows from a run that failed."""
        looks = max(self._looks - 1, 0) if stood == "step" else self._looks
        return _Fallen(
            stood, dict(what), self._went, self._trying, looks,
            run.value if run.given_up else None, run.result if run.differs else None,
        )  # fmt: skip

    def _judge_fall(self, fallen: _Fallen, run: OnlineRun) -> list[Decision]:
        """Judge what failed by the job as it is, right after it.

        Where that fails, takes as long, or gives that other result, it was the night (no input,
        twice the data, other data), not the configuration.
        """
        if not run.counts:
            why = "the job as it is failed, too"
        elif fallen.reached is not None and (run.value or 0.0) >= fallen.reached:
            why = "the job as it is took as long, too"
        elif fallen.result is not None and fallen.result == run.result:
            why = "the job as it is has the same result: the data have changed"
        else:
            return []
        what, name = fallen.configuration, key(fallen.configuration)
        self.barred.discard(name)
        self._went = fallen.went
        if fallen.stood == "aside":
            return []
        if fallen.stood == "incumbent":
            self.incumbent = what
            return [Decision("adopted", what, f"again: {why}")]
        self.challenger, self._trying, self._looks = what, fallen.trying, fallen.looks
        return [Decision("not counted", what, why)]

    def _wait(self, fell: bool, run: OnlineRun) -> None:
        """Try nothing else while the job as it is fails, too: what fails first may be why.

        Where it goes on failing it is the nights, and nothing is held against anybody.
        """
        if run.counts:
            self._ill = 0
        elif fell or self._ill:
            self._ill += 1
        if self._ill > WAIT:
            self._ill = 0
            self._aside.clear()

    def _set_aside(self, run: OnlineRun) -> list[Decision]:
        """Take a run for one that says nothing, unless the same comes to its next one.

        What it lost would have been lost with the job as it is, too. Until a whole run has shown
        that, room is kept for it. A configuration is cleared like this once: one that is killed
        every other night has to be paid for.
        """
        name = key(run.configuration)
        self._aside[name] = self._loss(run)
        if name != key(self.incumbent) and (
            self.challenger is None or key(self.challenger) != name
        ):
            self._begin_step(run.configuration)
        self._fallen = self._falling("aside", run.configuration, run)
        why = run.failed or "it was ended from outside"
        return [Decision("not counted", run.configuration, why)]

    def _judge_challenger(self, run: OnlineRun) -> list[Decision]:
        name = key(run.configuration)
        if not run.counts:
            fallen = self._falling("step", run.configuration, run)
            self._end_step(name)
            self._fallen = fallen
            return [Decision("barred", run.configuration, run.failed or "it reached the limit")]
        fit = self._fit()
        against = "now" if self.incumbent and "now" in fit.names else ""
        effect, error = fit.difference(name, against)
        how = f"{units.percent(math.expm1(effect), True)} in {units.counted(self._looks, 'run')}"
        standing = judged(effect / error, fit.freedom, min(self._looks, LOOKS))
        if standing == "ahead":
            self.incumbent, self._went = dict(run.configuration), self._trying
            self._end_step(None)
            return [Decision("adopted", run.configuration, how)]
        if standing == "behind" or self._looks >= LOOKS:
            self._end_step(name)
            why = how if standing == "behind" else f"no difference shows: {how}"
            return [Decision("rejected", run.configuration, why)]
        return []

    def _roll_back(self, why: str) -> Decision:
        bad = self.incumbent
        self.barred.add(key(bad))
        # Not to the one before it: that was judged before whatever changed.
        self.incumbent, self._went, self.challenger, self._looks = {}, None, None, 0
        return Decision("rolled back", bad, why)

    def _begin_step(self, configuration: Configuration) -> None:
        self.challenger, self._looks, self._trying = dict(configuration), 0, None
        for found, move, _ in steps(
            self.space, self.incumbent, self.barred, self.seed, self.ideas, self._went
        ):
            if key(found) == key(configuration):
                self._trying = move
                break

    def _end_step(self, bad: str | None) -> None:
        if bad is not None:
            self.barred.add(bad)
            if self._trying == self._went:
                self._went = None
        self.challenger, self._looks, self._trying = None, 0, None

    # Accounts

    def _count(self, name: str, run: OnlineRun) -> None:
        """Take in a run that counts, and drop the oldest one that nothing is judged by."""
        self._counted.append((self.done, name, run))
        self._version += 1
        if len(self._counted) <= WINDOW:
            return
        needed = {key(self.incumbent): RECENT, "": self.terms.first}
        droppable = 0
        for at in reversed(range(len(self._counted))):
            known = self._counted[at][1]
            if needed.get(known, 0) > 0:
                needed[known] -= 1
            else:
                droppable = at
        del self._counted[droppable]

    def _loss(self, run: OnlineRun) -> float:
        """Say what a run has lost, in runs of the baseline; below 0: saved."""
        least = self._least()
        if run.counts:
            assert run.value is not None
            return run.value / least - 1
        # A try that failed earlier than its limit costs less; a launch of its own is in it.
        reached = run.lost if run.lost is not None else run.value
        return self.terms.limit if reached is None else reached / least

    def _least(self) -> float:
        """Say what a run of the job as it is takes now, at least."""
        fit = self._fit()
        value, error = fit.value("", self.done)
        return math.exp(value - float(t_quantile(SURE, fit.freedom)) * error)

    def _fit(self) -> Fit:
        """Fit the last runs; those of the incumbent that are recent are named ``now``."""
        mine = key(self.incumbent)
        if self._fitted is not None and self._fitted[:2] == (self._version, mine):
            return self._fitted[2]
        places = [at for at, (_, name, _) in enumerate(self._counted) if self._is_incumbent(name)]
        recent = set(places[-RECENT:])
        found = fitted(
            [done for done, _, _ in self._counted],
            ["now" if at in recent else name for at, (_, name, _) in enumerate(self._counted)],
            [math.log(one.value or 1.0) for _, _, one in self._counted],
        )
        self._fitted = (self._version, mine, found)
        return found

    def _is_incumbent(self, name: str) -> bool:
        return bool(self.incumbent) and name == key(self.incumbent)
