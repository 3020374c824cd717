"""CPU of processes is compared with Spark's only where the processes of all tasks were seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import HOST, PID, StageSpec, World, mono

from pyrometer.accounts.machine_schema import Cpu
from pyrometer.store import Run
from pyrometer.summary.summary import summary


def world(executor: str, host: str) -> World:
    made = World([StageSpec([40, 40], iteration=0)])
    for task in made.rows["tasks"]:
        task |= {"executor_id": executor, "host": host}
    return made


def process(made: World, executor: str, host: str, pid: int) -> None:
    made.add(
        "processes", host=host, pid=pid, role="executor", executor_id=executor,
        app_id="local-1", start_mono_ns=mono(0), facts="{}",
    )  # fmt: skip


def cpu(made: World, folder: Path) -> Cpu:
    with Run.open(made.write(folder)) as run:
        return summary(run, "application").cpu


def test_where_tasks_run_in_the_driver_all_is_seen(tmp_path: Path) -> None:
    found = cpu(world("driver", HOST), tmp_path)
    assert found.process_cpu_ns is not None
    assert found.executor_cpu_time_ns is not None
    assert found.ratio == pytest.approx(found.process_cpu_ns / found.executor_cpu_time_ns)
    assert found.reason is None


def test_an_executor_that_the_probe_follows_is_seen(tmp_path: Path) -> None:
    made = world("3", HOST)
    process(made, "3", HOST, PID)
    assert cpu(made, tmp_path).ratio is not None


@pytest.mark.parametrize("brought", [False, True])
def test_executors_on_other_hosts_are_not(tmp_path: Path, brought: bool) -> None:
    made = world("3", "198.18.0.12")
    if brought:
        # Its number may be that of the driver: numbers are a host's own.
        process(made, "3", "worker", PID)
    found = cpu(made, tmp_path)
    assert found.ratio is None
    assert found.reason == "no probe saw 1 of 1 executors"
    assert found.process_cpu_ns is not None
