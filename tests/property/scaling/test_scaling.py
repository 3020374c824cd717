"""What fits of scaling curves must hold, whatever the numbers: planted laws, units, order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pyrometer.scaling.analysis import Question, analyse
from pyrometer.scaling.simulated import Simulated, simulated
from pyrometer.statistics.scaling.knee import knee
from pyrometer.statistics.scaling.laws import AMDAHL, ERNEST, GUSTAFSON, USL, fit
from pyrometer.statistics.scaling.levels import Observation, levels_of

WORKERS = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32], float)


def levels(times, workers=WORKERS):
    rows = [Observation(p, t) for p, t in zip(workers, times, strict=True)]
    return levels_of(rows, "elapsed")


def planted(law, serial, cost, scale):
    """Times that a law makes, and its parameters."""
    p = WORKERS
    if law is USL:
        made = {"alpha": serial, "beta": cost, "gamma": 1 / scale}
        return scale * (1 + serial * (p - 1) + cost * p * (p - 1)) / p, made
    if law is AMDAHL:
        return scale * (serial + (1 - serial) / p), {"serial": serial, "gamma": 1 / scale}
    if law is GUSTAFSON:
        return scale / (serial + (1 - serial) * p), {"serial": serial, "gamma": 1 / scale}
    made = {"constant": serial, "parallel": 1.0, "log": cost, "linear": cost / 3}
    times = serial + 1 / p + cost * np.log(p) + cost / 3 * p
    return scale * times, {name: scale * one for name, one in made.items()}


@pytest.mark.parametrize("law", [AMDAHL, GUSTAFSON, USL, ERNEST], ids=lambda law: law.name)
@settings(max_examples=10, deadline=None)
@given(
    serial=st.floats(0.001, 0.6),
    cost=st.floats(1e-5, 0.02),
    scale=st.floats(1e-9, 1e9),
)
def test_planted_parameters_are_found_in_any_unit(law, serial, cost, scale):
    times, parameters = planted(law, serial, cost, scale)
    found = fit(law, levels(times))
    got = found.parameters()
    assert parameters.keys() == got.keys()
    for name, value in parameters.items():
        assert got[name].value == pytest.approx(value, rel=1e-5, abs=1e-7 * abs(value) + 1e-12)


@settings(max_examples=4, deadline=None)
@given(
    values=st.lists(st.floats(0.1, 100), min_size=6, max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_the_order_of_rows_changes_nothing(values, order):
    rows = [Observation(1 + at // 2, value, 1.0, {"cpu": value}) for at, value in enumerate(values)]
    mixed = list(rows)
    order.shuffle(mixed)
    ask = Question(predict=[16])
    first, second = (analyse(one, "elapsed", ask, source="rows") for one in (rows, mixed))
    assert first.model_dump() == second.model_dump()


@settings(max_examples=4, deadline=None)
@given(
    noise=st.lists(st.floats(-0.1, 0.1), min_size=10, max_size=10),
    power=st.integers(-20, 20),
)
def test_a_unit_of_time_changes_only_the_unit(noise, power):
    times = (0.1 + 1 / WORKERS) * (1 + np.array(noise))
    unit = 2.0**power
    ask = Question(predict=[48])
    reports = [
        analyse([Observation(p, t * by) for p, t in zip(WORKERS, times, strict=True)],
                "elapsed", ask, source="rows")
        for by in (1.0, unit)
    ]  # fmt: skip
    one, other = reports
    for a, b in zip(one.ensemble, other.ensemble, strict=True):
        assert b.value.value == pytest.approx(a.value.value * unit, rel=1e-6)
        assert b.value.low == pytest.approx(a.value.low * unit, rel=1e-6)
    for a, b in zip(one.laws, other.laws, strict=True):
        assert [r.ratio for r in b.residuals] == pytest.approx([r.ratio for r in a.residuals])
    assert one.knee.at.value == pytest.approx(other.knee.at.value)
    assert one.verdict == other.verdict


def test_intervals_hold_what_was_planted_as_often_as_they_say():
    rng = np.random.default_rng(7)
    times, parameters = planted(USL, 0.05, 0.001, 10.0)
    far = np.array([48.0])
    truth = 10.0 * (1 + 0.05 * 47 + 0.001 * 48 * 47) / 48
    inside = {"alpha": 0, "beta": 0, "prediction": 0}
    rounds = 150
    for _ in range(rounds):
        rates = 1 / times
        # USL's squares are summed in throughput: noise of the same size there.
        found = fit(USL, levels(1 / (rates + 0.01 * rates.mean() * rng.standard_normal(10))))
        got = found.parameters()
        for name in ("alpha", "beta"):
            inside[name] += got[name].low <= parameters[name] <= got[name].high
        low, high = np.quantile(found.predict(far, np.ones(1))[:, 0], [0.025, 0.975])
        new = 1 / (1 / truth + 0.01 * rates.mean() * rng.standard_normal())
        inside["prediction"] += low <= new <= high
    # 95 % of 150, less three standard errors.
    assert all(count >= 0.89 * rounds for count in inside.values()), inside


def test_a_prediction_has_students_interval_for_a_new_level():
    p = np.array([1, 2, 4, 8], float)
    rates = 1 + 2 * p + np.array([0.3, -0.2, -0.3, 0.2])
    found = fit(GUSTAFSON, levels(1 / rates, p))
    far = np.array([6.0])
    design = np.column_stack([np.ones(4), p])
    beta, left, _, _ = np.linalg.lstsq(design, rates, rcond=None)
    row = np.array([1.0, 6.0])
    leverage = row @ np.linalg.inv(design.T @ design) @ row
    half = stats.t.ppf(0.975, 2) * np.sqrt(left[0] / 2 * (1 + leverage))
    drawn = 1 / found.predict(far, np.ones(1))[:, 0]
    low, high = np.quantile(drawn, [0.025, 0.975])
    # A thousand draws tell these quantiles to some 8 %.
    assert row @ beta - low == pytest.approx(half, rel=0.2)
    assert high - row @ beta == pytest.approx(half, rel=0.2)


def test_no_interval_holds_what_a_law_excludes():
    p = np.array([1, 2, 3, 4, 6, 8], float)
    noise = np.random.default_rng(0).normal(0, 0.15, 6)
    made = fit(ERNEST, levels(1 + 10 / p + 0.5 * np.log(p) + 0.1 * p + noise, p))
    assert made.interior
    found = made.parameters()
    assert all(one.low >= 0 for one in found.values())
    assert any(one.low == 0 < one.value for one in found.values())


def test_planted_knees_lie_in_their_intervals():
    rng = np.random.default_rng(5)
    workers = np.arange(1, 33, dtype=float)
    held = 0
    for at in (4, 8, 16) * 4:
        rates = np.where(workers <= at, workers, at * (workers / at) ** 0.2)
        found = knee(levels(1 / (rates * np.exp(0.02 * rng.standard_normal(32))), workers))
        held += found.at.low <= at <= found.at.high
        assert found.at.high / found.at.low < 1.5
        assert found.after.value == pytest.approx(0.2, abs=0.05)
    # At 95 %, fewer than 9 of 12 has a chance of 0.003.
    assert held >= 9


def test_straight_lines_rarely_have_a_knee():
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(20):
        times = WORKERS**-0.8 * np.exp(0.05 * rng.standard_normal(len(WORKERS)))
        wrong += knee(levels(times)).at.value is not None
    # At 5 %, more than 4 of 20 has a chance of 0.003.
    assert wrong <= 4


def test_the_simulator_speaks_by_the_nearest_level_and_by_the_spread_of_all():
    said = {1.0: {2.0: 5.0, 4.0: 3.0, 8.0: 2.0}, 2.0: {1.0: 9.0, 4.0: 6.0, 8.0: 1.8},
            4.0: {1.0: 8.0, 2.0: 5.4, 8.0: 1.9}}  # fmt: skip
    made = Simulated(said, nearest={1.0: 2.0, 2.0: 1.0, 4.0: 2.0, 8: 4.0})
    rows = [Observation(1, 10.0), Observation(2, 5.5), Observation(4, 3.0)]
    report = analyse(
        rows, "elapsed", Question(predict=[8]), source="rows", others={"simulator": made}
    )
    found = next(one for one in report.laws if one.name == "simulator")
    assert [one.ratio for one in found.residuals] == pytest.approx([1 / 9, 0.1, -0.5])
    # Predicted over measured, as for a law: -0.1, -0.09, 1.
    assert found.left_out_ratio == pytest.approx(0.1)
    (eight,) = found.predictions
    assert eight.value.value == pytest.approx(1.9)
    logs = np.log([2.0, 1.8, 1.9])
    half = stats.t.ppf(0.975, 2) * logs.std(ddof=1) * np.sqrt(4 / 3)
    assert np.log(eight.value.high) == pytest.approx(logs.mean() + half, abs=0.15 * half)
    assert report.ensemble[0].value.low < 1.9 < report.ensemble[0].value.high


def test_a_simulator_that_cannot_says_why():
    assert simulated({1.0: "no tasks", 2.0: "no tasks"}, "layout.tasks", []) == "no tasks"
    rows = [Observation(1, 10.0), Observation(2, 5.5)]
    report = analyse(rows, "elapsed", Question(), source="rows", others={"simulator": "no tasks"})
    assert [one.reason for one in report.laws if one.name == "simulator"] == ["no tasks"]
