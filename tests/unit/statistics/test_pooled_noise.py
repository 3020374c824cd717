"""Noise pooled over treatments: the rule, and how often its intervals hold the truth."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from pyrometer.statistics.blocks import paired
from pyrometer.statistics.pooling import Pooled, pool
from pyrometer.statistics.treatments import Trial, analyse

EXPERIMENTS = 400


def experiments(deviations, blocks, seed=1818):
    """Times of treatments without effects, in blocks that differ by far more than the noise."""
    draw = np.random.default_rng(seed)
    for _ in range(EXPERIMENTS):
        shared = draw.normal(0, 0.3, blocks)
        yield {
            str(at): np.exp(shared + draw.normal(0, 0.03 * one, blocks)).tolist()
            for at, one in enumerate(deviations)
        }


@pytest.mark.parametrize(
    ("deviations", "blocks", "narrower"),
    [
        pytest.param((1, 1, 1, 1), 3, 0.75, marks=pytest.mark.slow),
        pytest.param((1, 1, 1, 1), 5, 0.93, marks=pytest.mark.slow),
        ((1, 1, 1, 1.5), 3, 0.76),
        pytest.param((1, 1.17, 1.33, 1.5), 5, 0.94, marks=pytest.mark.slow),
        pytest.param((1, 1, 1, 1, 1, 1), 3, 0.70, marks=pytest.mark.slow),
    ],
)
def test_intervals_hold_as_often_as_they_say_and_are_narrower(deviations, blocks, narrower):
    held = widths = own_widths = total = 0
    for values in experiments(deviations, blocks):
        noise = pool(values, blocked=True)
        names = list(values)
        for a, b in pairwise(names):
            found = paired(values[a], values[b], pooled=noise).change
            held += found.low <= 0 <= found.high
            widths += math.log1p(found.high) - math.log1p(found.low)
            apart = np.log(values[b]) - np.log(values[a])
            own_widths += 2 * stats.t.ppf(0.975, blocks - 1) * stats.sem(apart)
            total += 1
    assert held / total >= 0.94
    assert widths / own_widths <= narrower


def test_treatments_of_very_unequal_noise_keep_their_own():
    pooled = [pool(values, blocked=True) for values in experiments((1, 1, 1, 6), 12)]
    assert sum(one.usable for one in pooled) <= 0.02 * EXPERIMENTS
    values = next(experiments((1, 1, 1, 6), 12))
    found = paired(values["0"], values["1"], pooled=pool(values, blocked=True))
    assert found.change == paired(values["0"], values["1"]).change
    assert (found.noise.treatments, found.noise.df) == (2, 11)
    assert found.noise.equal_p < 0.2


def test_a_pair_that_does_not_vary_has_the_noise_of_all_treatments():
    flat = [100.0] * 3, [103.0] * 3
    assert paired(*flat).verdict == "cannot tell"
    found = paired(*flat, pooled=Pooled(1e-6, df=6, treatments=4, equal_p=0.5))
    assert (found.verdict, found.noise.treatments) == ("slower", 4)
    assert paired(*flat, pooled=Pooled(1e-6, df=6, treatments=4, equal_p=0.1)).p is None


def trials(values):
    return [
        Trial(name, one, str(block))
        for name, those in values.items()
        for block, one in enumerate(those)
    ]


def test_the_report_says_over_how_many_treatments_noise_is_pooled():
    values = next(experiments((1, 1, 1, 1), 3, seed=5))
    made = analyse(trials(values), what="time", unit="s", margin=0.02)
    assert {(one.noise.treatments, one.noise.df) for one in made.pairs} == {(4, 6)}
    assert "noise of 4 treatments" in made.pairs[0].change.method
    for one in made.pairs:
        own = paired(values[one.a], values[one.b])
        assert one.change.value == pytest.approx(own.change.value)
        assert one.noise.own_larger == (one.noise.df == 6 and own.sd >= one_sd(values))
    apart = analyse(trials(values), what="time", unit="s", margin=0.02, pooling=False)
    assert {one.noise.treatments for one in apart.pairs} == {2}
    # Without blocks, all that differs between them is noise, too.
    lists = analyse(
        [Trial(one.treatment, one.value) for one in trials(values)],
        what="time", unit="s", margin=0.02,
    )  # fmt: skip
    assert {(one.noise.treatments, one.noise.df) for one in lists.pairs} == {(4, 8)}
    assert all(one.change.high > other.change.high
               for one, other in zip(lists.pairs, made.pairs, strict=True))  # fmt: skip


def one_sd(values):
    return math.sqrt(pool(values, blocked=True).variance)


def test_a_pair_alone_is_judged_as_before():
    values = next(experiments((1, 1), 5))
    made = analyse(trials(values), what="time", unit="s", margin=0.02)
    assert made.pairs[0].change == paired(values["0"], values["1"]).change
    assert made.pairs[0].noise.treatments == 2


def test_a_baseline_narrows_the_family_that_is_corrected():
    values = next(experiments((1, 1, 1, 1), 5))
    kwargs = {"what": "time", "unit": "s", "margin": 0.02}
    every = {(one.a, one.b): one for one in analyse(trials(values), **kwargs).pairs}
    beside = analyse(trials(values), control="0", **kwargs).pairs
    assert [(one.a, one.b) for one in beside] == [("0", "1"), ("0", "2"), ("0", "3")]
    for one in beside:
        assert one.p == every[one.a, one.b].p
        assert one.adjusted_p <= min(1.0, 3 * one.p + 1e-12)
    surest = min(every.values(), key=lambda one: one.p)
    assert surest.adjusted_p == pytest.approx(min(1.0, 6 * surest.p))
