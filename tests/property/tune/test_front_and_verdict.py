"""What holds of fronts, verdicts and shortest configurations whatever was measured."""

from __future__ import annotations

import math

import numpy as np
from benchmarks.tune.surfaces import space
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.advise.history import History
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.believe.verdict import FEWEST, judge
from pyrometer.tune.importance.anova import anova
from pyrometer.tune.importance.front import front
from pyrometer.tune.importance.shortest import shortest
from pyrometer.tune.space.cube import columns, draw
from pyrometer.tune.space.feasible import infeasible

SPACE = space(3, 1)
times = st.floats(1e9, 3e9)
pairs = st.lists(st.tuples(times, times), max_size=12)


@settings(max_examples=examples(10, 30))
@given(pairs, st.floats(0.005, 0.2), st.integers(0, 2))
def test_a_verdict_agrees_with_its_interval(found, margin, failures) -> None:  # type: ignore[no-untyped-def]
    verdict = judge(found, margin=margin, failures=failures)
    low, high = verdict.change.low, verdict.change.high
    if verdict.outcome == "confirmed":
        assert len(found) >= FEWEST
        assert not failures
        assert high is not None
        assert high < 0
    if verdict.outcome == "slower":
        assert low is not None
        assert low > 0
    if verdict.outcome == "no difference":
        assert verdict.bound is not None
        assert verdict.bound <= 1 / (1 - margin)
    if failures:
        assert verdict.outcome == "failed"


@settings(max_examples=examples(10, 30))
@given(pairs.filter(lambda found: len(found) >= FEWEST))
def test_turned_around_a_gain_is_a_loss(found) -> None:  # type: ignore[no-untyped-def]
    turned = {"confirmed": "slower", "slower": "confirmed"}
    one = judge(found).outcome
    assert judge([(b, a) for a, b in found]).outcome == turned.get(one, one)


@settings(max_examples=examples(10, 30))
@given(pairs.filter(len), st.floats(1e-3, 1e3))
def test_units_change_no_verdict(found, unit) -> None:  # type: ignore[no-untyped-def]
    one, other = judge(found), judge([(a * unit, b * unit) for a, b in found])
    assert one.outcome == other.outcome
    assert math.isclose(one.change.value or 0, other.change.value or 0, rel_tol=1e-6, abs_tol=1e-9)


points = st.lists(st.tuples(st.integers(1, 20), times, times), min_size=1, max_size=20)


@settings(max_examples=examples(10, 30))
@given(points)
def test_nothing_on_a_front_is_beaten_and_all_else_is(found) -> None:  # type: ignore[no-untyped-def]
    seen = [
        Observation({"spark.number.0": str(name)}, FULL, 0, a, a, metrics={"m": b})
        for name, a, b in found
    ]
    both = front(seen, "m")
    assert any(one.on_front for one in both)
    for one in both:
        beaten = any(
            two.value.value <= one.value.value
            and two.other.value <= one.other.value
            and (two.value.value, two.other.value) != (one.value.value, one.other.value)
            for two in both
        )
        assert one.on_front != beaten


@settings(max_examples=examples(6, 12))
@given(st.integers(0, 10_000), st.integers(8, 30))
def test_shares_are_shares_and_the_shortest_is_a_part(seed, trials) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    seen = [
        Observation(draw(SPACE, rng) if at else {}, FULL, at // 5, float(rng.lognormal(20, 0.2)), 1)
        for at in range(trials)
    ]
    rows = History(seen).trials(SPACE)
    assert rows is not None
    surrogate = Surrogate(columns(SPACE), rows, [False] * len(SPACE.knobs))
    found = anova(SPACE, surrogate)
    for one in (*found.knobs, *found.pairs):
        assert 0 <= one.share.low <= one.share.value <= one.share.high <= 1 + 1e-9  # type: ignore[operator]
    total = sum(one.share.value or 0 for one in (*found.knobs, *found.pairs))
    assert 0.5 < total < 1.2
    incumbent = draw(SPACE, rng)
    short = shortest(SPACE, surrogate, incumbent)
    assert short.configuration.items() <= incumbent.items()
    put_back = {one.factor: one.level for one in short.put_back}
    assert {**short.configuration, **put_back} == incumbent
    assert infeasible(SPACE, short.configuration) is None
    assert (short.loss.value or 0) <= 0.01 + 1e-12
