"""Our engine: what it asks for, that it can go on after a kill, and what it finds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.tune.response import Shown
from benchmarks.tune.surfaces import CHEAP, Surface, space, surfaces

from pyrometer.tune.advise.adviser import FULL, Adviser, Observation, Suggestion
from pyrometer.tune.advise.engines import ENGINES, engine, only
from pyrometer.tune.advise.history import History
from pyrometer.tune.advise.own import FIRST_LIMIT, LIMIT, Own
from pyrometer.tune.space.cube import decode, encode, key
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.named import named_space
from pyrometer.tune.space.space import Space

SMALL = space(4, 1)


def _effect(places: dict[str, float]) -> float:
    return 1.2 * (places["spark.number.1"] - 0.8) ** 2 - 0.1 * (places["spark.choice.0"] > 0.7)


def test_what_was_not_launched_for_a_reason_that_passes_is_neither_slow_nor_tried() -> None:
    levels = decode(SMALL, [0.9] * len(SMALL.knobs))
    seen = [Observation({}, FULL, 0, 1e9, 1e9)]
    seen.append(Observation(levels, FULL, 0, None, 0.0, failed="not launched", void=True))
    history = History(seen)
    assert (history.known(), history.failed()) == ({""}, set())
    trials = history.trials(SMALL)
    assert trials is not None
    assert len(trials.values) == 1
    assert history.asked() == {"", key(levels)}


def _job(**changes: object) -> Surface:
    return replace(Surface("small", SMALL, _effect), **changes)  # type: ignore[arg-type]


def _run(job: Surface, asked: Suggestion, at: int) -> Observation:
    rng = np.random.default_rng([at, 5])
    shown = job.show(asked.configuration, asked.fidelity, 0.0, rng)
    value, censored = shown.value, False
    if value is not None and asked.limit is not None and value > asked.limit:
        value, censored = asked.limit, True
    return Observation(
        asked.configuration, asked.fidelity, asked.block, value, shown.cost, censored, shown.failed
    )


def _tuned(
    job: Surface, adviser: Adviser, trials: int, seen: list[Observation] | None = None
) -> list[Suggestion]:
    asked = []
    for at in range(trials):
        one = adviser.ask()
        if one is None:
            break
        asked.append(one)
        told = _run(job, one, at if seen is None else len(seen))
        adviser.tell(told)
        if seen is not None:
            seen.append(told)
    return asked


def test_each_block_has_the_baseline_and_later_ones_the_incumbent() -> None:
    adviser = Own(SMALL, seed=1, budget=20)
    asked = _tuned(_job(), adviser, 18)
    blocks: dict[int, list[Suggestion]] = {}
    for one in asked:
        blocks.setdefault(one.block, []).append(one)
    assert list(blocks) == [0, 1, 2]
    for number, trials in blocks.items():
        assert sum(not one.configuration for one in trials) == 1
        assert any("incumbent again" in one.why for one in trials) == (number > 0)
    assert asked[0].configuration == {}
    names = [key(one.configuration) for one in asked if one.why.startswith("expected gain")]
    assert len(names) == len(set(names)) > 0


def test_it_finds_what_matters() -> None:
    job = _job()
    adviser = Own(SMALL, seed=2, budget=20)
    _tuned(job, adviser, 24)
    found = adviser.best()
    assert found is not None
    best, base = job.best_known(), job.truth({})
    assert base is not None
    truth = job.truth(found.configuration)
    assert truth is not None
    assert math.log(base / truth) > 0.8 * math.log(base / best)
    value, low, high = found.change
    assert low < value < high < 0
    assert low - 0.03 < truth / base - 1 < high + 0.03


def test_told_the_same_an_engine_made_anew_goes_on_with_the_same_trials() -> None:
    job, seen = _job(), list[Observation]()
    whole = _tuned(job, Own(SMALL, seed=3, budget=20), 13, seen)
    for cut in (1, 4, 8):
        again = Own(SMALL, seed=3, budget=20)
        for one in seen[:cut]:
            again.tell(one)
        rest = _tuned(job, again, 13 - cut, seen[:cut])
        assert rest == whole[cut:]


def test_what_was_asked_and_not_told_is_asked_again_by_the_next_process() -> None:
    first = Own(SMALL, seed=4)
    lost = first.ask()
    assert first.ask() != lost
    assert Own(SMALL, seed=4).ask() == lost


def test_the_seed_decides() -> None:
    one, other = (_tuned(_job(), Own(SMALL, seed=seed), 8) for seed in (5, 6))
    assert one != other


def test_trials_are_stopped_by_the_baseline_and_then_by_the_incumbent() -> None:
    adviser = Own(SMALL, seed=7, budget=20)
    seen: list[Observation] = []
    asked = _tuned(_job(noise=0.001, block_noise=0.0, outliers=0.0), adviser, 11, seen)
    baseline = seen[0].value
    assert baseline is not None
    assert asked[0].limit is None
    assert all(one.limit == pytest.approx(FIRST_LIMIT * baseline) for one in asked[1:5])
    fresh = [one for one in asked if one.why.startswith("expected gain")]
    assert fresh
    assert all((one.limit or 0) < LIMIT * baseline for one in fresh)
    untimed = Own(SMALL, seed=7, budget=20, timed=False)
    assert all(one.limit is None for one in _tuned(_job(), untimed, 9))


def test_a_censored_trial_is_worse_than_its_limit_and_is_never_the_best() -> None:
    adviser = Own(SMALL, seed=8)
    adviser.tell(Observation({}, FULL, 0, 10e9, 10e9))
    slow = {"spark.number.1": "1"}
    adviser.tell(Observation(slow, FULL, 0, 9e9, 9e9, censored=True))
    found = adviser.best()
    assert found is not None
    assert found.configuration == {}
    assert found.change == (0.0, 0.0, 0.0)


def test_what_failed_once_is_neither_best_nor_tried_again() -> None:
    adviser = Own(SMALL, seed=9)
    wrong = {"spark.number.1": "500"}
    adviser.tell(Observation({}, FULL, 0, 10e9, 10e9))
    adviser.tell(Observation(wrong, FULL, 0, 5e9, 5e9))
    adviser.tell(Observation(wrong, FULL, 0, None, 5e9, failed="another result"))
    found = adviser.best()
    assert found is not None
    assert found.configuration != wrong
    later = _tuned(_job(), adviser, 16)
    assert key(wrong) not in {key(one.configuration) for one in later if one.block > 0}


def test_nothing_is_asked_where_nothing_is_worth_its_cost() -> None:
    quiet = Surface("nothing", SMALL, lambda _: 0.0, noise=0.002, block_noise=0.002, outliers=0.0)
    patient, hasty = (Own(SMALL, seed=10, budget=20, runs=runs) for runs in (1e6, 30.0))
    assert len(_tuned(quiet, hasty, 60)) < 60
    assert hasty.ask() is None
    assert len(_tuned(quiet, patient, 24)) == 24


def test_ideas_come_first() -> None:
    idea = {"spark.number.3": "500"}
    asked = _tuned(_job(), Own(SMALL, seed=11, ideas=[idea]), 6)
    assert idea in [one.configuration for one in asked]


def test_screening_drops_inert_knobs_with_evidence() -> None:
    job = surfaces()["sparse-cheap"]
    adviser = Own(job.space, seed=12, budget=25, fidelities=CHEAP)
    asked = _tuned(job, adviser, 16)
    assert {one.fidelity for one in asked} == {"part"}
    found = {one.factor: one for one in adviser.screened()}
    assert set(found) == {one.factor for one in job.space.knobs}
    assert not found["spark.number.4"].inert or not found["spark.number.1"].inert
    inert = [name for name, one in found.items() if one.inert]
    assert len(inert) >= 3
    assert not set(inert) & {"spark.choice.0", "spark.choice.1"}
    for name in inert:
        estimate = found[name].effect
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low <= (estimate.value or 0) <= estimate.high
    later = _tuned(job, adviser, 12)
    fresh = [one for one in later if one.why.startswith("expected gain")]
    assert fresh
    assert all(not set(one.configuration) & set(inert) for one in fresh)


def test_how_well_a_stand_in_ranks_is_told() -> None:
    adviser = Own(SMALL, seed=13, fidelities={"part": 0.2})
    (before,) = adviser.fidelities()
    assert before.correlation.value is None
    for at in range(8):
        levels = {"spark.number.0": str(20 + at)}
        adviser.tell(Observation(levels, FULL, 0, 10e9 + at * 1e9, 1.0))
        adviser.tell(Observation(levels, "part", 0, 1e9 + at * 1e8, 1.0))
    (after,) = adviser.fidelities()
    assert after.correlation.value == 1.0
    assert after.correlation.n == 8
    assert after.share == 0.2


class Misleading(Surface):
    """A job whose stand-in likes what the job does not."""

    def show(self, configuration, fidelity, block, rng):  # type: ignore[no-untyped-def]
        shown = super().show(configuration, FULL, block, rng)
        if fidelity == FULL or shown.value is None:
            return shown
        base = self.truth({})
        assert base is not None
        value = 0.1 * base * base / shown.value
        return Shown(value, value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Surface, Misleading])
def test_a_stand_in_that_misleads_is_dropped_and_does_no_harm(kind: type[Surface]) -> None:
    job = kind("cheap", SMALL, _effect, outliers=0.0, fidelities={"part": 0.1}, correlation=0.98)
    adviser = Own(SMALL, seed=19, budget=17)
    adviser.tell(_run(job, Suggestion({}), 0))
    adviser.offer("part", 0.1)
    asked = _tuned(job, adviser, 34)
    (rank,) = adviser.fidelities()
    last = [one.fidelity for one in asked[-8:]]
    best = adviser.best()
    base = job.truth({})
    assert best is not None
    assert base is not None
    truth = job.truth(best.configuration)
    assert truth is not None
    assert math.log(base / truth) > 0.75 * math.log(base / job.best_known())
    assert (rank.correlation.n or 0) >= 5
    if kind is Misleading:
        assert rank.misleads is not None
        assert rank.misleads.startswith("it ranks ")
        assert set(last) == {FULL}
    else:
        assert rank.misleads is None
        assert (rank.correlation.value or 0) > 0.5


def test_a_stand_in_that_is_offered_later_is_told_the_same_way_by_the_next_process() -> None:
    job = _job(fidelities={"part": 0.1})

    def begun(seen: list[Observation]) -> tuple[Own, list[Suggestion]]:
        adviser = Own(SMALL, seed=20, budget=17)
        asked = []
        for at in range(14):
            if at == 5:
                adviser.offer("part", 0.1)
            if at >= len(seen):
                one = adviser.ask()
                assert one is not None
                asked.append(one)
                seen.append(_run(job, one, at))
            adviser.tell(seen[at])
        return adviser, asked

    seen: list[Observation] = []
    _, whole = begun(seen)
    assert {one.fidelity for one in whole} == {FULL, "part"}
    for cut in (3, 7, 11):
        _, rest = begun(seen[:cut])
        assert rest == whole[cut:]


def test_what_lost_the_race_at_a_stand_in_is_not_promoted() -> None:
    from pyrometer.tune.advise.stand_ins import StandIns
    from pyrometer.tune.advise.surrogate import Surrogate
    from pyrometer.tune.space.cube import columns

    cheap = StandIns()
    cheap.offer("part", 0.1, late=False)
    adviser = Own(SMALL, seed=21)
    slow, good = {"spark.number.1": "2"}, {"spark.number.1": "300"}
    for block in range(6):
        for one, value in (({}, 1.0), (slow, 1.9), (good, 0.9)):
            adviser.tell(Observation(one, "part", block, value * 1e9, 1.0))
        adviser.tell(Observation({}, FULL, block, 9e9, 1.0))
    history = adviser._history
    trials = history.trials(SMALL)
    assert trials is not None
    found = Surrogate(columns(SMALL), trials, [False] * len(SMALL.knobs))
    assert list(cheap.promoted(SMALL, found, history, {})) == [key(good)]


def test_suggestions_that_are_wrong_are_overcome() -> None:
    """Findings may name what makes the job slower: three of them do."""
    job = _job()
    ideas = [{"spark.number.1": str(level)} for level in (1, 2, 3)]
    adviser = Own(SMALL, seed=22, budget=20, expected=["spark.number.0"])
    adviser.tell(_run(job, Suggestion({}), 0))
    adviser.hint([*ideas, {"nobody.knows": "1"}, {"spark.choice.0": "z"}])
    asked = _tuned(job, adviser, 22)
    first = [one.configuration for one in asked if one.block == 0]
    # They have half of the first block at most, what else experience would try has the rest.
    assert sum(one in ideas for one in first) == 3
    best, base = adviser.best(), job.truth({})
    assert best is not None
    assert base is not None
    assert all((job.truth(one) or 0) > base for one in ideas)
    truth = job.truth(best.configuration)
    assert truth is not None
    assert math.log(base / truth) > 0.75 * math.log(base / job.best_known())


@pytest.mark.slow
def test_what_a_stand_in_found_good_runs_in_full() -> None:
    job = surfaces()["sparse-cheap"]
    adviser = Own(job.space, seed=18, budget=25, fidelities=CHEAP)
    asked = _tuned(job, adviser, 70)
    cheap = {key(one.configuration) for one in asked if one.fidelity == "part"} - {""}
    full = {key(one.configuration) for one in asked if one.fidelity == FULL} - {""}
    later = [one for one in asked if one.fidelity == "part" and one.block > 0]
    assert later
    assert cheap & full


def _warm(known: bool) -> float:
    job, adviser = _job(), Own(SMALL, seed=14, budget=8)
    if known:
        rng = np.random.default_rng(1)
        for at in range(20):
            places = {"spark.number.1": str(int(rng.integers(1, 1000)))}
            point = dict(
                zip([one.factor for one in SMALL.knobs], encode(SMALL, places), strict=True)
            )
            # Another size of the same job, on another machine.
            value = 7e9 * math.exp(_effect(point) + rng.normal(0, 0.05))
            adviser.tell(Observation(places, FULL, -1 - at // 5, value, value))
    _tuned(job, adviser, 4)
    found = adviser.best()
    assert found is not None
    return job.truth(found.configuration) or math.inf


def test_earlier_work_warms_the_start() -> None:
    base = _job().truth({})
    assert base is not None
    assert math.log(base / _warm(True)) > 0.7 * math.log(base / _job().best_known())
    assert _warm(True) <= _warm(False)


@pytest.mark.slow
def test_whatever_it_is_told_it_asks_for_nothing_unsafe() -> None:
    host = {"mem_total": float(6 << 30), "cpus": 4.0}
    real = named_space("all", host, spark_version="4.0")
    adviser = Own(real, seed=15, budget=40)
    rng = np.random.default_rng(2)
    for _ in range(25):
        one = adviser.ask()
        assert one is not None
        assert infeasible(real, one.configuration) is None
        value = float(rng.lognormal(24, 0.5))
        failed = "died" if one.configuration and rng.random() < 0.2 else None
        adviser.tell(
            Observation(
                one.configuration, one.fidelity, one.block, None if failed else value, value,
                failed=failed,
            )
        )  # fmt: skip


@pytest.mark.parametrize("name", [one for one in ENGINES if one != "tpe"])
def test_every_engine_keeps_the_agreement(name: str) -> None:
    job = _job()
    three = ["spark.number.0", "spark.number.1", "spark.choice.0"]
    adviser = engine(name, SMALL, seed=16, three=three)
    assert adviser.best() is None
    first = adviser.ask()
    assert first is not None
    assert first.configuration == {}
    adviser.tell(_run(job, first, 0))
    asked = _tuned(job, adviser, 8)
    assert asked
    assert all(infeasible(SMALL, one.configuration) is None for one in asked)
    found = adviser.best()
    assert found is not None
    assert all(math.isfinite(one) for one in found.change)
    assert found.change[1] <= found.change[0] <= found.change[2]
    if name == "three-knobs":
        assert {n for one in asked for n in one.configuration} <= set(three)


def test_optuna_keeps_the_agreement() -> None:
    pytest.importorskip("optuna")
    job, adviser = _job(), engine("tpe", SMALL, seed=17)
    asked = _tuned(job, adviser, 14)
    assert len({key(one.configuration) for one in asked}) > 10
    again = engine("tpe", SMALL, seed=17)
    assert _tuned(job, again, 14) == asked


def test_a_space_without_the_three_knobs_is_refused_by_name() -> None:
    from pyrometer.core.errors import UsageError

    with pytest.raises(UsageError, match="has none of"):
        only(Space("mine", SMALL.knobs), ["jvm.heap"])
    with pytest.raises(UsageError, match="no engine 'tpee'") as error:
        engine("tpee", SMALL)
    assert error.value.remedy == "did you mean 'tpe'?"
