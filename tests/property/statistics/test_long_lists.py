"""Statistics of long lists take batches and ranks, and say the same as those of all at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.statistics import suites, two

# Few values, so that many are equal.
LISTS = st.lists(st.integers(1, 9).map(float), min_size=2, max_size=12)


def by_matrix(a: list[float], b: list[float]) -> tuple[float, float]:
    """Cliff's delta and its variance (Feng and Cliff 2004), by the signs of all pairs."""
    n, m = len(a), len(b)
    signs = np.sign(np.asarray(b)[None, :] - np.asarray(a)[:, None])
    delta = float(signs.mean())
    rows, columns = signs.mean(axis=1) - delta, signs.mean(axis=0) - delta
    whole = m**2 * (rows**2).sum() + n**2 * (columns**2).sum() - ((signs - delta) ** 2).sum()
    variance = float(whole) / (n * m * (n - 1) * (m - 1))
    return delta, max(variance, (1 - delta**2) / (n * m - 1))


@given(LISTS, LISTS)
def test_the_delta_of_ranks_is_that_of_all_pairs(a: list[float], b: list[float]) -> None:
    delta, variance = by_matrix(a, b)
    found = two.cliff(a, b)
    assert found.value == delta
    z, middle = 1.959963984540054, delta - delta**3
    half = z * np.sqrt(variance * ((1 - delta**2) ** 2 + z**2 * variance))
    under = 1 - delta**2 + z**2 * variance
    low, high = ((middle - half) / under, (middle + half) / under) if under else (delta, delta)
    assert found.low == pytest.approx(max(-1.0, min(low, delta)), abs=1e-7)
    assert found.high == pytest.approx(min(1.0, max(high, delta)), abs=1e-7)


def test_batches_draw_and_permute_the_same_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    a, b = (draw.normal(10, 1, size).tolist() for size in (30, 17))

    def said() -> tuple[object, ...]:
        queries = {"q": a, "r": b}, {"q": b, "r": a}
        return two.permutation(a, b, seed=1), suites.geometric_mean(*queries, seed=1)

    whole = said()
    for module in (two, suites):
        monkeypatch.setattr(module, "BATCH", 1000)
    assert said() == whole


def test_long_lists_are_compared_in_little_memory() -> None:
    draw = np.random.default_rng(2)
    found = two.cliff(draw.normal(0, 1, 200_000).tolist(), draw.normal(0, 1, 200_000).tolist())
    assert found.value == pytest.approx(0, abs=0.01)
    assert found.low is not None
    assert found.high is not None
    assert -0.02 < found.low < 0.01
    assert -0.01 < found.high < 0.02
