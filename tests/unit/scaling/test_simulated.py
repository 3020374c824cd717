"""The simulator as a predictor of a curve, on invented runs without contention or with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.simulation.simulated import Log, measured

from pyrometer.scaling.plan import CORES_MAX, INSTANCES
from pyrometer.scaling.simulated import simulated
from pyrometer.simulation.contention import Contention, Turns
from pyrometer.simulation.intervals import Sized, leave_out


def of_executors(folder: Path, count: int, cpus: float | None, **columns: str) -> Sized:
    """Give 32 tasks of 10 ms on executors of two slots, each on a host of its own by default."""
    length = 160 // count
    log = Log(end_ms=length)
    for number in range(count):
        log.executor(str(number + 1), 2, **columns)
    log.job(0, 0, length, [0])
    log.stage(0, 0, length, [])
    for number in range(32):
        log.task(0, number // (2 * count) * 10, 10, executor_id=str(number % count + 1))
    run = measured(log.write(folder / str(count)))
    law = None if cpus is None else Turns(cpus)
    return Sized(run, law and Contention(law, law, "turns", None, law))


@pytest.mark.parametrize("factor", [INSTANCES, CORES_MAX])
@pytest.mark.parametrize("cpus", [None, 2.0])
def test_more_executors_are_more_slots_on_hosts_with_as_many_cpus(
    tmp_path: Path, factor: str, cpus: float | None
) -> None:
    runs = {float(count): of_executors(tmp_path, count, cpus) for count in (1, 2, 4)}
    made = simulated(runs, factor, [8.0])
    assert not isinstance(made, str), made
    for level in runs:
        assert made.said[level][8.0] == pytest.approx(0.02)
    assert made.said[1.0][2.0] == pytest.approx(0.08)


@pytest.mark.parametrize("factor", [INSTANCES, CORES_MAX])
def test_executors_of_a_cluster_of_one_host_share_its_cpus(tmp_path: Path, factor: str) -> None:
    runs = {float(n): of_executors(tmp_path, n, 4.0, host="only") for n in (1, 2)}
    made = simulated(runs, factor, [8.0])
    assert not isinstance(made, str), made
    # 16 tasks on four CPUs.
    for level in runs:
        assert made.said[level][8.0] == pytest.approx(0.08)


def test_a_level_of_one_executor_that_is_left_out_predicts_hosts_of_their_own(
    tmp_path: Path,
) -> None:
    levels = leave_out([of_executors(tmp_path, count, 2.0) for count in (1, 2, 4)]).levels
    assert [(one.slots_count, one.from_slots_count) for one in levels] == [(2, 4), (4, 2), (8, 4)]
    assert [one.error_ratio for one in levels] == pytest.approx([0, 0, 0], abs=1e-6)


def test_what_is_too_far_to_schedule_is_not_predicted(tmp_path: Path) -> None:
    runs = {float(count): of_executors(tmp_path, count, 8.0) for count in (2, 4)}
    for factor in (INSTANCES, "host.cpus"):
        far = simulated(runs, factor, [8.0, 1e9])
        assert far == "1e+09 is more than 1000 times the largest level"
    assert "6000 CPUs is too large to simulate" in str(simulated(runs, "host.cpus", [3000.0]))
