"""Equal treatments on simulated machines whose noise canaries see in part: how often an experiment
calls them different, as it is and with canaries held equal, and what it finds of a planted effect.

The machines, the numbers and the bounds were fixed before the first run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support import experiments

from pyrometer.core.estimate import Estimate
from pyrometer.experiments.folder import Canaries, Ended
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.statistics.shares import wilson

GAINS = {"alu_ns": 1.0, "latency_ns": 0.7, "copy_bytes_per_s": -0.8}
"""What a canary says of a machine that is slower by 1."""
ERROR = 0.03
"""Deviation of a canary of the same machine."""
NOISE = {"seen": (1.0, 0.25), "both": (1.0, 1.0), "unseen": (0.0, 1.0)}
"""Factors on the noise that canaries see, and on that which they do not."""
PAIRS = (5, 8, 20)
EFFECT = 0.05


@dataclass
class Found:
    """Intervals of changes, of the same experiments."""

    plain: list[Estimate] = field(default_factory=list)
    held: list[Estimate] = field(default_factory=list)

    def alarms(self) -> Iterator[tuple[str, int, int]]:
        """Of each analysis, intervals that leave out zero, and all."""
        for what, ones in (("as it is", self.plain), ("with canaries", self.held)):
            yield what, sum(_leaves_out_zero(one) for one in ones), len(ones)


def _leaves_out_zero(one: Estimate) -> bool:
    assert one.low is not None
    assert one.high is not None
    return one.low > 0 or one.high < 0


def _alike(draw: np.random.Generator, number: int, sd: float, rho: float) -> NDArray[np.float64]:
    """Noise whose neighbours are alike."""
    noise = draw.normal(0, sd, number)
    for at in range(1, number):
        noise[at] = rho * noise[at - 1] + math.sqrt(1 - rho**2) * noise[at]
    return noise


def _bursts(draw: np.random.Generator, number: int) -> NDArray[np.float64]:
    """One trial in twelve begins to be slower, by 10 to 40 %, for one to three trials."""
    slower = np.zeros(number)
    for at in np.flatnonzero(draw.random(number) < 0.08):
        slower[at : at + draw.integers(1, 4)] = draw.uniform(0.1, 0.4)
    return slower


def simulated(
    number: int, pairs: int, noise: str, effect: float = 0.0, canaries: int = 3, seed: int = 0
) -> Found:
    """Judge experiments of two treatments of which the second takes longer by `effect`."""
    seen, unseen = NOISE[noise]
    names = list(GAINS)[:canaries]
    found = Found()
    for experiment in range(number):
        draw = np.random.default_rng([seed, pairs, experiment])
        plan = experiments.plan(["a", "b"], pairs, int(draw.integers(1 << 30)))
        trials = 2 * pairs
        drift = draw.normal(0, 0.1) * np.linspace(-0.5, 0.5, trials)
        state = seen * (drift + _alike(draw, trials, 0.04, 0.6) + _bursts(draw, trials))
        rest = _alike(draw, trials, 0.02, 0.4) + draw.normal(0, 0.01, trials)
        rest += (draw.random(trials) < 0.03) * 0.3
        readings = {name: draw.normal(0, ERROR, trials) + GAINS[name] * state for name in names}
        entries = Entries()
        for at, one in enumerate(plan.trials):
            slower = math.log1p(effect) * (one.treatment == "b")
            canary = {name: math.exp(float(values[at])) for name, values in readings.items()}
            entries.end(
                Ended(
                    trial=one.number, attempt=1, block=one.block, treatment=one.treatment,
                    status="finished", folder=one.folder, wall_ns=at, canaries=Canaries(**canary),
                    seconds=10 * math.exp(float(state[at] + unseen * rest[at]) + slower),
                )
            )  # fmt: skip
        report = experiment_report(plan, entries)
        assert report.comparison is not None
        assert report.canaries is not None
        found.plain.append(report.comparison.pairs[0].change)
        found.held += [pair.change for pair in report.canaries.pairs]
    return found


def most(number: int) -> int:
    """False alarms that chance exceeds once in a thousand times, at 5 %."""
    from scipy import stats

    return int(stats.binom.ppf(0.999, number, 0.05))


def _told(what: str, hits: int, number: int) -> str:
    low, high = wilson(hits, number)
    return f"{what} {hits / number:.1%} [{low:.1%}, {high:.1%}] of {number}" if number else what


@pytest.mark.parametrize("pairs", PAIRS)
def test_equal_treatments_seldom_differ_with_canaries_or_without(pairs: int) -> None:
    found = simulated(100, pairs, "both", canaries=1 if pairs == 5 else 3)
    for what, alarms, number in found.alarms():
        assert number > 75
        assert alarms <= most(number), _told(what, alarms, number)


def test_five_pairs_are_too_few_to_hold_three_canaries_equal() -> None:
    found = simulated(2, 5, "both")
    assert (len(found.plain), found.held) == (2, [])


@pytest.mark.slow
@pytest.mark.every_variant
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize(("pairs", "canaries"), [(5, 1), (8, 3), (20, 3)])
def test_false_alarms_are_as_many_as_stated_and_canaries_cost_little_power(
    pairs: int, canaries: int, noise: str, capsys: pytest.CaptureFixture[str]
) -> None:
    null = simulated(2000, pairs, noise, canaries=canaries)
    planted = simulated(500, pairs, noise, EFFECT, canaries=canaries, seed=1)
    told = [_told(*one) for one in null.alarms()]
    power = {what: hits / number for what, hits, number in planted.alarms() if number}
    with capsys.disabled():
        finds = ", ".join(f"{what} {one:.1%}" for what, one in power.items())
        print(f"\n{pairs} pairs, {canaries} canaries, {noise}: {'; '.join(told)}; finds {finds}")
    for what, alarms, number in null.alarms():
        assert alarms <= most(number), _told(what, alarms, number)
    if noise == "seen":
        assert power["with canaries"] >= power["as it is"]
    if pairs == 20:
        assert power["with canaries"] >= power["as it is"] - 0.1
