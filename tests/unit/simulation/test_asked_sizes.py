"""Sizes that are asked for: other CPUs, other executors, other numbers of tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.simulation.simulated import Log, measured, simulated
from tests.support.tables import MS, wall

from pyrometer.core.errors import UsageError
from pyrometer.simulation.analysis import Question, analyse
from pyrometer.simulation.contention import Contention, Turns
from pyrometer.simulation.intervals import Sized, leave_out
from pyrometer.simulation.measured import Measured
from pyrometer.simulation.schema import SimulationReport
from pyrometer.window.windows import Window


def chain(stages: int = 24) -> Log:
    """Stages of two tasks of 10 ms on two slots, one after the other."""
    log = Log(end_ms=10 * stages)
    log.executor("1", 2)
    log.job(0, 0, 10 * stages, list(range(stages)))
    for stage in range(stages):
        log.stage(stage, 10 * stage, 10 * stage + 10, [stage - 1] if stage else [])
        for _ in range(2):
            log.task(stage, 10 * stage, 10)
    return log


def test_errors_and_waste_are_of_the_measured_cpus_whatever_is_asked(tmp_path: Path) -> None:
    run = measured(chain().write(tmp_path))
    one = Contention(Turns(1), Turns(1), "one CPU")

    def report(law: Contention) -> SimulationReport:
        return analyse(run, Window("application"), "", Question(percents=[100]), law)

    same, other = report(one), report(replace(one, asked=Turns(2)))
    assert same.accuracy.reason is None
    assert other.accuracy == same.accuracy
    assert other.stages == same.stages
    assert other.waste == same.waste
    assert other.levels[0].speedup == pytest.approx(2)


def executors_of_two(count: int, **conf: str) -> Log:
    """Give executors of two slots, from the beginning to the end, and 16 tasks on them."""
    log = Log(end_ms=40, **conf)
    for number in range(count):
        log.executor(str(number + 1), 2)
    log.job(0, 0, 40, [0])
    log.stage(0, 0, 40, [])
    for number in range(16):
        log.task(0, 0, 5 * count // 2, executor_id=str(number % count + 1))
    return log


@pytest.mark.parametrize(
    ("executors", "cores", "slots"), [(2, 4, 8), (1, 8, 8), (8, 1, 8), (3, 3, 9), (2, None, 4)]
)
def test_a_layout_has_the_executors_that_are_asked_for(
    tmp_path: Path, executors: int, cores: int | None, slots: int
) -> None:
    folder = executors_of_two(4).write(tmp_path)
    found = simulated(folder, percents=[100], executors=executors, cores=cores).asked
    assert found is not None
    assert (found.executors_count, found.slots_count) == (executors, slots)


def test_a_layout_that_comings_and_goings_do_not_give_is_refused(tmp_path: Path) -> None:
    log = executors_of_two(1)
    # The second one is lost, and replaced.
    log.executor("2", 2, remove_wall_ns=wall(15))
    log.executor("3", 2, add_ms=20)
    folder = log.write(tmp_path)
    whole = simulated(folder, percents=[100], executors=4, cores=1).asked
    assert whole is not None
    assert (whole.executors_count, whole.slots_count) == (6, 4)
    with pytest.raises(UsageError, match="would be 2 at one time") as refused:
        simulated(folder, percents=[100], executors=1, cores=4)
    assert refused.value.remedy == "--percent 100, on executors like the measured ones"
    # A quarter of the slots, in whole ones, would be two at one time.
    with pytest.raises(UsageError, match="would be 2 at one time") as refused:
        simulated(folder, percents=[100], executors=1, cores=1)
    assert refused.value.remedy == "--percent 50,100,200, on executors like the measured ones"


def replaced(slots: int) -> Log:
    """Give two executors, the second of which is lost, and replaced."""
    log = Log(end_ms=40)
    log.executor("1", slots)
    log.executor("2", slots, remove_wall_ns=wall(15))
    log.executor("3", slots, add_ms=20)
    log.job(0, 0, 40, [0])
    log.stage(0, 0, 40, [])
    for _ in range(24):
        log.task(0, 0, 10)
    return log


def test_the_size_that_is_offered_instead_of_a_layout_has_its_slots(tmp_path: Path) -> None:
    folder = replaced(3).write(tmp_path)
    with pytest.raises(UsageError, match="would be 2 at one time") as refused:
        simulated(folder, percents=[100], executors=1, cores=4)
    percent = (refused.value.remedy or "").split()[1].strip(",")
    assert float(percent) == pytest.approx(200 / 3, rel=1e-14)
    (level,) = simulated(folder, percents=[float(percent)]).levels
    assert level.slots_count == 4


def test_no_size_below_one_per_cent_is_offered(tmp_path: Path) -> None:
    folder = replaced(150).write(tmp_path)
    with pytest.raises(UsageError, match="would be 2 at one time") as refused:
        simulated(folder, percents=[100], executors=1, cores=2)
    assert (refused.value.remedy or "").startswith("--percent 50,100,200,")


def test_core_hours_of_a_layout_are_of_the_cores_that_are_asked_for(tmp_path: Path) -> None:
    log = Log(end_ms=100, **{"spark.task.cpus": "2"})
    log.executor("1", 4)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, [])
    for launch in (0, 0, 50, 50):
        log.task(0, launch, 50)
    # Of five cores one is left over, and is paid for.
    found = simulated(log.write(tmp_path), percents=[100], executors=2, cores=5).asked
    assert found is not None
    assert found.elapsed_ns.value == pytest.approx(50 * MS)
    assert found.core_hours == pytest.approx(2 * 5 * 0.05 / 3600)


def test_input_is_not_split_into_more_tasks_than_memory_holds(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at most 10,000,000"):
        simulated(chain().write(tmp_path), percents=[100], executors=10_000, cores=10_000)


def test_a_run_of_many_tasks_is_scheduled_at_other_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrometer.simulation.cluster.MOST_TASKS", 10)
    folder = chain().write(tmp_path)
    # The first of 24 stages has a task for each slot, and more with more slots.
    levels = simulated(folder, percents=[50, 100, 200]).levels
    assert [one.slots_count for one in levels] == [1, 2, 4]
    with pytest.raises(UsageError, match="at most 10 more than the 48 measured ones"):
        simulated(folder, percents=[100], tasks_ratio=2.0)


def sized(folder: Path, slots: int, cpus: float | None) -> Sized:
    """Four tasks of 10 ms; with or without a law of CPUs."""
    log = Log(end_ms=40 // slots)
    log.executor("1", slots)
    log.job(0, 0, 40 // slots, [0])
    log.stage(0, 0, 40 // slots, [])
    for number in range(4):
        log.task(0, number // slots * 10, 10)
    run: Measured = measured(log.write(folder / f"{slots}-{cpus}"))
    if cpus is None:
        return Sized(run)
    law = Turns(cpus)
    return Sized(run, Contention(law, law, "turns", None, law))


def test_a_size_is_not_predicted_from_itself_where_one_run_does_not_know_its_cpus(
    tmp_path: Path,
) -> None:
    runs = [sized(tmp_path, 2, None), sized(tmp_path, 2, 4.0), sized(tmp_path, 4, 4.0)]
    levels = leave_out(runs).levels
    assert [(one.slots_count, one.cpus) for one in levels] == [(2, None), (4, 4.0)]
    assert [one.measured_s.n for one in levels] == [2, 1]
    assert [one.from_slots_count for one in levels] == [4, 2]
    with pytest.raises(UsageError, match="all of one size"):
        leave_out(runs[:2])
