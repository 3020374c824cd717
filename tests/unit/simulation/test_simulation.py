"""Invented runs whose schedules can be worked out by hand."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.simulation.simulated import Log, measured, ms, simulated
from tests.support.tables import MS, wall

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.scaling.simulated import simulated as levels_simulated
from pyrometer.simulation import intervals
from pyrometer.simulation.analysis import Prices, read_prices
from pyrometer.simulation.cluster import most_slots
from pyrometer.simulation.contention import Contention, Turns, stage_time
from pyrometer.simulation.intervals import REPLICATES, Sized, draw_errors, leave_out
from pyrometer.simulation.measured import Measured, Tasks
from pyrometer.simulation.scheduler import calibrate
from pyrometer.simulation.settings import settings_of
from pyrometer.store.manifest import Exit, Host, Manifest, Workload, write_manifest


def diamond() -> Log:
    """Two stages at once on two slots, then one behind both; the driver between and around.

    ======  =======  ========  ==================
    stage   submit   complete  tasks
    ======  =======  ========  ==================
    0       100      130       30, 20
    1       100      160       40 (on the slot that is free at 120)
    2       165      185       20, 10
    ======  =======  ========  ==================
    """
    log = Log(end_ms=200)
    log.executor("1", 2)
    log.job(0, 90, 190, [0, 1, 2])
    log.stage(0, 100, 130, [])
    log.stage(1, 100, 160, [])
    log.stage(2, 165, 185, [0, 1])
    for stage, launch, length in ((0, 100, 30), (0, 100, 20), (1, 120, 40), (2, 165, 20)):
        log.task(stage, launch, length)
    log.task(2, 165, 10)
    return log


def test_a_run_is_scheduled_as_it_was_measured(tmp_path: Path) -> None:
    report = simulated(diamond().write(tmp_path), percents=[50, 100, 200])
    assert report.accuracy.error_ratio == 0
    assert [ms(s.simulated_ns.value) for s in report.stages] == [30, 60, 20]
    # One slot: 50 + 40 + 30 of tasks, 100 before, 5 between, 15 after. Four: stage 0 reads input
    # on two slots, so it has four tasks of half the length, and stage 1 begins at 110.
    assert [ms(level.elapsed_ns.value) for level in report.levels] == [240, 200, 190]
    assert ms(report.bounds.one_core_ns) == 240
    assert ms(report.bounds.critical_path_ns) == 180
    assert report.bounds.critical_stage_ids == [1, 2]
    # The driver alone 100 + 5 + 15, then 120 of tasks on two slots.
    assert ms(report.bounds.ideal_ns) == 120 + 60


def fetching(cores: int | None = 1) -> Log:
    """Give one slot: 20 and 20 of tasks; each result is fetched for 30."""
    log = Log(end_ms=110)
    log.executor("1", 1, cores_count=cores)
    log.job(0, 10, 100, [0])
    log.stage(0, 20, 90, [])
    for launch, fetched in ((20, 70), (40, 90)):
        log.task(0, launch, fetched - launch)
        log.rows["tasks"][-1]["getting_result_wall_ns"] = wall(launch + 20)
    return log


@pytest.mark.parametrize("cores", [1, None])
def test_a_slot_is_free_while_the_driver_fetches_the_result(
    tmp_path: Path, cores: int | None
) -> None:
    found = simulated(fetching(cores).write(tmp_path), percents=[100, 200])
    assert found.measured.slots_count == 1
    assert found.accuracy.error_ratio == found.accuracy.stage_error_ratio == 0
    assert [ms(stage.simulated_ns.value) for stage in found.stages] == [70]
    assert [ms(stage.measured_ns) for stage in found.stages] == [70]
    # What follows the tasks is the driver's, however many slots there are.
    assert ms(found.bounds.critical_path_ns) == 110 - 20


def test_a_copy_that_outlives_its_stage_does_not_hide_that_results_were_fetched(
    tmp_path: Path,
) -> None:
    log = fetching()
    log.task(0, 50, 55, task_index=1, attempt=1, speculative=True, status="killed")
    (stage,) = measured(log.write(tmp_path)).stages
    assert (ms(stage.ran_ns - stage.submit_ns), ms(stage.fetch_ns)) == (40, 30)


def test_slot_time_is_accounted_for_once(tmp_path: Path) -> None:
    report = simulated(diamond().write(tmp_path), percents=[100])
    waste = {row.cause: ms(row.slot_ns) for row in report.waste}
    assert waste == {
        "useful": 120,
        "driver": 240,
        # From 130 on stage 1 has one task, and there are two slots.
        "too_few_tasks": 30,
        "stage_tail": 10,
        "waiting_to_launch": 0,
        "scheduling_delay": 0,
        "retries": 0,
    }
    assert sum(waste.values()) == 2 * 200  # type: ignore[arg-type]
    without = {row.cause: ms(row.without_ns) for row in report.waste}
    assert without["driver"] == 80
    # Even tasks: 25 + 25, then 40; 15 + 15.
    assert without["stage_tail"] == 100 + 65 + 5 + 15 + 15


def test_start_times_of_tasks_play_no_part(tmp_path: Path) -> None:
    log = diamond()
    before = simulated(log.write(tmp_path / "a"))
    tasks = log.rows["tasks"]
    launches = [task["launch_wall_ns"] for task in tasks]
    random.Random(1).shuffle(launches)
    for task, launch in zip(tasks, launches, strict=True):
        task["finish_wall_ns"] += launch - task["launch_wall_ns"]
        task["launch_wall_ns"] = launch
    random.Random(2).shuffle(tasks)
    assert [task["launch_wall_ns"] for task in tasks] != sorted(launches)
    assert simulated(log.write(tmp_path / "b")) == before


@pytest.mark.slow
def test_the_order_of_submission_is_that_of_ids(tmp_path: Path) -> None:
    log = diamond()
    ids = [task["task_attempt_id"] for task in log.rows["tasks"]]
    before = measured(log.write(tmp_path / "a")).tasks.duration_ns
    for task, number in zip(log.rows["tasks"], reversed(ids), strict=True):
        task["task_attempt_id"] = number
    after = measured(log.write(tmp_path / "b")).tasks.duration_ns
    assert [d / MS for d in before] == [30, 20, 40, 20, 10]
    assert [d / MS for d in after] == [20, 30, 40, 10, 20]


def test_a_critical_stage_twice_as_long_moves_the_end_by_its_length(tmp_path: Path) -> None:
    folder = diamond().write(tmp_path)
    elapsed = [
        simulated(folder, percents=[100], stretch=stretch).levels[0].elapsed_ns.value
        for stretch in ({}, {2: 2.0}, {2: 0.5})
    ]
    assert [ms(value) for value in elapsed] == [200, 220, 190]


def test_executors_come_and_go_with_the_work(tmp_path: Path) -> None:
    log = Log(end_ms=300, **{"spark.dynamicAllocation.enabled": "true"})
    log.executor("1", 1)
    # It comes 40 ms into the stage, and goes when it was idle.
    log.executor("2", 1, add_ms=140, remove_wall_ns=None)
    log.executor("3", 1, add_ms=20, remove_wall_ns=log.rows["apps"][0]["start_wall_ns"] + 50 * MS)
    log.job(0, 100, 260, [0])
    log.stage(0, 100, 260, [])
    for launch in (100, 140, 180, 220):
        log.task(0, launch, 40)
    for launch in (140, 180):
        log.task(0, launch, 40, executor_id="2")
    folder = log.write(tmp_path)
    report = simulated(folder, percents=[100])
    # 6 tasks of 40 ms: one slot for 40 ms, then two.
    assert ms(report.levels[0].elapsed_ns.value) == 300
    assert most_slots(measured(folder).executors) == 2
    slots = report.levels[0].core_hours * 3.6e12 / MS
    assert slots == pytest.approx(300 + 160 + 30)


@pytest.mark.slow
def test_the_last_executor_stays_for_work_that_lasts_longer(tmp_path: Path) -> None:
    log = diamond()
    log.rows["executors"][0]["remove_wall_ns"] = log.rows["apps"][0]["start_wall_ns"] + 186 * MS
    report = simulated(log.write(tmp_path), percents=[50])
    assert ms(report.levels[0].elapsed_ns.value) == 240


def test_a_failed_attempt_is_made_again_and_is_waste(tmp_path: Path) -> None:
    log = Log(end_ms=100)
    log.executor("1", 1)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, [])
    log.task(0, 0, 30, status="failed", task_index=0)
    log.task(0, 30, 70, task_index=0, attempt=1)
    report = simulated(log.write(tmp_path), percents=[100, 400])
    assert [ms(level.elapsed_ns.value) for level in report.levels] == [100, 100]
    retries = next(row for row in report.waste if row.cause == "retries")
    assert (ms(retries.slot_ns), ms(retries.without_ns)) == (30, 70)


@pytest.mark.slow
def test_a_stage_whose_tasks_are_missing_takes_its_time(tmp_path: Path) -> None:
    log = diamond()
    log.rows["stages"][2]["planned_tasks_count"] = 3
    report = simulated(log.write(tmp_path), percents=[400])
    # Stage 1 begins at 105, behind the first eighth of stage 0.
    assert ms(report.levels[0].elapsed_ns.value) == 105 + 40 + 5 + 20 + 15
    assert "simulation_unseen" in {doubt.code for doubt in report.doubts}


def test_a_log_without_its_end_counts_no_stages(tmp_path: Path) -> None:
    log = diamond()
    log.rows["apps"][0]["end_wall_ns"] = None
    found = simulated(log.write(tmp_path)).doubts
    [doubt] = [one for one in found if one.code == "simulation_cut"]
    assert doubt.message == "the log has no end of the application"


def test_what_cannot_be_scheduled_is_said(tmp_path: Path) -> None:
    log = diamond()
    log.rows["tasks"].clear()
    with pytest.raises(UsageError, match="nothing to schedule"):
        simulated(log.write(tmp_path))


def test_cost_is_of_slots_and_their_memory(tmp_path: Path) -> None:
    prices = Prices(currency="EUR", core_hour=36.0, gb_hour=3.6)
    level = simulated(diamond().write(tmp_path), percents=[100], prices=prices).levels[0]
    # Two cores for 0.2 s; 4 GiB and 10 % beside the heap.
    gigabytes = ((4 << 30) + int((4 << 30) * 0.1)) / 1e9
    assert level.core_hours == pytest.approx(0.4 / 3600)
    assert level.gb_hours == pytest.approx(gigabytes * 0.2 / 3600)
    assert level.cost == pytest.approx(0.4 * 0.01 + gigabytes * 0.2 * 0.001)


@pytest.mark.slow
def test_more_tasks_keep_the_work_and_the_seed_decides(tmp_path: Path) -> None:
    log = Log(end_ms=1000)
    log.executor("1", 4)
    log.job(0, 0, 1000, [0])
    log.stage(0, 0, 1000, [])
    for number in range(40):
        log.task(0, 0, 10 + number * number % 83)
    folder = log.write(tmp_path)
    found = [
        simulated(folder, percents=[50], tasks_ratio=2.3, seed=seed).levels[0].elapsed_ns.value
        for seed in (1, 1, 2)
    ]
    assert found[0] == found[1] != found[2]
    work = float(measured(folder).tasks.duration_ns.sum())
    assert found[0] is not None
    assert found[0] - 1000 * MS >= work / 2 - 1000 * MS


def test_input_is_split_for_the_slots_there_are(tmp_path: Path) -> None:
    log = Log(end_ms=100)
    log.executor("1", 2)
    log.job(0, 0, 100, [0, 1])
    log.stage(0, 0, 60, [])
    log.stage(1, 60, 100, [0])
    for stage, length in ((0, 60), (0, 60), (1, 40), (1, 40)):
        log.task(stage, 0, length)
    folder = log.write(tmp_path)
    levels = simulated(folder, percents=[50, 100, 200]).levels
    # Stage 1 has two tasks whatever the slots are: its partitions are a shuffle's.
    assert [ms(level.elapsed_ns.value) for level in levels] == [120 + 80, 100, 30 + 40]
    twice = simulated(folder, percents=[200], tasks_ratio=2.0).levels
    assert ms(twice[0].elapsed_ns.value) == 30 + 20


def test_each_size_is_predicted_from_the_others(tmp_path: Path) -> None:
    runs = []
    for slots, length in ((1, 130), (2, 70), (4, 40)):
        log = Log(end_ms=length)
        log.executor("1", slots)
        log.job(0, 10, length, [0])
        log.stage(0, 10, length, [])
        for _ in range(slots):
            log.task(0, 10, 120 // slots)
        runs.append(Sized(measured(log.write(tmp_path / str(slots)))))
    report = leave_out(runs)
    assert [one.slots_count for one in report.levels] == [1, 2, 4]
    # No contention and input that is split for the slots: exact, but for the driver's 10 ms.
    assert [one.predicted_s.value for one in report.levels] == pytest.approx([0.13, 0.07, 0.04])
    assert report.worst_error_ratio == pytest.approx(0)
    assert report.levels[1].predicted_s.n == 2
    assert report.coverage.n == 3
    with pytest.raises(UsageError, match="one size"):
        leave_out(runs[:1] * 2)


def under_quota(folder: Path, quota: float) -> Sized:
    """Four tasks of 100 ms of CPU, on as many slots as Spark sees CPUs."""
    slots = math.ceil(quota)
    length = round(100 * slots / quota)
    log = Log(end_ms=4 // slots * length)
    log.executor("1", slots)
    log.job(0, 0, 4 // slots * length, [0])
    log.stage(0, 0, 4 // slots * length, [])
    for n in range(4):
        log.task(0, n // slots * length, length)
    run = measured(log.write(folder / str(quota)))
    turns = Turns(quota)
    return Sized(run, Contention(turns, turns, "turns", None, turns))


def test_levels_of_a_quota_are_simulated_with_the_slots_that_they_have(tmp_path: Path) -> None:
    runs = {quota: under_quota(tmp_path, quota) for quota in (0.5, 1.0, 2.0)}
    made = levels_simulated(runs, "cpu.quota", [4.0])
    assert not isinstance(made, str)
    # The nearest has as many slots; of another number of CPUs Spark takes as many slots.
    assert made.nearest == {0.5: 1.0, 1.0: 0.5, 2.0: 1.0, 4.0: 2.0}
    assert (made.said[1.0][0.5], made.said[0.5][1.0]) == (pytest.approx(0.8), pytest.approx(0.4))
    assert made.said[2.0][4.0] == pytest.approx(0.1)


def test_stages_tell_what_waited_for_a_cpu() -> None:
    rows = {
        "task": 9.0, "task/on_cpu": 4.0, "task/run_queue": 4.0, "task/waiting": 1.0,
        "deserialize": 1.0, "scheduler_delay": 2.0,
    }  # fmt: skip
    # On the CPU half of the time that they would be: so of the 3 around, 1.5.
    stage = stage_time(rows, 12.0)
    assert stage is not None
    assert (stage.took, stage.queued) == (12.0, pytest.approx(5.5))
    assert stage.share == pytest.approx(1 - 1 / 6.5)
    # A delay below 0 is an error of the clocks, and nobody's CPU.
    below = stage_time({**rows, "scheduler_delay": -2.0}, 8.0)
    assert below is not None
    assert below.queued == pytest.approx(4.5)
    assert stage_time({"task/on_cpu": 4.0, "task/waiting": 1.0}, 5.0) is None


@pytest.mark.slow
def test_contention_leaves_the_measured_size_as_it_was(tmp_path: Path) -> None:
    run = measured(diamond().write(tmp_path))
    load = {(stage.stage_id, 0): 1.0 for stage in run.stages}
    law = Contention(Turns(1), Turns(1), "one CPU", load)
    assert calibrate(run, law).schedule.elapsed_ns == calibrate(run).schedule.elapsed_ns
    from pyrometer.simulation.analysis import Question, analyse
    from pyrometer.window.windows import Window

    asked = Question(percents=[50, 100, 200])
    report = analyse(run, Window("application"), "", asked, law)
    # One CPU is busy from 100 to 160 and from 165 to 185 whatever the slots are; on one slot too.
    elapsed = [ms(level.elapsed_ns.value) for level in report.levels]
    assert elapsed == pytest.approx([200, 200, 200])
    two = Contention(Turns(1), Turns(2), "two CPUs", load)
    assert analyse(run, Window("application"), "", asked, two).levels[2].speedup > 1.1


def test_errors_are_drawn_from_other_stages_alone() -> None:
    n = 30
    took = np.linspace(1, 2, n)
    errors = np.arange(1, n + 1) / 10
    drawn = draw_errors(took * errors, took, n + 4, seed=3)
    assert drawn is not None
    assert drawn.shape == (REPLICATES, n + 4)
    assert (drawn[:, n:] == 1).all()
    for stage in range(n):
        assert len(set(drawn[:, stage].round(9))) == REPLICATES
        assert not np.isclose(drawn[:, stage], errors[stage]).any()
    assert draw_errors(took[:19], took[:19], 19, seed=3) is None


def test_settings_that_decide_on_slots_and_waits() -> None:
    conf = (
        '{"spark.task.cpus": "2", "spark.executor.resource.gpu.amount": "1",'
        ' "spark.task.resource.gpu.amount": "0.33", "spark.locality.wait": "500ms",'
        ' "spark.executor.memory": "20g", "spark.executor.memoryOverhead": "8g"}'
    )
    found = settings_of(conf, "yarn", "3.0.1")
    assert [found.slots(cores) for cores in (2, 5, 16)] == [1, 2, 3]
    assert (found.locality_wait_ns, found.launch_resets_wait) == (500 * MS, True)
    assert found.memory_bytes == 28 << 30
    apart = settings_of(conf, "local-cluster[2,2,1024]", None)
    assert apart.memory_bytes == found.memory_bytes
    plain = settings_of(None, "local[4]", None)
    assert (plain.slots(4), plain.locality_wait_ns, plain.memory_bytes) == (4, 3000 * MS, 1 << 30)
    assert settings_of('{"spark.executor.memory": 5, "spark.master": {}}', None, None) == (
        settings_of("{}", None, None)
    )


@pytest.mark.parametrize(
    "conf",
    [
        {"spark.task.cpus": "nan"},
        {"spark.task.cpus": "inf"},
        {"spark.task.resource.gpu.amount": "1e-300", "spark.executor.resource.gpu.amount": "inf"},
        {"spark.task.resource.gpu.amount": "1e-300", "spark.executor.resource.gpu.amount": "1e300"},
        {"spark.locality.wait": "9" * 5000},
        {"spark.executor.memory": "9" * 5000},
        {"spark.executor.memoryOverheadFactor": "1e308"},
    ],
)
def test_settings_that_no_machine_has_are_those_of_spark(conf: dict[str, str]) -> None:
    found, plain = (settings_of(json.dumps(one), "yarn", "3.5.0") for one in (conf, {}))
    assert found.slots(8) == plain.slots(8)
    assert found.locality_wait_ns == plain.locality_wait_ns
    assert found.memory_bytes == plain.memory_bytes
    assert not settings_of("{}", "yarn", f"{'9' * 5000}.0").launch_resets_wait


@pytest.mark.parametrize(
    ("conf", "master", "mib"),
    [
        ({}, "yarn", 384),
        ({"spark.executor.memory": "16384"}, "yarn", 1638),
        ({"spark.executor.memory": "16g", "spark.executor.memoryOverheadFactor": "0.5"}, "yarn",
         8192),
        ({"spark.executor.minMemoryOverhead": "1g"}, "yarn", 1024),
        # Spark says so for programs in Python, and heeds it on Kubernetes alone.
        ({"spark.executor.memory": "10g", "spark.kubernetes.memoryOverheadFactor": "0.4"},
         "k8s://https://a", 4096),
        ({"spark.executor.memory": "10g", "spark.kubernetes.memoryOverheadFactor": "0.4"}, "yarn",
         1024),
        ({"spark.executor.memoryOverhead": "512"}, "yarn", 512),
    ],
)  # fmt: skip
def test_what_an_executor_has_beside_its_heap(conf: dict[str, str], master: str, mib: int) -> None:
    assert settings_of(json.dumps(conf), master, None).overhead_bytes >> 20 == mib


def test_a_number_alone_is_in_the_unit_of_its_setting() -> None:
    conf = {"spark.executor.memory": "2048", "spark.executor.memoryOverhead": "1024",
            "spark.memory.offHeap.enabled": "true",
            "spark.memory.offHeap.size": "1048576"}  # fmt: skip
    assert settings_of(json.dumps(conf), "yarn", None).memory_bytes >> 20 == 2048 + 1024 + 1
    assert settings_of('{"spark.driver.memory": "512"}', "local[2]", None).memory_bytes >> 20 == 512


@pytest.mark.parametrize(
    ("text", "what"),
    [("core_hour = -1", "core_hour"), ("core_hours = 1", "core_hours"), ("x = ", "TOML")],
)
def test_a_price_file_that_is_none(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=what):
        read_prices(path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--percent", "0"], "--percent 0"),
        (["--percent", "a"], "--percent a"),
        pytest.param(["--stretch", "9=2"], "no stage 9", marks=pytest.mark.slow),
        (["--stretch", "2"], "--stretch 2"),
        (["--contention", "1"], "two numbers"),
        pytest.param(["--cpus", "2"], "only an event log", marks=pytest.mark.slow),
        pytest.param(["--app", "3"], "--app 3", marks=pytest.mark.slow),
        (["--price", "nothing.toml"], "nothing.toml"),
        pytest.param(["--tasks", "1e9"], "at most 10,000,000", marks=pytest.mark.slow),
        (["--tasks", "nan"], "--tasks"),
        (["--cpus", "1e6"], "up to 4096"),
        (["--cpus", "inf"], "up to 4096"),
        (["--cpus", "nan"], "--cpus"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_bad_input_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    folder = diamond().write(tmp_path)
    assert run_verb(["simulate", str(folder), *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("mode", "second_ms"), [("FAIR", 150), ("FAIR", 191), ("FIFO", 150)])
def test_fair_pools_are_doubted_where_jobs_ran_at_once(
    tmp_path: Path, mode: str, second_ms: int, capsys: pytest.CaptureFixture[str]
) -> None:
    log = diamond()
    log.rows["apps"][0]["spark_conf"] = json.dumps({"spark.scheduler.mode": mode})
    log.job(1, second_ms, 198, [3])
    log.stage(3, second_ms, 197, [])
    log.task(3, second_ms, 5)
    folder = log.write(tmp_path)
    assert run_verb(["simulate", str(folder), "--percent", "100", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["doubts"]
    fair = [one["message"] for one in found if one["code"] == "simulation_fair"]
    if (mode, second_ms) != ("FAIR", 150):
        assert fair == []
        return
    assert "1 of 2 jobs began while another ran" in fair[0]
    assert run_verb(["simulate", str(folder), "--percent", "100"]) == 0
    assert "(simulation_fair)" in capsys.readouterr().out


def test_the_verb_prints_its_error_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = diamond().write(tmp_path)
    (tmp_path / "prices.toml").write_text('currency = "EUR"\ncore_hour = 1.0\n')
    words = ["--executors", "2", "--cores", "3", "--price", str(tmp_path / "prices.toml")]
    assert run_verb(["simulate", str(folder), *words]) == 0
    shown = capsys.readouterr().out
    assert "error at the measured size: 0 %" in shown
    assert "contention: none" in shown
    assert "EUR" in shown
    assert "→ 300 %" in shown


@pytest.mark.slow
def test_the_verb_predicts_sizes_of_several_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = diamond().write(tmp_path / "one")
    log = diamond()
    log.rows["executors"][0]["cores_count"] = 4
    two = log.write(tmp_path / "two")
    assert run_verb(["simulate", str(one), str(two), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "pyrometer/simulate-levels/1"
    assert [level["slots_count"] for level in made["levels"]] == [2, 4]
    doubts = {one["code"]: one["message"] for one in made["doubts"]}
    assert doubts["simulation_contention"].startswith("2 of 2 runs: tasks take as long")
    assert run_verb(["simulate", str(one), str(two)]) == 0
    shown = capsys.readouterr().out
    assert "from slots" in shown
    assert "simulation_contention" in shown
    assert run_verb(["simulate", str(one), str(one)]) == 2
    assert run_verb(["simulate", str(one), str(two), "--percent", "50"]) == 2


def test_a_run_that_the_scheduler_refuses_is_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    for slots in (1, 2, 3):
        log = diamond()
        log.rows["executors"][0]["cores_count"] = slots
        runs.append(str(log.write(tmp_path / f"trial-{slots}")))

    def calibrate(measured: Measured, *rest: Any) -> Any:
        if most_slots(measured.executors) == 3:
            raise UsageError("this run cannot be scheduled: a circle")
        return whole(measured, *rest)

    whole = intervals.calibrate
    monkeypatch.setattr(intervals, "calibrate", calibrate)
    assert run_verb(["simulate", *runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [level["slots_count"] for level in found["levels"]] == [1, 2]
    assert any(f"{runs[2]}: this run cannot be scheduled" in d["message"] for d in found["doubts"])


def test_a_run_that_failed_is_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for slots in (1, 2):
        log = diamond()
        log.rows["executors"][0]["cores_count"] = slots
        runs.append(str(log.write(tmp_path / f"trial-{slots}")))
    # One that ended before a stage did, and one that its manifest calls failed.
    empty = str(Log(end_ms=10).write(tmp_path / "empty"))
    failed = diamond().write(tmp_path / "failed")
    made = Manifest(
        run_id="r", created_wall_ns=1, pyrometer_version="0", workload=Workload(name="w"),
        profile="light", host=Host(), state="failed", exit=Exit(code=3),
    )  # fmt: skip
    write_manifest(failed, made)
    assert run_verb(["simulate", *runs, empty, str(failed), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [level["slots_count"] for level in found["levels"]] == [1, 2]
    [doubt] = [one for one in found["doubts"] if one["code"] == "simulation_without"]
    assert doubt["message"].startswith(f"2 of 4 runs: {empty}: no stage")
    assert f"{failed}: failed: exit code 3" in doubt["message"]
    assert "resume DIR --retry" in doubt["remedy"]
    assert run_verb(["simulate", *runs, empty]) == 0
    assert "1 of 3 runs" in capsys.readouterr().out
    for words, message in (
        ([empty, str(failed)], "no run can be simulated"),
        ([runs[0], str(failed)], "all of one size"),
    ):
        assert run_verb(["simulate", *words]) == 2
        told = capsys.readouterr().err
        assert message in told
        assert f"{failed}: failed: exit code 3" in told


def test_tasks_are_columns_of_numbers(tmp_path: Path) -> None:
    tasks = measured(diamond().write(tmp_path)).tasks
    assert isinstance(tasks, Tasks)
    kinds = [column.dtype.str for column in vars(tasks).values()]
    assert kinds == ["<f8", "<f8", "|u1", "|u1", "<i4"]
