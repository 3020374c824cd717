"""Looks at growing data: boundaries as printed, and errors as promised."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pyrometer.statistics.sequential import Spending, nominal, p_of_look, spent

FIVE = (0.2, 0.4, 0.6, 0.8, 1.0)


@pytest.mark.parametrize(
    ("kind", "printed"),
    [
        # Two-sided, 5 %, five equal looks: as the programs of Lan and DeMets print them.
        ("obrien-fleming", (4.877, 3.357, 2.680, 2.290, 2.031)),
        ("pocock", (2.438, 2.427, 2.410, 2.397, 2.386)),
    ],
)
def test_boundaries_are_those_of_lan_and_demets(kind: Spending, printed: tuple[float, ...]) -> None:
    found = [float(stats.norm.isf(p / 2)) for p in nominal(FIVE, 0.05, kind)]
    assert found == pytest.approx(printed, abs=0.002)


@pytest.mark.parametrize("kind", ["obrien-fleming", "pocock"])
def test_all_of_the_risk_is_spent_at_the_end_and_none_before_the_start(kind: Spending) -> None:
    assert spent(1.0, 0.05, kind) == pytest.approx(0.05)
    assert spent(0.0, 0.05, kind) == pytest.approx(0.0)
    shares = [spent(one, 0.05, kind) for one in FIVE]
    assert shares == sorted(shares)


def test_one_look_is_the_plain_test() -> None:
    assert p_of_look(1, 1) == pytest.approx(0.05)


def test_looking_often_errs_as_one_test_does() -> None:
    rng = np.random.default_rng(1)
    steps = rng.standard_normal((20_000, 5)).cumsum(axis=1) / np.sqrt(np.arange(1, 6))
    limits = np.array([stats.norm.isf(p / 2) for p in nominal(FIVE, 0.05, "pocock")])
    wrong = float((np.abs(steps) > limits).any(axis=1).mean())
    assert wrong == pytest.approx(0.05, abs=0.006)
    naive = float((np.abs(steps) > 1.96).any(axis=1).mean())
    assert naive > 0.12


@pytest.mark.parametrize("shares", [(), (0.5, 0.5), (0.5, 0.4), (0.5, 1.2)])
def test_looks_that_are_none_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="share"):
        nominal(shares)
