"""Our engine: what it cannot borrow is noise, blocks, censoring, fidelities, and what is known.

A block is planned from what earlier blocks showed and from nothing else, with a generator of its
own: a second engine with the same observations plans the same block and goes on within it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pyrometer.statistics.distributions import normal_tail
from pyrometer.statistics.two import MARGIN
from pyrometer.tune.advise.adviser import FULL, Incumbent, Observation, Suggestion
from pyrometer.tune.advise.belief import change_of
from pyrometer.tune.advise.candidates import candidates, feasible_part, first_levels
from pyrometer.tune.advise.choose import choose, polished
from pyrometer.tune.advise.designs import changed_levels, half_rows, screening_rows
from pyrometer.tune.advise.fidelity import FidelityRank
from pyrometer.tune.advise.history import History, fitting
from pyrometer.tune.advise.race import standing
from pyrometer.tune.advise.screening import Screened, screen
from pyrometer.tune.advise.stand_ins import StandIns
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.space.cube import columns, features, key, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.space import Configuration, Space

LIMIT = 1.35
"""Trials are stopped at this multiple of the incumbent's time: worse ones need not be known."""

FIRST_LIMIT = 2.0
"""The same over the baseline, in a first block and in screenings, which are to see effects."""

RUNS = 500.0
"""How many runs of the job a gain is for, unless somebody knows better."""

PATIENCE = 0.5
"""Configurations, as a part of the budget in runs, before which the search does not end."""

SMALLEST, LARGEST = 4, 8
"""Trials of a block."""

CLOSE = 0.2
"""Chance of being better by the margin from which on a challenger runs again beside it."""


class Own:
    """Screening, a surrogate with blocks and censoring, racing; see docs/explanation/tuning.md."""

    def __init__(
        self,
        space: Space,
        *,
        seed: int = 0,
        budget: float = 25.0,
        fidelities: Mapping[str, float] | None = None,
        ideas: Sequence[Configuration] = (),
        expected: Iterable[str] = (),
        margin: float = MARGIN,
        runs: float = RUNS,
        timed: bool = True,
    ) -> None:
        """Make an engine.

        Parameters
        ----------
        space : Space
            What may be tried.
        seed : int
            Of everything that is drawn.
        budget : float
            Full runs that may be spent on choosing; it sets the size of blocks.
        fidelities : mapping of str to float, optional
            Cheap stand-ins that the caller offers, with their cost as a share of a full run.
        ideas : sequence of mapping
            Configurations to try first, the best guess in front: remedies of findings, winners of
            similar jobs.
        expected : iterable of str
            Factors that findings say will have an effect.
        margin : float
            Relative difference that counts as none.
        runs : float
            How many runs of the job the gain is for: a trial has to be worth its cost over them.
        timed : bool
            Whether the objective is the time of a trial, so that it can be cut short.
        """
        self._space, self._seed, self._budget = space, seed, budget
        self._stand_ins = StandIns()
        self._ideas: list[dict[str, str]] = []
        self._named: set[str] = set()
        self._margin, self._runs, self._timed = margin, runs, timed
        self._history = History()
        self._plans: dict[int, list[Suggestion]] = {}
        self._issued: dict[int, set[int]] = {}
        self._size = int(np.clip(round(budget / 3.5), SMALLEST, LARGEST))
        self.hint(ideas, expected)
        for name, share in (fidelities or {}).items():
            self.offer(name, share)

    @property
    def _expected(self) -> list[bool]:
        return [one.factor in self._named for one in self._space.knobs]

    def offer(self, fidelity: str, share: float) -> None:
        """Take a cheap stand-in for a run; one that comes after other trials is not screened on."""
        self._stand_ins.offer(fidelity, share, late=bool(self._history.known() - {""}))
        self._forget()

    def hint(self, ideas: Sequence[Configuration], expected: Iterable[str] = ()) -> None:
        """Take what is known before any trial: to try first, and factors that have an effect.

        Levels that the space does not have are left out.
        """
        for one in ideas:
            if possible := feasible_part(self._space, fitting(self._space, one)):
                self._ideas.append(possible)
        self._named |= set(expected) | {name for one in ideas for name in one}
        self._forget()

    def _forget(self) -> None:
        self._plans.clear()
        self._issued.clear()

    def ask(self) -> Suggestion | None:
        """Give the next trial; ``None``: nothing that is worth its cost is left."""
        last = self._history.last_block()
        for block in (0,) if last is None else (last, last + 1):
            plan = self._planned(block)
            open_ = self._open(block, plan)
            issued = self._issued.setdefault(block, set())
            for at in [one for one in open_ if one not in issued] or open_:
                issued.add(at)
                one = plan[at]
                return one if one.limit is not None else replace(one, limit=self._first_limit(one))
        return None

    def tell(self, seen: Observation) -> None:
        """Take in what a trial showed; of earlier work, with a block below 0."""
        self._history.seen.append(seen)
        for block in [one for one in self._plans if one > seen.block]:
            del self._plans[block]
            self._issued.pop(block, None)

    def best(self) -> Incumbent | None:
        """Give the incumbent; ``None`` before there is one."""
        return self._best(self._history)

    def screened(self) -> list[Screened]:
        """Give what the screening showed, the largest effect first; empty before it has ended."""
        return self._screened(self._history)

    def dropped(self) -> list[str]:
        """Name the factors that the screening leaves as they are: they did next to nothing."""
        active = self._active(self._history)
        return [one.factor for one in self.screened() if one.factor not in active]

    def fidelities(self) -> list[FidelityRank]:
        """Give how well each cheap fidelity ranks what also ran in full."""
        return self._stand_ins.ranks(self._history)

    # Plans

    def _planned(self, block: int) -> list[Suggestion]:
        if block not in self._plans:
            rng = np.random.default_rng([self._seed, block])
            self._plans[block] = self._plan(block, self._history.before(block), rng)
        return self._plans[block]

    def _open(self, block: int, plan: Sequence[Suggestion]) -> list[int]:
        """Give the places of trials of a plan that have not been told yet."""
        told = [
            (key(one.configuration), one.fidelity)
            for one in self._history.seen
            if one.block == block
        ]
        open_ = []
        for at, one in enumerate(plan):
            name = (key(one.configuration), one.fidelity)
            if name in told:
                told.remove(name)
            else:
                open_.append(at)
        return open_

    def _plan(self, block: int, history: History, rng: np.random.Generator) -> list[Suggestion]:
        cheap = self._screening()
        if block == 0 and cheap is not None:
            return self._screening_plan(cheap, rng)
        if not history.values({}) or not history.known(FULL) - {""}:
            return self._first_plan(block, history, rng)
        return self._next_plan(block, history, rng)

    def _screening(self) -> str | None:
        """Name the fidelity to screen on; ``None`` where it is not worth it."""
        return self._stand_ins.screening(len(self._space.knobs), self._budget)

    def _screening_plan(self, fidelity: str, rng: np.random.Generator) -> list[Suggestion]:
        rows = screening_rows(self._space, changed_levels(self._space), rng)
        return [
            Suggestion(one, fidelity, 0, why="screening" if one else "baseline") for one in rows
        ]

    def _first_plan(
        self, block: int, history: History, rng: np.random.Generator
    ) -> list[Suggestion]:
        """Begin: the baseline, what is suggested, and halves of what experience tries first."""
        active = self._active(history)
        first = first_levels(self._space, active)
        # What is suggested may be wrong: it has half of a block at most before anything else.
        suggested: list[tuple[Configuration, str]] = [(one, "suggested") for one in self._ideas]
        wanted = suggested[: self._size // 2]
        if history.seen and (found := self._surrogate(history)) is not None:
            wanted += [(one, "from earlier trials") for one in self._believed(found, history, rng)]
        wanted.append((feasible_part(self._space, first), "all first guesses"))
        changed = {**changed_levels(self._space), **first}
        halves = half_rows(self._space, {n: changed[n] for n in changed if n in active}, rng)
        wanted += [(one, "half of the usual first levels") for one in halves]
        wanted += suggested[self._size // 2 :]
        chosen, taken = [Suggestion({}, FULL, block, why="baseline")], {""}
        for one, why in wanted:
            if key(one) not in taken and len(chosen) < self._size:
                taken.add(key(one))
                chosen.append(Suggestion(dict(one), FULL, block, why=why))
        if block > 0 and len(chosen) == 1:
            return []
        return [chosen[0], *(chosen[at + 1] for at in rng.permutation(len(chosen) - 1))]

    def _believed(
        self, found: Surrogate, history: History, rng: np.random.Generator
    ) -> list[dict[str, str]]:
        """Give what earlier work would choose, before anything ran here."""
        pool = [plain(self._space, one) for one in history.earlier()]
        pool = [one for one in pool if one and infeasible(self._space, one) is None]
        active = self._active(history)
        pool += candidates(self._space, pool or [{}], active, [""], rng)
        base = features(self._space, [{}])[0]
        pool += polished(self._space, found, pool, base, active, {""})
        return [one for one, _ in choose(self._space, found, pool, base, self._size // 2)]

    def _next_plan(
        self, block: int, history: History, rng: np.random.Generator
    ) -> list[Suggestion]:
        found, best = self._surrogate(history), self._best(history)
        if found is None or best is None:
            return []
        active = self._active(history)
        fidelity = self._stand_ins.next_fidelity(found, history, block)
        share = self._stand_ins.share(fidelity)
        good = self._good(found, history, best.configuration)
        known = history.known()
        promoted: dict[str, tuple[dict[str, str], str]] = {}
        if fidelity == FULL:
            promoted = self._stand_ins.promoted(self._space, found, history, best.configuration)
        pool = [one for one, _ in promoted.values()]
        pool += candidates(self._space, good, active, known, rng)
        base = features(self._space, [best.configuration])[0]
        pool += polished(self._space, found, pool, base, active, known)
        again = [{}, best.configuration] if best.configuration else [{}]
        why = ["baseline", "incumbent again"]
        if fidelity == FULL:
            challenger = self._challenger(found, history, best.configuration)
            if challenger is not None:
                again.append(challenger)
                why.append("challenger again")
        number = max(2, self._size - len(again))
        if fidelity != FULL:
            number = min(2 * number, round(number / share))
            compared = self._stand_ins.to_compare(history, fidelity, again)
            why = [*why[: len(again)], *["to compare with the full run"] * len(compared)]
            again += compared
        runs = self._runs if len(known) >= PATIENCE * self._budget else None
        fresh = choose(self._space, found, pool, base, number, share=share, limit=LIMIT, runs=runs)
        if not fresh:
            return []
        if (first := self._stand_ins.first(self._space, found, promoted, base)) is not None:
            # What is sure to be better has less to hope for than what nobody knows.
            fresh = [one for one in fresh if key(one[0]) != key(first[0])]
            fresh = [first, *fresh[: number - 1]]
        limit = self._limit(history, best.configuration) if fidelity == FULL else None
        plan = [
            Suggestion(dict(one), fidelity, block, why=text)
            for one, text in zip(again, why[: len(again)], strict=True)
        ]
        for one, text in fresh:
            if key(one) in promoted:
                text = f"promoted from {promoted[key(one)][1]}: {text}"
            plan.append(Suggestion(one, fidelity, block, limit, why=text))
        return [plan[int(at)] for at in rng.permutation(len(plan))]

    # Beliefs

    def _surrogate(self, history: History) -> Surrogate | None:
        trials = history.without(self._stand_ins.misleading(history)).trials(self._space)
        if trials is None:
            return None
        return Surrogate(columns(self._space), trials, self._expected)

    def _best(self, history: History) -> Incumbent | None:
        pool = list(history.finished().values())
        found = self._surrogate(history) if pool else None
        if found is None:
            return None
        base = features(self._space, [{}])[0]
        belief = found.differences(features(self._space, pool), base)
        stand = [
            int(at)
            for at in np.argsort(belief.mean)
            if not pool[at] or standing(history.differences(pool[at], {})) != "behind"
        ]
        if not stand:
            return None
        best = pool[stand[0]]
        return Incumbent(best, change_of(self._space, found, best), len(history.values(best)))

    def _challenger(
        self, found: Surrogate, history: History, best: Configuration
    ) -> dict[str, str] | None:
        pool = [one for name, one in history.finished().items() if name not in (key(best), "")]
        if not pool:
            return None
        belief = found.differences(features(self._space, pool), features(self._space, [best])[0])
        chance = normal_tail((math.log1p(self._margin) + belief.mean) / belief.sd)
        for at in np.argsort(-chance):
            if chance[at] < CLOSE:
                return None
            if standing(history.differences(pool[int(at)], best)) != "behind":
                return pool[int(at)]
        return None

    def _good(
        self, found: Surrogate, history: History, best: Configuration
    ) -> list[dict[str, str]]:
        pool = list(history.finished().values())
        belief = found.differences(features(self._space, pool), features(self._space, [best])[0])
        order = [pool[int(at)] for at in np.argsort(belief.mean)[:4]]
        return [dict(best), *(one for one in order if key(one) != key(best))]

    def _active(self, history: History) -> list[str]:
        """Name the factors that screening leaves: those that are not inert, or are expected."""
        every = [one.factor for one in self._space.knobs]
        inert = {one.factor for one in self._screened(history) if one.inert}
        wanted = dict(zip(every, self._expected, strict=True))
        active = [name for name in every if name not in inert or wanted[name]]
        return active or every

    def _screened(self, history: History) -> list[Screened]:
        cheap = self._screening()
        if cheap is None or cheap in self._stand_ins.misleading(history):
            return []
        seen = [
            one
            for one in history.seen
            if one.block == 0 and one.fidelity == cheap and one.value and not one.failed
        ]
        values = [math.log(one.value) for one in seen if one.value]
        rows = [one.configuration for one in seen]
        kept = [one.factor for one in self._space.knobs if len(one.levels) > 2]
        return screen(rows, values, changed_levels(self._space), self._margin, kept)

    def _first_limit(self, one: Suggestion) -> float | None:
        """Give the time after which a trial is stopped, by its baseline."""
        baseline = self._history.typical({}, one.fidelity)
        if not self._timed or not one.configuration or baseline is None:
            return None
        return FIRST_LIMIT * baseline

    def _limit(self, history: History, best: Configuration) -> float | None:
        """Give the time after which new trials of a block are stopped, by the incumbent's."""
        known = [history.typical({}), history.typical(best)]
        return LIMIT * min(one for one in known if one is not None) if self._timed else None
