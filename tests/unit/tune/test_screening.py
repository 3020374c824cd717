"""Screening designs and races."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyrometer.tune.advise.race import LOOKS, standing
from pyrometer.tune.advise.screening import lenth, plackett_burman, screen

NAMES = [f"k{at}" for at in range(10)]
CHANGED = dict.fromkeys(NAMES, "1")


@pytest.mark.parametrize("knobs", [3, 7, 10, 11, 15, 18, 23, 30, 35, 60])
def test_effects_do_not_mix_in_a_design(knobs: int) -> None:
    design = plackett_burman(knobs)
    trials = len(design)
    assert trials > knobs
    assert (design.T @ design == trials * np.eye(knobs)).all()
    assert (design.sum(axis=0) == 0).all()
    assert (design[-1] == -1).all()


def _screened(effects: dict[str, float], noise: float, seed: int) -> dict[str, bool]:
    rng = np.random.default_rng(seed)
    rows, values = [], []
    for row in plackett_burman(10):
        levels = {n: "1" for n, sign in zip(NAMES, row, strict=True) if sign > 0}
        rows.append(levels)
        values.append(sum(effects.get(n, 0.0) for n in levels) + rng.normal(0, noise))
    return {one.factor: one.inert for one in screen(rows, values, CHANGED, 0.02)}


def test_what_matters_is_kept_and_most_else_dropped() -> None:
    found = [_screened({"k2": 0.3, "k7": -0.2}, 0.03, seed) for seed in range(40)]
    assert sum(one["k2"] for one in found) == 0
    assert sum(one["k7"] for one in found) == 0
    dropped = [one[name] for one in found for name in NAMES if name not in ("k2", "k7")]
    assert 0.5 < sum(dropped) / len(dropped) < 0.9


def test_effects_are_ratios_with_intervals() -> None:
    rows = [
        {n: "1" for n, sign in zip(NAMES, row, strict=True) if sign > 0}
        for row in plackett_burman(10)
    ]
    values = [math.log(0.8) * ("k3" in one) + 0.01 * (at % 3) for at, one in enumerate(rows)]
    first = screen(rows, values, CHANGED, 0.02)[0]
    assert first.factor == "k3"
    assert first.effect.low < -0.2 < first.effect.high  # type: ignore[operator]
    assert not first.inert


def test_what_two_levels_do_not_show_is_kept() -> None:
    rows = [
        {n: "1" for n, sign in zip(NAMES, row, strict=True) if sign > 0}
        for row in plackett_burman(10)
    ]
    found = screen(rows, [0.001 * at for at in range(12)], CHANGED, 0.02, kept=["k4"])
    assert [one.factor for one in found if not one.inert] == ["k4"]


def test_too_few_trials_drop_nothing() -> None:
    assert screen([{}, {"k1": "1"}], [0.0, 0.1], CHANGED, 0.02) == []


def test_the_noise_follows_from_effects_that_are_none() -> None:
    rng = np.random.default_rng(3)
    errors = [lenth([*rng.normal(0, 0.02, 13), 0.5, -0.4])[0] for _ in range(200)]
    assert float(np.median(errors)) == pytest.approx(0.02, rel=0.2)


def test_races_of_equals_are_rarely_decided_and_clear_ones_soon() -> None:
    rng = np.random.default_rng(4)
    decided = 0
    for _ in range(400):
        apart = list(rng.normal(0, 0.03, LOOKS))
        decided += any(standing(apart[: at + 1]) != "open" for at in range(LOOKS))
    assert decided / 400 < 0.13
    behind = [standing(list(rng.normal(0.15, 0.03, 3))) for _ in range(50)]
    assert behind.count("behind") > 45
    assert standing([]) == standing([0.5]) == "open"
