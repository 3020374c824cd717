"""Data on few hosts: tasks that queue there, that read from afar, and that fetch from them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.asked import asked
from tests.support.explain.explained import Job, saves
from tests.support.tables import MS, wall

from pyrometer.explain.catalogue.parallelism import straggler_host
from pyrometer.explain.catalogue.parallelism.skew_host import RULE
from pyrometer.store import Run

EVEN = [1_000, 1_040, 970, 1_010] * 6
MIB = 1 << 20
ALL = ("1", "2", "3")


def _conf(wait: str) -> dict[str, Any]:
    return {"spark.locality.wait": wait}


def _stage(
    job: Job,
    near: Collection[str],
    wait_ms: int = 0,
    took: Callable[[int, str, bool], int] = lambda ms, _host, _far: ms,
    columns: Callable[[int, str], dict[str, Any]] | None = None,
    parents: list[int] | None = None,
) -> None:
    """Run a stage of even tasks: at once near their data, elsewhere when the wait is over."""
    number, submit = job.jobs, job.now_ms
    slots = [
        (submit if str(executor + 1) in near else submit + wait_ms, str(executor + 1))
        for executor in range(job.executors) for _ in range(job.cores)
    ]  # fmt: skip
    done = submit
    for index, length in enumerate(EVEN):
        slots.sort()
        launch, executor = slots.pop(0)
        far = executor not in near
        ms = took(length, executor, far)
        job.log.task(
            number, launch, ms,
            **{"executor_id": executor, "host": f"host-{executor}", "has_metrics": True,
               "task_index": index, "executor_run_time_ns": ms * MS, "input_bytes": MIB,
               "locality": "ANY" if far else "NODE_LOCAL",
               **(columns(index, executor) if columns else {})},
        )  # fmt: skip
        slots.append((launch + ms, executor))
        done = max(done, launch + ms)
    job.log.stage(number, submit, done, parents or [])
    job.log.job(number, submit, done, [number])
    job.log.rows["stages"][-1].update(job_id=number, planned_tasks_count=len(EVEN))
    job.jobs, job.now_ms = number + 1, done


def _queue(near: Collection[str], wait: str = "60s") -> Job:
    """All data lie on some hosts, and no task goes elsewhere before a wait is over."""
    job = Job(executors=3, **_conf(wait))
    _stage(job, near, wait_ms=60_000)
    return job


def test_tasks_take_turns_on_the_host_that_has_the_data(tmp_path: Path) -> None:
    (found,) = _queue(["1"]).found(tmp_path, RULE)
    assert found.place.host == "host-1"
    assert "read near their data was on host-1, which had 2 of 6 slots" in found.mechanism
    assert saves(found, _queue(["1"]).now_ms - _queue(ALL).now_ms)
    assert found.remedies[1].factor == "spark.locality.wait"


def test_a_cache_that_was_filled_too_early_is_filled_later(tmp_path: Path) -> None:
    job = _queue(["1"])
    for row in job.log.rows["tasks"]:
        row["locality"] = "PROCESS_LOCAL"
    (found,) = job.found(tmp_path, RULE)
    assert found.remedies[0].factor == "spark.scheduler.minRegisteredResourcesRatio"


def _from_afar(far_times: float, slow_times: float = 1.0, executors: int = 3) -> Job:
    """Tasks far from their data take longer, and those on the last host everywhere."""
    job = Job(executors=executors, **_conf("0s"))
    last = str(executors)

    def took(ms: int, host: str, far: bool) -> int:
        return round(ms * (far_times if far else 1) * (slow_times if host == last else 1))

    for near in (["1"], ["1"], ALL):
        _stage(job, near, took=took)
    return job


def test_tasks_that_read_from_another_host_take_twice_as_long(tmp_path: Path) -> None:
    job = _from_afar(2)
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, job.now_ms - _from_afar(1).now_ms)
    [ratio] = [one.estimate for one in found.evidence if one.unit == "ratio"]
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < 2 < ratio.high
    assert found.place.host == "host-1"


def test_a_host_far_from_the_data_is_not_called_slow(tmp_path: Path) -> None:
    job = _from_afar(2, executors=2)
    job.log.rows["apps"][0]["end_wall_ns"] += job.now_ms * MS
    with Run.open(job.log.write(tmp_path)) as run:
        found = [one for one in asked(run, [RULE, straggler_host.RULE]).findings if one.shown]
    assert [one.code for one in found] == ["skew.host"]
    assert [one.code for one in found[0].symptoms] == ["straggler.host"]


def _fetching(written_on: Collection[str]) -> Job:
    """Tasks of the second stage wait two seconds for blocks, unless they are on their host."""
    job = Job(executors=3, **_conf("0s"))
    _stage(job, ALL, columns=lambda _, host: {
        "shuffle_written_bytes": 8 * MIB if host in written_on else 0})  # fmt: skip

    def columns(_: int, host: str) -> dict[str, Any]:
        is_far = host not in written_on
        return {"input_bytes": 0, "shuffle_read_remote_bytes": 2 * MIB * is_far,
                "shuffle_read_local_bytes": 2 * MIB * (not is_far),
                "shuffle_fetch_wait_time_ns": 2_000 * MS * is_far}  # fmt: skip

    _stage(
        job, ALL, took=lambda ms, host, _: ms + (0 if host in written_on else 2_000),
        columns=columns, parents=[0],
    )  # fmt: skip
    return job


def test_all_blocks_of_a_shuffle_come_from_one_host(tmp_path: Path) -> None:
    job = _fetching(["1"])
    (found,) = job.found(tmp_path, RULE)
    assert found.place.host == "host-1"
    assert "were written on host-1, by stage 0" in found.mechanism
    assert saves(found, 0.5 * (job.now_ms - _fetching(ALL).now_ms))


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(_queue(ALL), id="healthy: the data are on all hosts"),
        pytest.param(_queue(["1", "2"]), id="the data are on most hosts"),
        pytest.param(_queue(["1"], wait="0s"), id="nothing holds tasks back"),
        pytest.param(_from_afar(1), id="healthy: reading from afar is as quick"),
        pytest.param(_from_afar(1, slow_times=3), id="the host is slow, near its data as well"),
        pytest.param(_fetching(ALL), id="healthy: blocks are on all hosts"),
        pytest.param(_fetching(["1", "2"]), id="blocks are on most hosts"),
    ],
)
def test_near_misses(tmp_path: Path, job: Job) -> None:
    assert not job.found(tmp_path, RULE)


def test_executors_that_come_while_a_stage_runs_have_its_data_too(tmp_path: Path) -> None:
    job = Job(executors=6, **_conf("3s"))
    for row in job.log.rows["executors"][2:]:
        row["add_wall_ns"] = wall(4_000)
    # Of the two that are there at once, the second is busy with something else.
    free = {"1": 0, "2": 9_000} | dict.fromkeys("3456", 4_000)
    _stage(job, free)
    slots = [(since, executor) for executor, since in free.items() for _ in range(job.cores)]
    for row in job.log.rows["tasks"]:
        slots.sort()
        launch, executor = slots.pop(0)
        slots.append((launch + 1_000, executor))
        row.update(executor_id=executor, host=f"host-{executor}", launch_wall_ns=wall(launch),
                   finish_wall_ns=wall(launch + 1_000))  # fmt: skip
    job.now_ms = max(done for done, _ in slots)
    job.log.rows["stages"][0]["complete_wall_ns"] = wall(job.now_ms)
    job.log.rows["jobs"][0]["end_wall_ns"] = wall(job.now_ms)
    assert not job.found(tmp_path, RULE)


def test_a_few_tasks_that_read_most_are_no_skew_of_hosts(tmp_path: Path) -> None:
    job = Job(executors=3, **_conf("3s"))
    job.stage([8_000, 8_000] + [1_000] * 22, columns=lambda n: {
        "locality": "NODE_LOCAL", "input_bytes": (8 if n < 2 else 1) * MIB})  # fmt: skip
    assert not job.found(tmp_path, RULE)
