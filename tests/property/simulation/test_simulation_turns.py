"""The law of taking turns, against the exact solution of a closed queue and against itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.simulation.contention import MOST_BACKGROUND, Turns, as_measured

CPUS = st.sampled_from([0.5, 1, 1.5, 2, 3, 8, 64])
SHARES = st.floats(0, 1)
TASKS = st.floats(1, 200)


def exact_slowdown(tasks: int, share: float, cpus: int) -> float:
    """Solve the birth-death chain of tasks that compute and wait, each exponentially long.

    Of ``k`` tasks that want a CPU, min(k, CPUs) are served; Little's law gives their time there.
    """
    wait = 1 / share - 1  # for each unit of CPU
    rates = [(tasks - k) / wait / min(k + 1, cpus) for k in range(tasks)]
    chance = np.cumprod([1.0, *rates])
    chance /= chance.sum()
    k = np.arange(tasks + 1)
    served = (chance * np.minimum(k, cpus)).sum()
    return float((chance * k).sum() / served)


@pytest.mark.parametrize("cpus", [1, 2, 4])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("tasks", [1, 2, 4, 6, 12])
def test_it_is_at_most_a_sixth_above_the_exact_solution(
    tasks: int, share: float, cpus: int
) -> None:
    expected = exact_slowdown(tasks, share, cpus)
    assert 0.99 * expected <= Turns(cpus, share).of_tasks(tasks) <= 1.17 * expected


@given(cpus=CPUS, share=SHARES, beside=st.floats(0, MOST_BACKGROUND), tasks=TASKS)
def test_more_tasks_and_fewer_cpus_never_make_it_faster(
    cpus: float, share: float, beside: float, tasks: float
) -> None:
    law = Turns(cpus, share, beside)
    slow = law.of_tasks(tasks)
    assert slow >= max(1.0, 1 / cpus) * (1 - 1e-9)
    assert law.of_tasks(tasks + 1) >= slow * (1 - 1e-6)
    assert Turns(cpus * 2, share, beside).of_tasks(tasks) <= slow * (1 + 1e-6)
    assert Turns(cpus, share, beside / 2).of_tasks(tasks) <= slow * (1 + 1e-6)


@given(cpus=CPUS, beside=st.dictionaries(st.integers(1, 64), st.floats(0.1, 10), min_size=1))
def test_tasks_that_never_wait_share_the_cpus_evenly(
    cpus: float, beside: dict[float, float]
) -> None:
    law = Turns(cpus)
    for tasks in beside:
        assert law.of_tasks(tasks) == pytest.approx(max(1.0, tasks / cpus))
    free = sum(time / law.of_tasks(tasks) for tasks, time in beside.items())
    found = as_measured(cpus, 1.0, beside, free)
    assert found.background <= 1e-3
    assert found.part == pytest.approx(1, abs=1e-3)


@given(
    cpus=CPUS,
    share=SHARES,
    tasks=st.integers(1, 64),
    wanted=st.floats(0.05, 1),
)
def test_the_measured_slow_down_comes_out_or_the_nearest_that_the_law_can_give(
    cpus: float, share: float, tasks: int, wanted: float
) -> None:
    law = as_measured(cpus, share, {tasks: 1.0}, wanted)
    slow = law.of_tasks(tasks)
    most = Turns(cpus, share, MOST_BACKGROUND).of_tasks(tasks)
    assert slow == pytest.approx(min(1 / wanted, most), rel=2e-3)
