from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import S, holds, job, judged, only
from tests.support.hosts.two_hosts import WEST, one_waits
from tests.support.tables import World

from pyrometer.explain.catalogue.machine.contended_steal import RULE


def stolen(seconds: float) -> World:
    world = job(on_cpu=0.7, run_queue=0.1, cpus=2)
    last = [row for row in world.rows["os_series"] if row["name"] == "cpu_steal_ns"][-1]
    last["value"] = round(seconds * S)
    return world


def test_the_hypervisor_takes_two_seconds(tmp_path: Path) -> None:
    found = only(stolen(2).write(tmp_path), RULE)
    saving = found.saving.elapsed_ns
    assert saving.value is not None
    assert 0 < saving.value <= S
    assert found.place.stage_id == 0
    assert found.remedies[0].kind == "machine"


def test_one_host_of_two_is_stolen_from(tmp_path: Path) -> None:
    two = one_waits()
    (_, last) = [row for row in two.rows["os_series"]
                 if row["name"] == "cpu_steal_ns" and row["host"] == WEST]  # fmt: skip
    last["value"] = S
    found = only(two.write(tmp_path), RULE)
    # A second on two slots, nearly all of it from tasks; at least half comes true.
    assert holds(found, 0.4)
    assert (found.place.host, found.place.stage_id) == (WEST, 0)


def test_a_tick_is_below_the_noise(tmp_path: Path) -> None:
    found = judged(stolen(0.01).write(tmp_path), RULE).findings
    assert not any(one.shown for one in found)


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(stolen(0).write(tmp_path), RULE).findings == []
