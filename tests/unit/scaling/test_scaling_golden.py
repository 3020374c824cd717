"""Published fits of scaling curves, to their printed digits.

Sources: USL's exact example and the raytracer (R package usl); the Cisco benchmark (Schwartz,
Practical Scalability Analysis; values of codahale/usl4j's tests); Ernest's example
(amplab/ernest, examples/rcv1-parsed.csv, with what its predictor prints).
"""

from __future__ import annotations

import numpy as np
import pytest

from pyrometer.scaling.analysis import Question, analyse
from pyrometer.statistics.scaling.levels import Observation

EXACT = dict(zip([1, 2, 4, 6, 8, 10], [1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557], strict=True))
RAYTRACER = dict(
    zip(
        [1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64],
        [20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310],
        strict=True,
    )
)
CISCO = dict(
    enumerate(
        [
            955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08,
            7219.8, 7867.61, 8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24,
            10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806, 12089.37,
            12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39,
        ],
        start=1,
    )
)  # fmt: skip
RCV1 = [
    (32, 0.125, 7.94516801834), (4, 0.015625, 4.72029209137), (4, 0.021382, 4.87661099434),
    (12, 0.050164, 6.71376490593), (12, 0.055921, 6.71519398689), (12, 0.061678, 6.6739718914),
    (16, 0.061678, 6.83566999435),
]  # fmt: skip


def fitted(rates, *predict, up_to=None):
    """Account of a table of throughputs."""
    rows = [Observation(p, rate) for p, rate in rates.items()]
    ask = Question(predict=predict, up_to=up_to)
    return analyse(rows, "throughput", ask, source="published")


def law(report, name):
    return next(one for one in report.laws if one.name == name)


def values(report, name):
    return {key: one.value for key, one in law(report, name).parameters.items()}


def error(report, name, p):
    """Predicted over measured throughput, minus 1."""
    one = next(one for one in law(report, name).predictions if one.p == p)
    return one.value.value / one.measured.value - 1


def test_usl_of_its_exact_example():
    report = fitted(EXACT)
    found = values(report, "usl")
    assert found == pytest.approx({"alpha": 0.02, "beta": 0.02, "gamma": 1.0}, rel=1e-3)
    assert law(report, "usl").peak.value == pytest.approx(7, abs=0.01)


def test_usl_of_the_cisco_benchmark_as_the_book_prints_it():
    report = fitted(CISCO)
    found = values(report, "usl")
    book = {"alpha": 0.02671591, "beta": 7.690945e-4, "gamma": 995.6486}
    assert found == pytest.approx(book, rel=2e-4)
    peak = law(report, "usl").peak
    assert int(peak.value) == 35
    assert peak.low < 35 < peak.high
    alpha, beta, gamma = found["alpha"], found["beta"], found["gamma"]
    n = peak.value
    largest = gamma * n / (1 + alpha * (n - 1) + beta * n * (n - 1))
    assert largest == pytest.approx(12341, rel=2e-4)


def test_usl_of_the_raytracer_with_the_interval_that_its_freedom_asks_for():
    report = fitted(RAYTRACER, up_to=20)
    usl = law(report, "usl").parameters
    assert usl["alpha"].value == pytest.approx(0.02444, abs=5e-6)
    assert usl["beta"].value == pytest.approx(0.001627, abs=5e-7)
    assert usl["gamma"].value == pytest.approx(20.856, abs=5e-4)
    # Student's t with six levels less three parameters, at 97.5 %.
    assert usl["alpha"].low == pytest.approx(-0.0023, abs=5e-5)
    assert usl["alpha"].high == pytest.approx(0.0511, abs=5e-5)


def test_the_whole_raytracer_has_no_evidence_of_a_peak():
    report = fitted(RAYTRACER)
    assert values(report, "usl")["beta"] == 0
    assert law(report, "usl").peak is None
    assert "No evidence of a peak (USL: β may be 0)." in report.verdict


def test_ernest_of_its_example():
    rows = [Observation(p, time, work) for p, work, time in RCV1]
    # Its predictions are of the whole data: work 1, which nothing measured.
    report = analyse(
        rows, "elapsed", Question(predict=[4, 8, 16, 24], predict_work=1.0), source="rcv1"
    )
    found = {one.p: one.value.value for one in law(report, "ernest").predictions}
    printed = {4: 44.6516, 8: 25.4777, 16: 16.4413, 24: 13.7062}
    assert found == pytest.approx(printed, abs=5e-5)
    assert "scaling_far_prediction" not in {one.code for one in report.doubts}


def test_one_law_alone_misleads_beyond_its_data_and_all_together_hold():
    raytracer = fitted(RAYTRACER, 32, 64, up_to=20)
    assert error(raytracer, "usl", 32) == pytest.approx(-0.24, abs=0.01)
    assert error(raytracer, "usl", 64) == pytest.approx(-0.53, abs=0.01)
    cisco = fitted(CISCO, 32, up_to=16)
    # With α held at 0 or above it is -0.184; the least squares are at α = -0.0028.
    assert values(cisco, "usl")["alpha"] == pytest.approx(-0.0028, abs=5e-5)
    assert error(cisco, "usl", 32) == pytest.approx(-0.201, abs=0.001)
    assert error(cisco, "amdahl", 32) == pytest.approx(0.187, abs=0.001)
    for report in (raytracer, cisco):
        assert all(one.inside for one in report.ensemble)
        assert all(np.isfinite([one.value.low, one.value.high]).all() for one in report.ensemble)
    assert "scaling_far_prediction" in {one.code for one in raytracer.doubts}
    assert "scaling_far_prediction" not in {one.code for one in cisco.doubts}
