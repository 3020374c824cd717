"""Count the trials of searches for the first slower of 16 levels, and how often they are right.

Trials are simulated. Bisection that weighs every trial (``pyrometer experiment bisect``) is
compared with plain bisection, which halves the list and repeats pairs of trials at each level: as
many as the size of the step and the noise need for the same error, both of which it is told.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from pyrometer.statistics.bisection import Bisection
from pyrometer.statistics.shares import wilson

LEVELS = 16
CASES = [
    (0.10, 0.03, 0.0), (0.10, 0.03, 0.3), (0.05, 0.03, 0.0), (0.05, 0.03, 0.3),
    (0.03, 0.03, 0.0), (0.30, 0.10, 0.0), (0.10, 0.01, 0.0), (0.0, 0.03, 0.0), (0.0, 0.03, 0.3),
]  # fmt: skip
"""Step, noise of a trial (of the logarithm), and drift: steps of the machine over that noise."""


@dataclass
class Machine:
    """Simulates trials; counts them."""

    first: int
    change: float
    noise: float
    drift: float
    draw: np.random.Generator
    state: float = 0.0
    trials: int = 0

    def run(self, level: int) -> float:
        """Give the time of a trial at a level."""
        self.trials += 1
        self.state += self.draw.normal(0, self.drift * self.noise)
        step = math.log1p(self.change) if self.first and level >= self.first else 0.0
        return math.exp(self.state + step + self.draw.normal(0, self.noise))


def weighed(machine: Machine, error: float) -> int | None:
    """Find the first slower level as ``experiment bisect`` does; 0: none, ``None``: cannot tell."""
    search = Bisection(LEVELS, error)
    seen: list[tuple[int, float]] = []
    while len(seen) < 1000:
        belief = search.belief(seen)
        if search.decided(belief):
            return belief.best.levels[0] if belief.best.levels else 0
        level = search.pending(belief)
        if level is None:
            found = belief.candidates()
            level = found[int(machine.draw.integers(len(found)))]
        seen.append((level, machine.run(level)))
    return None


def plain(machine: Machine, error: float) -> int:
    """Halve the list; at each level so many pairs with the first one that a step is not missed."""
    step = math.log1p(machine.change or 0.05)
    looks = 1 + math.ceil(math.log2(LEVELS - 1))
    z = float(stats.norm.isf(error / looks))
    # A pair has the noise of both trials, and one step of the machine between them.
    sd = machine.noise * math.sqrt(2 + machine.drift**2)
    pairs = max(2, math.ceil((2 * z * sd / step) ** 2))

    def slower(level: int) -> bool:
        logs = [math.log(machine.run(level) / machine.run(0)) for _ in range(pairs)]
        return statistics.fmean(logs) > step / 2

    if not slower(LEVELS - 1):
        return 0
    good, bad = 0, LEVELS - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if slower(middle) else (middle, bad)
    return bad


def measured(
    find: Callable[[Machine, float], int | None],
    case: tuple[float, float, float],
    searches: int,
    error: float,
) -> tuple[int, list[int]]:
    """Count right answers, and trials of each search."""
    change, noise, drift = case
    right, trials = 0, []
    for seed in range(searches):
        first = 1 + seed % (LEVELS - 1) if change else 0
        machine = Machine(first, change, noise, drift, np.random.default_rng(seed))
        right += find(machine, error) == first
        trials.append(machine.trials)
    return right, trials


def main() -> None:
    """Print a row for each case and way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--error", type=float, default=0.05)
    asked = parser.parse_args()
    print(f"{LEVELS} levels, stated error {asked.error:.0%}, {asked.searches} searches each")
    print("step  noise  drift  way      right [95 %]               trials: median, 90 %, most")
    for case in CASES:
        for name, find in (("weighed", weighed), ("plain", plain)):
            right, trials = measured(find, case, asked.searches, asked.error)
            low, high = wilson(right, asked.searches)
            print(
                f"{case[0]:4.0%}  {case[1]:4.0%}  {case[2]:5.1f}  {name:8}"
                f" {right / asked.searches:6.1%} [{low:.1%}, {high:.1%}]"
                f"   {np.median(trials):6.0f} {np.quantile(trials, 0.9):6.0f} {max(trials):6d}",
                flush=True,
            )


if __name__ == "__main__":
    main()
