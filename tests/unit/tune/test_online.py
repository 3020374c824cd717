"""The policy of recurring jobs: careful steps, the promise, roll-back, who is at fault."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.support.tuning import PARTITIONS, SPACE

from pyrometer.tune.online.fit import fitted
from pyrometer.tune.online.policy import WAIT, Policy
from pyrometer.tune.online.terms import OnlineRun, Terms
from pyrometer.tune.space.cube import key
from pyrometer.tune.space.space import Knob, Space

TERMS = Terms(risk=0.1, runs=30, limit=1.5)
TWO = Space("two", SPACE.knobs[:2])
Truth = Callable[[Mapping[str, str], int], float]
"""Time of a configuration at a run; beyond a limit it is given up; infinite: it fails."""


def _ratio(levels: Mapping[str, str]) -> float:
    """Few partitions are good, below 20 they are bad; the other collector gains a little."""
    partitions = int(levels.get(PARTITIONS, "200"))
    apart = 0.12 * (math.log(partitions / 60)) ** 2 + (2.0 if partitions < 20 else 0.0)
    base = 0.12 * (math.log(200 / 60)) ** 2
    return (1 + apart - base) * (0.97 if levels.get("jvm.gc") == "parallel" else 1.0)


class Course:
    """Scheduled runs of a simulated job; what they cost in truth."""

    def __init__(
        self, truth: Truth, seed: int, runs: int, noise: float = 0.03, space: Space = TWO,
        terms: Terms = TERMS,
    ) -> None:  # fmt: skip
        self.policy = Policy(space, terms, seed=seed)
        self.decisions: list[Any] = []
        self.worst = -math.inf
        self.spent = 0.0
        rng = random.Random(seed)
        for at in range(runs):
            base = truth({}, at)
            move = self.policy.next()
            told = self._run(move.configuration, move.limit, truth, at, rng, noise)
            self.decisions += self.policy.tell(told)
            if not told.counts:
                self.spent += (told.lost or told.value or 0.0) / base
                told = self._run({}, None, truth, at, rng, noise)
                self.decisions += self.policy.tell(told)
            # What the noise of a run adds is nobody's fault: the truth of it counts.
            self.spent += truth(told.configuration, at) / base
            over = self.spent - (at + 1) - terms.allowed(at + 1)
            self.worst = max(self.worst, over)

    @staticmethod
    def _run(
        levels: Mapping[str, str], limit: float | None, truth: Truth, at: int,
        rng: random.Random, noise: float,
    ) -> OnlineRun:  # fmt: skip
        value = truth(levels, at) * math.exp(rng.gauss(0, noise))
        if math.isinf(value):
            return OnlineRun(levels, None, failed="exit code 1", lost=0.4)
        if limit is not None and value > limit:
            return OnlineRun(levels, limit, given_up=True)
        return OnlineRun(levels, value)


def _job(levels: Mapping[str, str], at: int) -> float:
    return _ratio(levels)


def _growing(levels: Mapping[str, str], at: int) -> float:
    """Data that grow by a third of a percent a run."""
    return _ratio(levels) * math.exp(0.003 * at)


def _useless(levels: Mapping[str, str], at: int) -> float:
    """Every change makes it a third slower, the half of them fails."""
    if not levels:
        return 1.0
    return math.inf if len(key(levels)) % 2 else 1.33


def _broken_later(levels: Mapping[str, str], at: int) -> float:
    """What was good is bad from the 40th run on."""
    return _ratio(levels) if at < 40 or not levels else 1.3


@pytest.mark.slow
@pytest.mark.parametrize("truth", [_job, _growing, _useless, _broken_later])
def test_the_promise_holds(truth: Truth) -> None:
    """Of 200 recurring jobs of 70 runs no more than one in twenty costs more than promised."""
    broken = sum(Course(truth, seed, 70).worst > 0 for seed in range(200))
    assert broken <= 10


@pytest.mark.parametrize("truth", [_job, _useless, _broken_later])
def test_the_promise_holds_in_a_few(truth: Truth) -> None:
    assert all(Course(truth, seed, 40).worst <= 0 for seed in range(300, 303))


def test_it_gets_better_run_by_run() -> None:
    found = [Course(_job, seed, 120) for seed in range(4)]
    assert all(_ratio(one.policy.incumbent) < 0.92 for one in found)
    # All runs, careful steps included, took less than as the job is.
    assert all(one.spent < 120 for one in found)
    assert any(one.what == "adopted" for one in found[0].decisions)


def test_drift_is_neither_gain_nor_loss() -> None:
    growing = [Course(_growing, seed, 120) for seed in range(4)]
    assert sum(one.what == "rolled back" for course in growing for one in course.decisions) == 0
    assert all(_ratio(one.policy.incumbent) < 0.95 for one in growing)


def test_a_regression_is_rolled_back_and_not_tried_again() -> None:
    course = Course(_broken_later, 1, 80)
    back = [one for one in course.decisions if one.what == "rolled back"]
    assert back
    assert key(back[0].configuration) in course.policy.barred
    later = course.decisions[course.decisions.index(back[0]) + 1 :]
    assert all(key(one.configuration) != key(back[0].configuration) for one in later)
    assert course.policy.incumbent == {}


def _with_an_incumbent() -> tuple[Policy, dict[str, str]]:
    policy = Policy(TWO, TERMS)
    good = {PARTITIONS: "60"}
    for _ in range(TERMS.first):
        policy.tell(OnlineRun({}, 1.0))
    for _ in range(TERMS.first):
        policy.tell(OnlineRun(good, 0.8))
    assert policy.incumbent == good
    return policy, good


@pytest.mark.parametrize(
    ("night", "as_it_is", "kept"),
    [
        (OnlineRun({}, None, failed="no input"), OnlineRun({}, None, failed="no input"), True),
        (OnlineRun({}, None, failed="killed"), OnlineRun({}, 1.0), False),
        (OnlineRun({}, 1.5, given_up=True), OnlineRun({}, 2.0), True),
        (OnlineRun({}, 1.5, given_up=True), OnlineRun({}, 1.02), False),
    ],
)
def test_a_bad_night_is_not_the_fault_of_what_ran_in_it(
    night: OnlineRun, as_it_is: OnlineRun, kept: bool
) -> None:
    """Without input, or with twice the data, the job as it is does no better."""
    policy, good = _with_an_incumbent()
    before = policy.excess
    (back,) = policy.tell(replace(night, configuration=good))
    assert (back.what, policy.incumbent) == ("rolled back", {})
    again = policy.tell(as_it_is)
    assert [one.what for one in again] == ["adopted"] * kept
    assert policy.incumbent == (good if kept else {})
    assert (key(good) in policy.barred) is not kept
    # Either way the loss counts.
    assert policy.excess >= before + 1.5
    # What comes later says nothing of that night.
    assert policy.tell(OnlineRun({}, None, failed="no input")) == []


def _at_a_step(runs: int = 0) -> tuple[Policy, Mapping[str, str]]:
    policy = Policy(TWO, replace(TERMS, risk=0.2))
    for _ in range(TERMS.first):
        policy.tell(OnlineRun({}, 1.0, result="9 aa"))
    found = policy.next().configuration
    for _ in range(runs):
        policy.tell(OnlineRun(found, 0.99))
    assert policy.next().configuration == found
    return policy, found


@pytest.mark.parametrize(
    ("night", "as_it_is", "kept"),
    [
        (OnlineRun({}, None, failed="no input"), OnlineRun({}, None, failed="no input"), True),
        (OnlineRun({}, None, failed="no input"), OnlineRun({}, 1.0), False),
        (OnlineRun({}, 1.5, given_up=True), OnlineRun({}, 2.0), True),
        (OnlineRun({}, 1.5, given_up=True), OnlineRun({}, 1.02), False),
        (
            OnlineRun({}, None, failed="another result", differs=True, result="9 bb"),
            OnlineRun({}, 1.0, result="9 bb"),
            True,
        ),
        (
            OnlineRun({}, None, failed="another result", differs=True, result="9 bb"),
            OnlineRun({}, 1.0, result="9 aa"),
            False,
        ),
        (
            # Other data, and a step that changes the result of these, too.
            OnlineRun({}, None, failed="another result", differs=True, result="9 bb"),
            OnlineRun({}, 1.0, result="9 cc"),
            False,
        ),
        # That both ended with the same result says nothing of what failed.
        (OnlineRun({}, None, failed="no", result="1 x"), OnlineRun({}, 1.0, result="1 x"), False),
    ],
)  # fmt: skip
def test_a_step_is_not_barred_for_a_bad_night_or_for_other_data(
    night: OnlineRun, as_it_is: OnlineRun, kept: bool
) -> None:
    policy, found = _at_a_step(runs=1)
    before = policy.excess
    (barred,) = policy.tell(replace(night, configuration=found))
    assert barred.what == "barred"
    again = policy.tell(as_it_is)
    assert [one.what for one in again] == ["not counted"] * kept
    assert (key(found) in policy.barred) is not kept
    assert policy.excess > before
    if kept:
        if not as_it_is.counts:
            assert policy.next().configuration == {}
            policy.tell(OnlineRun({}, 1.0))
        # The look was none.
        assert policy.next().configuration == found
        assert policy.next().why == "look 2 of 5"


KILLED = OnlineRun({}, None, failed="failed: SIGKILL", lost=0.8, void=True)


@pytest.mark.parametrize("incumbent", [True, False])
def test_a_kill_from_outside_says_nothing_unless_it_repeats(incumbent: bool) -> None:
    policy, found = _with_an_incumbent() if incumbent else _at_a_step()
    killed, before = replace(KILLED, configuration=found), policy.excess
    for _ in range(2):
        (aside,) = policy.tell(killed)
        assert aside.what == "not counted"
        assert "SIGKILL" in aside.why
        policy.tell(OnlineRun({}, 1.0))
        assert key(found) not in policy.barred
        assert policy.incumbent == (found if incumbent else {})
        assert policy.excess == before
        # A whole run shows that it was not the configuration.
        policy.tell(OnlineRun(found, 0.8 if incumbent else 0.99))
        before = policy.excess
    policy.tell(killed)
    policy.tell(OnlineRun({}, 1.0))
    (judged,) = policy.tell(killed)
    assert judged.what == ("rolled back" if incumbent else "barred")
    assert key(found) in policy.barred
    # Both of them have cost something.
    assert policy.excess == pytest.approx(before + 1.6, abs=0.2)


def test_what_is_killed_every_other_night_is_forgiven_once() -> None:
    """Else it would cost any amount without ever breaking the promise."""
    policy, good = _with_an_incumbent()
    lost = []
    for _ in range(3):
        before = policy.excess
        policy.tell(replace(KILLED, configuration=good))
        policy.tell(OnlineRun({}, 1.0))
        policy.tell(OnlineRun(good, 1.0))
        lost.append(policy.excess - before)
    assert lost[0] == pytest.approx(0.0, abs=0.1)
    assert lost[1:] == pytest.approx([0.8, 0.8], abs=0.1)


@pytest.mark.parametrize("again", [False, True])
def test_what_takes_the_job_as_it_is_with_it_is_not_tried_before_that_gets_through(
    again: bool,
) -> None:
    """Else a step that fills a disk would cost every night."""
    policy, found = _at_a_step()
    policy.tell(replace(KILLED, configuration=found))
    for _ in range(2):
        policy.tell(replace(KILLED, configuration={}))
        assert policy.next().configuration == {}
    policy.tell(OnlineRun({}, 1.0))
    assert policy.next().configuration == found
    night = replace(KILLED if again else OnlineRun({}, 1.0), configuration=found)
    assert [one.what for one in policy.tell(night)] == ["barred"] * again
    assert policy.excess == pytest.approx(1.6 if again else 0.0, abs=0.2)


def test_an_incumbent_is_not_lost_to_nights_that_nothing_gets_through() -> None:
    policy, good = _with_an_incumbent()
    before = policy.excess
    for _ in range(2):
        policy.tell(replace(KILLED, configuration=good))
        for _ in range(WAIT + 1):
            assert policy.next().configuration == {}
            policy.tell(replace(KILLED, configuration={}))
        assert policy.next().configuration != {}
    assert policy.incumbent == good
    assert policy.excess == before


def test_the_incumbent_stays_known_while_others_are_tried_for_long() -> None:
    policy, good = _with_an_incumbent()
    for at in range(150):
        if at % TERMS.control == 0:
            policy.tell(OnlineRun({}, 1.0))
        # Better than the job as it is, and worse than the incumbent.
        policy.tell(OnlineRun({PARTITIONS: str(100 + at)}, 0.9))
    assert policy.incumbent == good
    change = policy.change()
    assert change is not None
    assert math.expm1(change[0]) == pytest.approx(-0.2, abs=0.02)


def test_room_is_kept_for_what_was_set_aside() -> None:
    """A configuration that kills whatever is near it is no reason to break the promise."""
    policy, found = _at_a_step()
    spent = 0.0
    for _ in range(12):
        move = policy.next()
        if not move.configuration:
            policy.tell(OnlineRun({}, 1.0))
            continue
        spent += move.limit or 0.0
        lost = move.limit
        policy.tell(replace(KILLED, configuration=move.configuration, lost=lost))
        policy.tell(OnlineRun({}, 1.0))
        assert spent <= policy.allowed
    assert "time lost" in policy.next().why
    assert key(found) in policy.barred


def test_where_nothing_helps_the_job_stays_as_it_is() -> None:
    course = Course(_useless, 2, 60)
    assert course.policy.incumbent == {}
    assert {one.what for one in course.decisions} <= {"barred", "rejected"}


def test_nothing_is_tried_before_the_job_is_known_nor_without_room_for_the_worst() -> None:
    policy = Policy(TWO, TERMS)
    for _ in range(TERMS.first):
        assert policy.next().role == "first"
        policy.tell(OnlineRun({}, 1.0))
    move = policy.next()
    assert move.role == "step"
    assert move == policy.next()
    # Two steps that come to nothing at the limit are all that 10 % of 30 runs have room for.
    for _ in range(2):
        move = policy.next()
        assert move.configuration
        policy.tell(OnlineRun(move.configuration, move.limit, given_up=True))
        policy.tell(OnlineRun({}, 1.0))
    assert policy.excess <= policy.allowed
    move = policy.next()
    assert (move.role, move.configuration) == ("control", {})
    assert "no room for a loss" in move.why


def test_steps_are_careful_one_knob_at_a_time_and_go_on_where_it_helped() -> None:
    course = Course(_job, 3, 100)
    adopted = [one.configuration for one in course.decisions if one.what == "adopted"]
    before: Mapping[str, str] = {}
    for one in adopted:
        differs = {name for name in one.keys() | before.keys() if one.get(name) != before.get(name)}
        assert len(differs) == 1
        before = one


def test_ideas_of_findings_are_the_first_steps() -> None:
    policy = Policy(TWO, TERMS, ideas=[{PARTITIONS: "64"}])
    for _ in range(TERMS.first):
        policy.tell(OnlineRun({}, 1.0))
    assert (policy.next().configuration, policy.next().why) == (
        {PARTITIONS: "64"},
        "a finding's remedy",
    )


def test_a_trend_is_told_from_a_difference() -> None:
    rng = random.Random(4)
    names = ["a" if at >= 10 and at % 4 else "" for at in range(60)]
    logs = [0.01 * at - 0.1 * (name == "a") + rng.gauss(0, 0.02) for at, name in enumerate(names)]
    effect, error = fitted(range(60), names, logs).difference("a", "")
    assert effect == pytest.approx(-0.1, abs=0.03)
    assert 0 < error < 0.02


def test_a_space_of_choices_only_has_steps_too() -> None:
    space = Space("one", (Knob("jvm.gc", "choice", levels=("g1", "parallel"), default="g1"),))
    course = Course(lambda levels, at: 0.8 if levels else 1.0, 1, 40, space=space)
    assert course.policy.incumbent == {"jvm.gc": "parallel"}
