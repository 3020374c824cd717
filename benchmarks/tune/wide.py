"""The long search that makes tables: it fills the space, then refines around what is best.

Each block has the baseline, so that drift and noise are in the table, the best so far, and what
may be better than it looks, again; the rest is new: points of a scrambled Sobol sequence (Owen
1998) as far as they may be launched, later steps around the best, and always one more such point.
Half of the points keep a quarter of their factors: what turns all of them at once says little of
where engines look, near the job as it is.
The order within a block is random. A block is planned from earlier blocks alone, with a generator
of its own, so that a second engine with the same observations goes on where the first was killed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from scipy.stats import qmc

from benchmarks.tune.standings import Standing, best_of, changed, standings, weights
from pyrometer.tune.advise.adviser import FULL, Incumbent, Observation, Suggestion
from pyrometer.tune.advise.candidates import feasible_part, first_levels
from pyrometer.tune.advise.history import History
from pyrometer.tune.space.cube import decode, draw, key, near, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.space import Space

FILL = 1.5
"""Points that fill the space, for each knob."""
FEW, SPARSE = 0.5, 0.25
"""Share of points that keep some of their factors, and how many; the others are as in the job."""
FRESH = 5
"""New configurations of a block."""
AGAIN = 8
"""Trials of a configuration that is not the best beyond which it is not run again."""
ALIKE = 4
"""How many of the best others are crossed with the best, and stepped from."""
SLOWEST = 3.0
"""A trial is given up at so many times the baseline: what is slow has a value in the table, too."""
STOOD_IN = 2
"""New configurations of a block that also run at each stand-in."""
TRIES = 30

_Wanted = tuple[dict[str, str], str]


class Wide:
    """An engine for hours of trials; see the module."""

    def __init__(self, space: Space, *, seed: int = 0, fill: int | None = None) -> None:
        """Make one.

        Parameters
        ----------
        fill : int, optional
            Points that fill the space, before anything is refined.
        """
        self._space, self._seed = space, seed
        points = math.ceil(FILL * len(space.knobs)) if fill is None else fill
        self._filling = max(1, math.ceil(points / FRESH))
        self._seen: list[Observation] = []
        self._offered: dict[str, float] = {}
        self._plans: dict[int, list[Suggestion]] = {}
        self._stream = self._feasible()
        self._points: list[dict[str, str]] = []

    def offer(self, fidelity: str, share: float) -> None:
        """Take a cheap stand-in: some configurations of each later block run at it, too."""
        self._offered[fidelity] = share

    def ask(self) -> Suggestion:
        """Give the next trial; there is always one."""
        block = max((one.block for one in self._seen), default=0)
        found = next(iter(self._open(block) or self._open(block + 1)))
        usual = History(self._seen).typical({}, found.fidelity)
        if usual is None or not found.configuration:
            return found
        return replace(found, limit=SLOWEST * usual)

    def tell(self, seen: Observation) -> None:
        """Take in what a trial showed."""
        self._seen.append(seen)

    def best(self) -> Incumbent | None:
        """Give what is best of all that ran twice."""
        found = best_of(standings(self._seen))
        if found is None:
            return None
        return Incumbent(found.configuration, changed(found), found.trials)

    def _open(self, block: int) -> list[Suggestion]:
        done = Counter(_name(one) for one in self._seen if one.block == block)
        left = []
        for one in self._planned(block):
            if done[_name(one)]:
                done[_name(one)] -= 1
            else:
                left.append(one)
        return left

    def _planned(self, block: int) -> list[Suggestion]:
        if block not in self._plans:
            self._plans[block] = self._plan(block)
        return self._plans[block]

    def _plan(self, block: int) -> list[Suggestion]:
        rng = np.random.default_rng([self._seed, block])
        earlier = [one for one in self._seen if one.block < block]
        known = {key(one.configuration) for one in earlier} | {""}
        found = standings(earlier)
        again = list(_repeats(found))
        new: list[_Wanted] = []
        for one, why in self._new(block, found, rng):
            if key(one) not in known:
                known.add(key(one))
                new.append((one, why))
        wanted = [(one, FULL, why) for one, why in [({}, "baseline"), *again, *new]]
        for fidelity in self._offered:
            stood_in = [({}, "baseline"), *again[:1], *new[:STOOD_IN]]
            wanted += [(one, fidelity, f"{why}, stand-in") for one, why in stood_in]
        shuffled = [wanted[at] for at in rng.permutation(len(wanted))]
        if block == 0:
            # Nothing can be judged before the job ran as it is.
            shuffled.sort(key=lambda one: bool(one[0]) or one[1] != FULL)
        return [Suggestion(one, fidelity, block, why=why) for one, fidelity, why in shuffled]

    # New configurations

    def _new(
        self, block: int, found: list[Standing], rng: np.random.Generator
    ) -> Iterator[_Wanted]:
        best = best_of(found)
        if block == 0:
            levels = first_levels(self._space, [one.factor for one in self._space.knobs])
            if practice := feasible_part(self._space, levels):
                yield practice, "best practice"
        if block < self._filling or best is None:
            for at in range(FRESH):
                yield self._point(FRESH * block + at), "fills the space"
            return
        later = block - self._filling
        yield self._point(FRESH * self._filling + later), "fills the space"
        known = {key(one.configuration) for one in found} | {key(one) for one in self._points}
        moves = list(self._moves(best, found, rng).items())
        for at in range(FRESH - 1):
            why, move = moves[((FRESH - 1) * later + at) % len(moves)]
            for _ in range(TRIES):
                one = plain(self._space, move())
                if key(one) and key(one) not in known and infeasible(self._space, one) is None:
                    known.add(key(one))
                    yield one, why
                    break

    def _moves(
        self, best: Standing, found: list[Standing], rng: np.random.Generator
    ) -> Mapping[str, Callable[[], dict[str, str]]]:
        space, here = self._space, best.configuration
        names = [one.factor for one in space.knobs]
        likely = weights(space, found)
        others = [one.configuration for one in found if one.configuration != here][:ALIKE]
        firsts = [(one.factor, level) for one in space.knobs for level in one.first]

        def some(most: int) -> list[str]:
            count = int(rng.integers(1, 1 + min(most, len(names))))
            return [str(one) for one in rng.choice(names, count, replace=False, p=likely)]

        def other() -> dict[str, str]:
            return others[int(rng.integers(len(others)))] if others else {}

        def crossed() -> dict[str, str]:
            theirs = other()
            mixed = {}
            for name in names:
                levels = here if rng.random() < 0.5 else theirs
                if name in levels:
                    mixed[name] = levels[name]
            return mixed

        def put_back() -> dict[str, str]:
            gone = str(rng.choice(sorted(here))) if here else ""
            return {name: level for name, level in here.items() if name != gone}

        def practice() -> dict[str, str]:
            factor, level = firsts[int(rng.integers(len(firsts)))] if firsts else ("", "")
            return {**here, factor: level} if factor else {}

        return {
            "a step from the best": lambda: near(space, here, rng, some(2)),
            "the best, crossed": crossed,
            "the best, one factor put back": put_back,
            "a small step from the best": lambda: near(space, here, rng, some(1), 0.05),
            "a step from another": lambda: near(space, other(), rng, some(2)),
            "best practice on the best": practice,
            "a long step from the best": lambda: near(space, here, rng, some(3), 0.3),
        }

    def _point(self, number: int) -> dict[str, str]:
        while len(self._points) <= number:
            self._points.append(next(self._stream))
        return self._points[number]

    def _feasible(self) -> Iterator[dict[str, str]]:
        """Go through a scrambled Sobol sequence, as far as its points may be launched."""
        rng = np.random.default_rng([self._seed, 0x50B0])
        sequence = qmc.Sobol(len(self._space.knobs), scramble=True, rng=rng)
        known = {""}
        while True:
            before = len(known)
            for point in sequence.random(64):
                found = decode(self._space, point)
                if rng.random() < FEW:
                    found = self._sparse(found, rng)
                if key(found) not in known and infeasible(self._space, found) is None:
                    known.add(key(found))
                    yield found
            if len(known) == before:
                # Little of the cube may be launched, or few configurations are left.
                yield draw(self._space, rng)

    def _sparse(self, found: dict[str, str], rng: np.random.Generator) -> dict[str, str]:
        names = [one.factor for one in self._space.knobs]
        kept = set(rng.choice(names, math.ceil(SPARSE * len(names)), replace=False))
        return plain(self._space, {name: one for name, one in found.items() if name in kept})


def _repeats(found: list[Standing]) -> Iterator[_Wanted]:
    """Run the best again, and two that may be better than they look."""
    best = best_of(found)
    if best is not None and best.configuration:
        yield best.configuration, "the best again"
    others = [one for one in found if one.configuration and one is not best]
    open_ = [one for one in others if one.trials < AGAIN]
    for one in sorted(open_, key=lambda one: (one.perhaps, key(one.configuration)))[:2]:
        yield one.configuration, "again"


def _name(one: Suggestion | Observation) -> tuple[str, str]:
    return key(one.configuration), one.fidelity
