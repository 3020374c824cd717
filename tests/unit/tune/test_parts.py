"""Queries that stand for a suite: chosen by how their times vary with the whole."""

from __future__ import annotations

import numpy as np
import pytest

from pyrometer.tune.advise.parts import representative


def _suite(trials: int, seed: int = 0) -> list[dict[str, float]]:
    """Nine queries: two causes move four of them, five never change; one is half of all."""
    rng = np.random.default_rng(seed)
    found = []
    for at in range(trials):
        joins, scans = (1.0, 1.0) if at == 0 else np.exp(rng.normal(0, 0.4, 2))
        times = {"q1": 1.0 * joins, "q2": 3.0 * joins, "q3": 0.8 * scans, "q4": 2.5 * scans}
        times |= {f"q{number}": 0.2 for number in range(5, 9)}
        times["q9"] = 8.0
        found.append({name: float(t * np.exp(rng.normal(0, 0.01))) for name, t in times.items()})
    return found


@pytest.mark.parametrize("seed", range(5))
def test_few_queries_that_vary_stand_for_all(seed: int) -> None:
    found = representative(_suite(8, seed), 0.3)
    assert found is not None
    # One of each cause: the long ones have no room together, and what never changes says nothing.
    assert set(found.names) & {"q1", "q2"}
    assert set(found.names) & {"q3", "q4"}
    assert not set(found.names) & {"q9", "q5", "q6", "q7", "q8"}
    assert found.share <= 0.3
    assert (found.correlation.value or 0) > 0.6
    assert found.correlation.n == 8


def test_nothing_stands_where_nothing_varies_or_too_few_ran() -> None:
    assert representative(_suite(3), 0.5) is None
    assert representative([{"q1": 1.0, "q2": 2.0}] * 6, 0.5) is None
    assert representative([{} for _ in range(6)], 0.5) is None
    # All of the variance is in a query that is too long.
    long = [{"q1": 9.0 + at, "q2": 1.0} for at in range(6)]
    assert representative(long, 0.3) is None


def test_a_query_that_is_missing_in_a_trial_is_not_chosen() -> None:
    times = _suite(8)
    del times[3]["q1"]
    found = representative(times, 0.3)
    assert found is not None
    assert "q1" not in found.names
