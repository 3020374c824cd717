"""The law of contention that a run's ledger gives: of which tasks, and of which CPUs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosts.two_hosts import WEST, TwoHosts
from tests.support.tables import MS, StageSpec, World, wall

from pyrometer.simulation.contention import Contention, of_ledger
from pyrometer.simulation.measured import measured_of
from pyrometer.store import Run
from pyrometer.store.manifest import Host, Manifest, Workload, write_manifest
from pyrometer.window.windows import choose


def found_of(folder: Path, cpus: int) -> tuple[Contention | None, str | None]:
    """Find the law of the first application of a run, launched on a host with so many CPUs."""
    made = Manifest(
        run_id="r", created_wall_ns=1, pyrometer_version="0", workload=Workload(name="w"),
        profile="light", state="finished", host=Host(hostname="launcher", cpus_count=cpus),
    )  # fmt: skip
    write_manifest(folder, made)
    with Run.open(folder) as run:
        window = choose(run, None)
        return of_ledger(run, measured_of(run, window, 0), window.name, None)


def law_of(folder: Path, cpus: int) -> Contention:
    law, reason = found_of(folder, cpus)
    assert law is not None, reason
    return law


def hosts_of(folder: Path, west: dict[str, Any] | None) -> Path:
    """Write a run on a host of four CPUs and on one of which these facts are known."""
    hosts = TwoHosts([StageSpec([40] * 8)], cpus=4)
    for row in hosts.rows["processes"]:
        if row["host"] == WEST:
            row["facts"] = None if west is None else json.dumps(west)
    return hosts.write(folder)


def test_the_law_is_of_the_tasks_of_one_application(tmp_path: Path) -> None:
    world = World([StageSpec([40] * 4)])
    alone = law_of(world.write(tmp_path / "alone"), 4)
    # The stage of another application has the same number, and more time.
    app = world.rows["apps"][0]
    world.add("apps", **{**app, "app_index": 1, "app_id": "a", "end_wall_ns": wall(2000)})
    for number, task in enumerate(list(world.rows["tasks"]), 100):
        end = task["finish_wall_ns"] + 1000 * MS
        other = {"app_index": 1, "task_attempt_id": number, "finish_wall_ns": end}
        world.add("tasks", **{**task, **other})
    law = law_of(world.write(tmp_path / "beside"), 4)
    assert alone.load is not None
    assert alone.load.keys() == {(0, 0)}
    assert law.load == pytest.approx(alone.load)


def test_cpus_are_of_the_hosts_that_ran_tasks(tmp_path: Path) -> None:
    hosts = TwoHosts([StageSpec([40] * 8)], cpus=4)
    assert law_of(hosts.write(tmp_path / "two"), 64).cpus == 4
    assert law_of(World([StageSpec([40] * 8)]).write(tmp_path / "one"), 64).cpus == 64


def test_cpus_are_of_the_hosts_whose_cpus_are_known(tmp_path: Path) -> None:
    assert law_of(hosts_of(tmp_path, None), 64).cpus == 4


def test_hosts_of_other_cpus_have_no_law_in_common(tmp_path: Path) -> None:
    law, reason = found_of(hosts_of(tmp_path, {"cpus_count": 8}), 64)
    assert law is None
    assert reason == "its tasks ran on hosts of 4 and 8 CPUs"
