"""CPU of processes is compared with Spark's only where the processes of all tasks were seen.

Where they were not, a doubt names the hosts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import HOST, PID, StageSpec, World, mono

from pyrometer.accounts.machine_schema import Cpu
from pyrometer.store import Run
from pyrometer.summary.rules.executors_unseen import RULE, SHOWN
from pyrometer.summary.schema import Summary
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


def shown(made: World, folder: Path) -> Summary:
    with Run.open(made.write(folder)) as run:
        return summary(run, "application")


def cpu(made: World, folder: Path) -> Cpu:
    return shown(made, folder).cpu


def doubted(found: Summary) -> list[str]:
    return [doubt.message for doubt in found.doubts if doubt.code == RULE.code]


def test_where_tasks_run_in_the_driver_all_is_seen(tmp_path: Path) -> None:
    whole = shown(world("driver", HOST), tmp_path)
    assert doubted(whole) == []
    found = whole.cpu
    assert found.process_cpu_ns is not None
    assert found.executor_cpu_time_ns is not None
    assert found.ratio == pytest.approx(found.process_cpu_ns / found.executor_cpu_time_ns)
    assert found.reason is None


def test_an_executor_that_the_probe_follows_is_seen(tmp_path: Path) -> None:
    made = world("3", HOST)
    process(made, "3", HOST, PID)
    found = shown(made, tmp_path)
    assert found.cpu.ratio is not None
    assert doubted(found) == []


@pytest.mark.parametrize("brought", [False, True])
def test_executors_on_other_hosts_are_not(tmp_path: Path, brought: bool) -> None:
    made = world("3", "198.18.0.12")
    if brought:
        # Its number may be that of the driver: numbers are a host's own.
        process(made, "3", "worker", PID)
    whole = shown(made, tmp_path)
    assert doubted(whole) == [
        "no probe saw 1 of 1 executors that ran tasks: 198.18.0.12 (1 executor)"
    ]
    found = whole.cpu
    assert found.ratio is None
    assert found.reason == "no probe saw 1 of 1 executors"
    assert found.process_cpu_ns is not None


def test_an_executor_of_another_application_is_not_seen_for_its_number(tmp_path: Path) -> None:
    made = world("3", HOST)
    process(made, "3", HOST, PID)
    other = {"app_index": 1, "app_id": "local-2", "host": "198.18.0.12"}
    for table, names in (
        ("apps", ("app_index", "app_id")),
        ("stages", ("app_index",)),
        ("tasks", ("app_index", "host")),
    ):
        own = {name: other[name] for name in names}
        made.rows[table] += [{**row, **own} for row in made.rows[table]]
    assert doubted(shown(made, tmp_path)) == [
        "no probe saw 1 of 2 executors that ran tasks: 198.18.0.12 (1 executor)"
    ]


def test_a_process_that_the_probe_saw_and_that_names_no_executor_vouches_for_none(
    tmp_path: Path,
) -> None:
    made = world("3", "198.18.0.12")
    made.add(
        "processes", host=HOST, pid=PID, role="executor", executor_id=None,
        app_id="local-1", start_mono_ns=mono(0), facts="{}",
    )  # fmt: skip
    assert cpu(made, tmp_path).reason == "no probe saw 1 of 1 executors"


def test_of_many_hosts_the_first_are_named(tmp_path: Path) -> None:
    made = World([StageSpec([40] * (SHOWN + 2), iteration=0)])
    for number, task in enumerate(made.rows["tasks"]):
        task |= {"executor_id": str(number), "host": f"w-{number:02}"}
    (message,) = doubted(shown(made, tmp_path))
    assert f"w-{SHOWN - 1} (1 executor), 2 more hosts" in message
    assert f"w-{SHOWN} " not in message


def test_where_no_probe_ran_at_all_the_views_say_so(tmp_path: Path) -> None:
    made = world("3", "198.18.0.12")
    del made.rows["thread_counters"], made.rows["os_series"]
    assert doubted(shown(made, tmp_path)) == []
