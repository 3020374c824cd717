"""Quantiles and tails are those of scipy.stats, and need none of it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pyrometer.statistics import distributions

P = st.floats(1e-12, 1 - 1e-12)
FINITE = st.one_of(st.integers(1, 10_000), st.floats(0.5, 1e6))
FREEDOM = st.one_of(FINITE, st.just(np.inf))
VALUE = st.floats(-1e6, 1e6)


@given(P, FREEDOM, VALUE)
def test_they_are_those_of_scipy(p: float, freedom: float, value: float) -> None:
    same(distributions.t_quantile(p, freedom), stats.t.ppf(p, freedom))
    same(distributions.t_tail(value, freedom), stats.t.sf(value, freedom))
    same(distributions.normal_quantile(p), stats.norm.ppf(p))
    same(-distributions.normal_quantile(p), stats.norm.isf(p))
    same(distributions.normal_tail(value), stats.norm.sf(value))
    same(distributions.normal_density(value), stats.norm.pdf(value))
    same(distributions.chi_square_quantile(p, freedom), stats.chi2.ppf(p, freedom))


@given(P, FINITE, FINITE, VALUE)
def test_those_of_ratios_too(p: float, above: float, below: float, value: float) -> None:
    same(distributions.f_quantile(p, above, below), stats.f.ppf(p, above, below))
    same(distributions.f_tail(value, above, below), stats.f.sf(value, above, below))


@pytest.mark.parametrize("freedom", [0, -1, np.nan])
def test_without_degrees_of_freedom_there_is_none(freedom: float) -> None:
    assert np.isnan(distributions.t_quantile(0.9, freedom))
    assert np.isnan(distributions.t_tail(1.0, freedom))


def test_of_arrays_they_are_arrays() -> None:
    found = distributions.t_quantile(0.975, np.array([1.0, 4.0, np.inf]))
    assert found.round(2).tolist() == [12.71, 2.78, 1.96]


def test_they_load_little() -> None:
    code = (
        "import sys; from pyrometer.statistics.distributions import t_quantile; t_quantile(0.9, 3);"
        "print('scipy.stats' in sys.modules, 'scipy.optimize' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def same(ours: Any, theirs: Any) -> None:
    assert float(ours) == pytest.approx(float(theirs), rel=1e-13, abs=1e-300, nan_ok=True)
