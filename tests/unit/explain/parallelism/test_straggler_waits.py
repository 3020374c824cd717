from pathlib import Path
from typing import Any

from tests.support.explain.explained import Job, S, saves
from tests.support.tables import MS

from pyrometer.explain.catalogue.parallelism.straggler_waits import RULE

ALIKE = [1_000, 1_010, 990, 1_000] * 4
HUNG = [*ALIKE[:6], 20_000, *ALIKE[7:]]


def read(cpu_ms: int, mib: int = 64) -> dict[str, Any]:
    return {"executor_cpu_time_ns": cpu_ms * MS, "input_bytes": mib << 20,
            "input_records_count": mib}  # fmt: skip


def test_a_task_that_hung(tmp_path: Path) -> None:
    job = Job()
    job.stage(HUNG, columns=lambda _: read(900))
    (found,) = job.found(tmp_path, RULE)
    assert found.place.stage_id == 0
    assert "1 of 16 tasks waited for 19.1 s" in found.mechanism
    assert found.remedies[0].factor == "spark.speculation"
    # It ends at about 21 s, and all the work of 16 tasks on 4 slots at 4 s.
    assert saves(found, 21_000 - 4_000)
    # A copy is launched after three medians and runs for one: the stage ends at about 6 s.
    low = found.saving.elapsed_ns.low
    assert low is not None
    assert low < (21 - 6) * S


def python_job(lengths: list[int], operator: str = "ArrowEvalPython") -> Job:
    job = Job()
    sql = job.query(0, 30_000, [(operator, f"{operator} [f(a#1)]")])
    stage = job.stage(lengths, sql=sql, columns=lambda _: read(900))
    job.metric(sql, 0, "number of output rows", 1000)
    job.log.rows["node_metrics"][-1].update(stage_id=stage, stage_attempt=0)
    return job


def test_near_miss_the_first_task_of_each_slot_starts_its_python_worker(tmp_path: Path) -> None:
    started = [5_000] * 4 + ALIKE
    assert not python_job(started).all_found(tmp_path / "python", RULE)
    assert python_job(started, "Project").all_found(tmp_path / "project", RULE)


def test_a_first_task_alone_is_no_start(tmp_path: Path) -> None:
    (found,) = python_job([20_000, *ALIKE]).found(tmp_path, RULE)
    assert "1 of 17 tasks waited" in found.mechanism


def test_a_task_with_more_input_waits_for_longer(tmp_path: Path) -> None:
    job = Job()
    job.stage(HUNG, columns=lambda n: read(900, 64 * (20 if n == 6 else 1)))
    assert not job.all_found(tmp_path, RULE)


def test_a_task_that_computed(tmp_path: Path) -> None:
    job = Job()
    job.stage(HUNG, columns=lambda n: read(19_500 if n == 6 else 900))
    assert not job.all_found(tmp_path, RULE)


def test_tasks_that_all_wait(tmp_path: Path) -> None:
    job = Job()
    job.stage([20_000, 21_000, 19_000, 20_500] * 4, columns=lambda _: read(900))
    assert not job.all_found(tmp_path, RULE)


def test_waits_that_lengthen_no_task_visibly(tmp_path: Path) -> None:
    job = Job()
    job.stage([*ALIKE[:6], 1_400, *ALIKE[7:]], columns=lambda _: read(900))
    assert not job.all_found(tmp_path, RULE)


def test_a_log_without_cpu_times_says_what_it_can(tmp_path: Path) -> None:
    job = Job()
    job.stage(HUNG, columns=lambda _: {**read(0), "executor_cpu_time_ns": None})
    (found,) = job.found(tmp_path, RULE)
    assert "1 of 16 tasks took 20.0 s" in found.mechanism
    assert "CPU" not in found.mechanism


def test_on_one_host_no_copy_is_launched(tmp_path: Path) -> None:
    job = Job(executors=1, cores=4)
    job.stage(HUNG, columns=lambda _: read(900))
    (found,) = job.found(tmp_path, RULE)
    assert [one.factor for one in found.remedies] == [None]


def test_a_log_that_says_nothing_of_the_tasks_work_is_not_judged(tmp_path: Path) -> None:
    job = Job()
    job.stage(HUNG, columns=lambda _: {"executor_cpu_time_ns": None})
    assert not job.all_found(tmp_path, RULE)
