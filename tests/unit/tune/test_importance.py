"""Importance on surfaces of known truth: what matters, what depends on what, what can go."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.tune.surfaces import space
from tests.support.tuning import PARTITIONS, tuning

from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.advise.history import History
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.importance.anova import anova
from pyrometer.tune.importance.dependence import dependence
from pyrometer.tune.importance.front import front
from pyrometer.tune.importance.shortest import shortest
from pyrometer.tune.importance.slices import grid
from pyrometer.tune.judge.influence import influences
from pyrometer.tune.space.cube import columns, draw, encode
from pyrometer.tune.space.space import Space
from pyrometer.tune.trials import replay
from pyrometer.tune.trials.records import Asked, Told

SPACE = space(4, 1)
Effect = Callable[[np.ndarray], float]


def _seen(effect: Effect, trials: int = 60, noise: float = 0.02) -> list[Observation]:
    rng = np.random.default_rng(3)
    found = []
    for at in range(trials):
        levels = draw(SPACE, rng) if at % 6 else {}
        value = math.exp(effect(encode(SPACE, levels)) + rng.normal(0, noise)) * 1e9
        found.append(Observation(levels, FULL, at // 6, value, value))
    return found


def _fit(seen: list[Observation], where: Space = SPACE) -> Surrogate:
    trials = History(seen).trials(where)
    assert trials is not None
    return Surrogate(columns(where), trials, [False] * len(where.knobs))


def _sum(point: np.ndarray) -> float:
    return 0.5 * point[0] + 0.2 * point[2]


def test_shares_are_those_of_a_sum() -> None:
    seen = _seen(_sum)
    found = anova(SPACE, _fit(seen))
    shares = {one.factor: one.share for one in found.knobs}
    # Variances of the parts are as 25 to 4.
    first, third = shares["spark.number.0"], shares["spark.number.2"]
    assert first.low < 25 / 29 < first.high + 0.03  # type: ignore[operator]
    assert 0.05 < (third.value or 0) < 0.25
    assert [one.factor for one in found.knobs[:2]] == ["spark.number.0", "spark.number.2"]
    for name in ("spark.number.1", "spark.number.3", "spark.choice.0"):
        assert (shares[name].value or 0) < 0.05
    levels = [{"spark.number.0": one.text} for one in grid(SPACE.knobs[0])]
    places = [float(encode(SPACE, one)[0]) for one in levels]
    truth, effect = math.expm1(0.5 * (max(places) - min(places))), found.knobs[0].effect
    assert effect.low < truth < effect.high  # type: ignore[operator]


def test_knobs_that_depend_on_each_other_are_a_pair() -> None:
    def both(point: np.ndarray) -> float:
        return 1.5 * (point[0] - 0.5) * (point[1] - 0.5)

    found = anova(SPACE, _fit(_seen(both, 90)))
    assert set(found.pairs[0].factors) == {"spark.number.0", "spark.number.1"}
    assert (found.pairs[0].share.value or 0) > 0.4


def test_importance_needs_trials() -> None:
    found = anova(SPACE, _fit(_seen(_sum, 4)))
    assert (found.knobs, found.reason) == ([], "4 of at least 6 trials")


def test_what_does_nothing_is_put_back_and_what_matters_stays() -> None:
    surrogate = _fit(_seen(_sum))
    wanted = dict.fromkeys(("spark.number.0", "spark.number.1", "spark.number.3"), "2")
    found = shortest(SPACE, surrogate, wanted | {"spark.choice.0": "b"})
    assert found.configuration == {"spark.number.0": "2"}
    assert {one.factor for one in found.put_back} == {*wanted, "spark.choice.0"} - {
        "spark.number.0"
    }
    assert (found.loss.value or 0) <= 0.01
    assert (found.needed["spark.number.0"].low or 0) > 0.05


def test_nothing_is_put_back_where_nothing_was_changed() -> None:
    found = shortest(SPACE, _fit(_seen(_sum)), {})
    assert (found.configuration, found.put_back, found.sure) == ({}, [], True)


def test_dependence_follows_the_truth_and_holds_the_trials() -> None:
    seen = _seen(_sum)
    first = dependence(SPACE, _fit(seen), {"spark.number.2": "2"}, seen)[0]
    assert first.factor == "spark.number.0"
    assert len(first.trials) == len(seen)
    start = float(encode(SPACE, {})[0])
    held = [
        one.average.low <= math.expm1(0.5 * (one.place - start)) + 0.03  # type: ignore[operator]
        and one.average.high >= math.expm1(0.5 * (one.place - start)) - 0.03  # type: ignore[operator]
        for one in first.points
    ]
    assert all(held)
    beside = [one.beside.value for one in first.points]
    assert beside == sorted(beside)  # type: ignore[type-var]


def test_the_front_has_what_nothing_beats() -> None:
    def seen(name: str, value: float, memory: float) -> list[Observation]:
        return [
            Observation(
                {"spark.number.0": name}, FULL, at, value * wobble, 1.0,
                metrics={"peak_memory": memory * wobble},
            )
            for at, wobble in enumerate((0.99, 1.0, 1.01))
        ]  # fmt: skip

    found = front(
        [*seen("1", 10, 8), *seen("2", 20, 4), *seen("3", 30, 6), *seen("4", 10.01, 8.01)],
        "peak_memory",
    )
    levels = {one.configuration["spark.number.0"]: one for one in found}
    assert [name for name, one in levels.items() if one.on_front] == ["1", "2"]
    assert levels["2"].sure
    assert levels["3"].sure
    assert not levels["4"].sure
    assert front(seen("1", 10, 8), "core_ns") == []


@pytest.mark.parametrize(
    ("objective", "metrics"),
    [
        ("elapsed", ["core_seconds", "peak_memory"]),
        ("core-seconds", ["elapsed", "peak_memory"]),
        ("memory", ["elapsed", "core_seconds"]),
    ],
)
def test_no_front_is_of_the_objective_against_itself(objective: str, metrics: list[str]) -> None:
    shown = {"elapsed": 1.0, "core_seconds": 2.0, "peak_memory": 3e9}
    steps = [
        replay.Step(
            Asked(trial=at, configuration={PARTITIONS: str(at)}, fidelity=FULL, block=0, wall_ns=0),
            told=Told(trial=at, value=1e9 * at, cost=1e9, metrics=shown, wall_ns=0),
        )
        for at in (1, 2)
    ]
    found = influences(tuning(objective=objective), replay.History(steps))
    assert [one.metric for one in found.fronts] == metrics


@pytest.mark.parametrize("change", [{"failed": "died"}, {"censored": True}])
def test_what_did_not_finish_is_on_no_front(change: dict[str, object]) -> None:
    one = Observation({}, FULL, 0, 10.0, 10.0, metrics={"peak_memory": 1.0}, **change)  # type: ignore[arg-type]
    assert front([one], "peak_memory") == []
