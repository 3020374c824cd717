"""What the next scheduled run is: pure, from the runs so far, so that a journal replays it.

Nothing but the baseline is run unless the worst that can come of it, being given up at the limit
and run again as it is, still keeps the promise. So the promise holds whatever a step does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from scipy import stats

from pyrometer.core import units
from pyrometer.tune.advise.race import LOOKS, judged
from pyrometer.tune.online.fit import Fit, fitted
from pyrometer.tune.online.pattern import steps
from pyrometer.tune.online.terms import OnlineRun, Terms
from pyrometer.tune.space.cube import key
from pyrometer.tune.space.space import Configuration, Space

Role = Literal["first", "control", "incumbent", "step"]
What = Literal["adopted", "rejected", "rolled back", "barred"]

SURE = 0.95
"""One-sided level of what the baseline takes at least, by which losses are counted."""
REGRESSION = 0.01
"""One-sided risk, a look, of rolling back an incumbent that is no slower than the baseline."""
RECENT = 6
"""Last runs of an incumbent by which it is judged: what was good last month may not be now."""
WINDOW = 80
"""Last runs that are looked at."""


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
    """An incumbent whose last run came to nothing, and what it had reached if given up."""

    configuration: Configuration
    went: tuple[str, float] | None
    reached: float | None


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
        self._seen: list[tuple[int, OnlineRun]] = []
        self._fallen: _Fallen | None = None
        self._went: tuple[str, float] | None = None
        self._trying: tuple[str, float] | None = None
        self._looks = 0

    @property
    def allowed(self) -> float:
        """Baseline runs that may be lost by now."""
        return self.terms.allowed(self.done)

    def next(self) -> Move:
        """Decide on the next run; the same, as often as it is asked for."""
        baselines = sum(key(one.configuration) == "" for _, one in self._counted())
        if baselines < self.terms.first:
            return Move("first", {}, "the job as it is, to know it")
        least = self._least()
        limit = self.terms.limit * least
        # Given up, it has cost the limit more than the run of the job that follows.
        if self.excess + self.terms.limit > self.allowed:
            return Move("control", {}, f"no room for a loss: {self._account()}")
        since = self._since_control()
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
        self._seen.append((self.done, run))
        fallen, self._fallen = self._fallen, None
        if not name:
            self.done += run.counts
            return [] if fallen is None else self._judge_fall(fallen, run)
        self._pay(run)
        if run.counts:
            self.done += 1
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
        mine = sum(self._is_incumbent(one) for _, one in self._counted())
        if not mine:
            return None
        fit = self._fit()
        return (*fit.difference("now", ""), fit.freedom, min(mine, RECENT))

    # Judging

    def _judge_incumbent(self, run: OnlineRun) -> list[Decision]:
        if not run.counts:
            reached = run.value if run.given_up else None
            fallen = _Fallen(self.incumbent, self._went, reached)
            decision = self._roll_back(run.failed or "it reached the limit")
            self._fallen = fallen
            return [decision]
        fit = self._fit()
        if "now" not in fit.names:
            return []
        effect, error = fit.difference("now", "")
        if effect / error > stats.t.isf(REGRESSION, fit.freedom):
            return [self._roll_back(f"{units.percent(math.expm1(effect), True)} to the baseline")]
        return []

    def _judge_fall(self, fallen: _Fallen, run: OnlineRun) -> list[Decision]:
        """Judge what an incumbent came to by the job as it is, right after it.

        Where that fails, or takes as long, it was the night (no input, twice the data), not the
        configuration.
        """
        if not run.counts:
            why = "it failed as it is, too"
        elif fallen.reached is not None and (run.value or 0.0) >= fallen.reached:
            why = "it took as long as it is, too"
        else:
            return []
        self.barred.discard(key(fallen.configuration))
        self.incumbent, self._went = fallen.configuration, fallen.went
        return [Decision("adopted", fallen.configuration, f"again: {why}")]

    def _judge_challenger(self, run: OnlineRun) -> list[Decision]:
        name = key(run.configuration)
        if not run.counts:
            self._end_step(name)
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

    def _pay(self, run: OnlineRun) -> None:
        least = self._least()
        if run.counts:
            assert run.value is not None
            self.excess += run.value / least - 1
        else:
            reached = run.lost if run.lost is not None else run.value
            lost = self.terms.limit if reached is None else reached / least
            # A try that failed earlier than its limit costs less; a launch of its own is in it.
            self.excess += lost

    def _least(self) -> float:
        """Say what a run of the job as it is takes now, at least."""
        fit = self._fit()
        value, error = fit.baseline(self.done)
        return math.exp(value - float(stats.t.ppf(SURE, fit.freedom)) * error)

    def _fit(self) -> Fit:
        """Fit the last runs; those of the incumbent that are recent are named ``now``."""
        counted = self._counted()
        mine = [at for at, (_, one) in enumerate(counted) if self._is_incumbent(one)]
        recent = set(mine[-RECENT:])
        names = [
            "now" if at in recent else key(one.configuration) for at, (_, one) in enumerate(counted)
        ]
        return fitted(
            [at for at, _ in counted], names, [math.log(one.value or 1.0) for _, one in counted]
        )

    def _is_incumbent(self, run: OnlineRun) -> bool:
        return bool(self.incumbent) and key(run.configuration) == key(self.incumbent)

    def _counted(self) -> list[tuple[int, OnlineRun]]:
        """Give the last runs that count."""
        found = [one for one in self._seen if one[1].counts]
        if len(found) <= WINDOW:
            return found
        # A fit needs the baseline: controls see to it that the window has some.
        return found[-WINDOW:]

    def _since_control(self) -> int:
        count = 0
        for _, one in reversed(self._seen):
            if not one.configuration:
                return count
            count += 1
        return count

    def _account(self) -> str:
        return f"{self.excess:.2f} of {self.allowed:.2f} runs are lost"
