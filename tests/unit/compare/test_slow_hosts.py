"""A host is slow only where its tasks are slower than the same work elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pyrometer.compare.slow_hosts import slower

HOSTS, STAGES, TASKS = 4, 6, 24
Arrays = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def tasks(seed: int, rows_of_host_0: float = 1.0, fixed_ns: float = 0.0) -> Arrays:
    """Invent tasks on four hosts: stage, host, rows, and the time they take anywhere."""
    rng = np.random.default_rng(seed)
    count = HOSTS * STAGES * TASKS
    stage = np.repeat(np.arange(STAGES), HOSTS * TASKS)
    host = np.tile(np.repeat(np.arange(HOSTS), TASKS), STAGES)
    rows = rng.lognormal(12, 0.5, count) * np.where(host == 0, rows_of_host_0, 1.0)
    time = (fixed_ns + rows * 1e3) * rng.lognormal(0, 0.1, count)
    return stage, host, rows, time


@pytest.mark.parametrize("ratio", [1.2, 3.0])
def test_a_host_on_which_the_same_rows_take_longer_is_named(ratio: float) -> None:
    stage, host, rows, time = tasks(1)
    found = slower(time * np.where(host == 2, ratio, 1.0), [rows], stage, host)
    assert list(found) == [2]
    assert found[2] == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize("rows_of_host", [0.2, 5.0])
def test_a_host_with_tasks_of_another_size_is_not(rows_of_host: float) -> None:
    stage, host, rows, time = tasks(2, rows_of_host)
    assert slower(time, [rows], stage, host) == {}


def test_small_tasks_are_not_slow_for_what_each_task_costs() -> None:
    stage, host, rows, time = tasks(3, 0.5, fixed_ns=1e9)
    assert slower(time, [rows], stage, host) == {}


def test_bytes_count_where_rows_are_alike() -> None:
    stage, host, width, time = tasks(4, 4.0)
    rows = np.full(width.size, 1000.0)
    assert slower(time, [rows, width], stage, host) == {}


def test_a_second_slow_host_hides_neither() -> None:
    stage, host, rows, time = tasks(7)
    found = slower(time * np.where(host >= 2, 3.0, 1.0), [rows], stage, host)
    assert sorted(found) == [2, 3]


def test_one_stage_of_many_makes_no_host_slow() -> None:
    """What a host is slow at once, among stages where it is not, is not the host."""
    stage, host, rows, time = tasks(5)
    once = np.where((host == 1) & (stage == 0), 2.0, 1.0)
    assert slower(time * once, [rows], stage, host) == {}


@pytest.mark.parametrize(("hosts", "stages"), [(2, 3), (3, 2), (4, 1), (4, 6), (10, 2)])
@pytest.mark.parametrize("scatter", [0.0, 0.1])
def test_equal_hosts_are_rarely_named(hosts: int, stages: int, scatter: float) -> None:
    """Nor where tasks of a host in one stage are alike, as they share data and a moment."""
    named = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        count = hosts * stages * 12
        stage = np.repeat(np.arange(stages), hosts * 12)
        host = np.tile(np.repeat(np.arange(hosts), 12), stages)
        rows = rng.lognormal(12, 0.5, count)
        of_cell = rng.normal(0, scatter, (hosts, stages))[host, stage]
        time = (2e8 + rows * 1e3) * np.exp(rng.normal(0, 0.2, count) + of_cell)
        named += bool(slower(time, [rows], stage, host))
    assert named <= 2  # 5 %


def test_one_host_is_compared_with_nothing() -> None:
    stage, host, rows, time = tasks(6)
    assert slower(time, [rows], stage, np.zeros_like(host)) == {}
