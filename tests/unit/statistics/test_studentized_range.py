"""The studentized range against printed tables and SciPy."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from pyrometer.statistics.many import all_pairs, quantile, upper_tail

# Upper 5 % points as tables print them (Harter 1960): means, degrees of freedom, range.
PRINTED = [(2, 2, 6.085), (3, 10, 3.877), (5, 5, 5.673), (10, 20, 5.008), (20, 60, 5.241)]


@pytest.mark.parametrize(("k", "df", "range_"), PRINTED)
def test_quantiles_are_those_of_the_tables(k: int, df: float, range_: float) -> None:
    assert quantile(0.95, k, df) == pytest.approx(range_, abs=6e-4)
    assert upper_tail(quantile(0.99, k, df), k, df) == pytest.approx(0.01)


@pytest.mark.parametrize(("k", "df"), [(2, 1.3), (7, 4.5), (18, 2.0), (40, 30.0), (4, 900.0)])
def test_tails_are_those_of_scipy(k: int, df: float) -> None:
    for q in (0.5, 3.0, 6.0):
        wanted = float(stats.studentized_range.sf(q, k, df))
        assert upper_tail(q, k, df) == pytest.approx(wanted, rel=1e-5, abs=1e-8)


@pytest.mark.slow
def test_all_pairs_are_those_of_scipy() -> None:
    lists = {
        str(at): [1 + at / 50 + ((at + 2) * trial % 7) / 100 for trial in range(4)]
        for at in range(3)
    }
    found = all_pairs(lists)
    logs = [[math.log(value) for value in one] for one in lists.values()]
    theirs = stats.tukey_hsd(*logs, equal_var=False)
    for pair, (i, j) in zip(found, [(0, 1), (0, 2), (1, 2)], strict=True):
        assert pair.p == pytest.approx(theirs.pvalue[j, i], abs=1e-8)


def test_many_treatments_have_all_their_pairs() -> None:
    many = {str(at): [1 + (at * trial % 11) / 100 for trial in range(5)] for at in range(20)}
    assert len(all_pairs(many)) == 190


def test_pairs_without_noise_have_no_interval() -> None:
    flat, other = all_pairs({"a": [1.0, 1.0], "b": [2.0, 2.0], "c": [2.0, 2.1]})[:2]
    assert (flat.change.value, flat.change.low, flat.p) == (1, None, None)
    assert other.change.low is not None
    assert other.p is not None
