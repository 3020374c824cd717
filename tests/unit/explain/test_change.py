"""Edits of a plan: what they take, what they keep, and that they compose."""

from __future__ import annotations

import numpy as np
import pytest

from pyrometer.explain.change import (
    Apart,
    Even,
    Less,
    LessGap,
    Recount,
    Slots,
    Sooner,
    State,
    concerned,
)
from pyrometer.explain.divided import Divided


def state(*stages: list[float], gaps: tuple[float, ...] = ()) -> State:
    first = [0, *np.cumsum([len(one) for one in stages]).tolist()]
    durations = np.array([time for one in stages for time in one], dtype=np.float64)
    nodes = max(len(stages), len(gaps))
    return State(first, durations, np.array(gaps or (0.0,) * nodes), np.ones(nodes))


def test_time_is_taken_from_the_tasks_of_its_stage_alone() -> None:
    plan = state([10, 20], [30])
    Less("gc", {0: np.array([1.0, 5.0])}).apply(plan, 1.0)
    assert plan.duration_ns.tolist() == [9, 15, 30]


def test_half_of_a_change_takes_half_of_the_time() -> None:
    plan = state([10, 20])
    Less("gc", {0: 0.5}).apply(plan, 0.5)
    assert plan.duration_ns.tolist() == [7.5, 15]


def test_the_same_time_is_taken_once_whoever_takes_it() -> None:
    plan = state([10, 20])
    Less("gc", {0: np.array([4.0, 4.0])}).apply(plan, 1.0)
    Less("gc", {0: np.array([3.0, 6.0])}).apply(plan, 1.0)
    assert plan.duration_ns.tolist() == [6, 14]


def test_times_of_different_kinds_add_up_but_never_below_nothing() -> None:
    plan = state([10])
    Less("gc", {0: np.array([8.0])}).apply(plan, 1.0)
    Less("spill", {0: np.array([8.0])}).apply(plan, 1.0)
    assert plan.duration_ns.tolist() == [0]


@pytest.mark.parametrize("first", [0, 1])
def test_what_is_taken_from_a_divided_task_is_taken_from_its_work(first: int) -> None:
    plan = state([100, 100], [30])
    edits = (Divided({0: np.array([0.875, 0.0])}), Less("gc", {0: np.array([10.0, 10.0])}))
    for edit in (edits[first], edits[1 - first]):
        edit.apply(plan, 1.0)
    # Eight slots share what is left of the first task, and eight eighths of 10 are saved.
    assert plan.duration_ns.tolist() == [90 / 8, 90, 30]
    assert 230 - plan.duration_ns.sum() + plan.core_ns == pytest.approx(20)


def test_the_same_time_of_a_divided_task_is_taken_once() -> None:
    plan = state([100])
    for edit in (
        Less("gc", {0: np.array([10.0])}), Divided({0: 0.75}), Less("gc", {0: np.array([20.0])})
    ):  # fmt: skip
        edit.apply(plan, 1.0)
    assert plan.duration_ns.tolist() == [80 / 4]


def test_of_two_that_divide_a_task_the_one_that_goes_further_counts() -> None:
    plan = state([100])
    for share in (0.5, 0.75, 0.5):
        Divided({0: share}).apply(plan, 1.0)
    assert plan.duration_ns.tolist() == [25]
    assert 100 - plan.duration_ns.sum() + plan.core_ns == 0


def test_unknown_time_takes_nothing() -> None:
    plan = state([10, 20])
    Less("gc", {0: np.array([np.nan, 5.0])}).apply(plan, 1.0)
    assert plan.duration_ns.tolist() == [10, 15]


def test_skew_keeps_the_work_and_stragglers_lose_theirs() -> None:
    skewed, slow = state([10, 10, 40]), state([10, 10, 40])
    Even([0]).apply(skewed, 1.0)
    Even([0], conserved=False).apply(slow, 1.0)
    assert skewed.duration_ns.tolist() == [20, 20, 20]
    assert slow.duration_ns.tolist() == [10, 10, 10]


def test_work_that_is_spread_fills_whole_rounds() -> None:
    plan = state([5, 10, 45])
    Even([0], onto=2).apply(plan, 1.0)
    assert plan.duration_ns.tolist() == [0, 30, 30]


def test_a_key_stays_in_one_task_and_the_others_are_spread() -> None:
    plan = state([5, 10, 45])
    Apart(0, 30.0).apply(plan, 1.0)
    assert plan.duration_ns.tolist() == [15, 15, 30]


def test_work_that_cannot_be_spread_stays_whole() -> None:
    plan = state([10, 10, 40])
    Even([0], keeps=30.0).apply(plan, 1.0)
    assert plan.duration_ns.max() == 30


def test_fewer_tasks_save_what_each_costs() -> None:
    plan = state([10.0] * 100)
    Recount({0: 0.1}, per_task_ns=2.0).apply(plan, 1.0)
    assert plan.tasks_ratio[0] == pytest.approx(0.1)
    assert plan.duration_ns.sum() == pytest.approx(1000 - 90 * 2)


def test_more_tasks_pay_for_it() -> None:
    plan = state([10.0])
    Recount({0: 4}, per_task_ns=1.0).apply(plan, 1.0)
    assert plan.duration_ns.tolist() == [13]


def test_of_two_remedies_for_too_many_tasks_the_one_that_goes_further_counts() -> None:
    plan = state([10.0] * 100)
    Recount({0: 0.1}, per_task_ns=2.0).apply(plan, 1.0)
    Recount({0: 0.5}, per_task_ns=1.0).apply(plan, 1.0)
    assert plan.tasks_ratio[0] == pytest.approx(0.1)
    assert plan.duration_ns.sum() == pytest.approx(1000 - 90 * 2)
    Recount({0: 0.05}, per_task_ns=2.0).apply(plan, 1.0)
    assert plan.tasks_ratio[0] == pytest.approx(0.05)
    assert plan.duration_ns.sum() == pytest.approx(1000 - 95 * 2)


def test_gaps_shrink_to_nothing_at_most() -> None:
    plan = state([1], [1], gaps=(5.0, 7.0))
    LessGap({0: 3.0, 1: 100.0}).apply(plan, 1.0)
    assert plan.gap_ns.tolist() == [2, 0]


def test_slots_and_start_up_are_ratios() -> None:
    plan = state([1])
    Slots(2.0).apply(plan, 0.5)
    Sooner(0.8).apply(plan, 0.5)
    assert plan.slots_ratio == pytest.approx(1.5)
    assert plan.startup_ratio == pytest.approx(0.6)


def test_a_change_concerns_the_stages_of_all_its_edits() -> None:
    assert concerned((Less("gc", {3: 0.1}), Even([5]), Slots(2))) == {3, 5}
