from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, job, judged, only, sleeping, workers
from tests.support.hosts.two_hosts import WEST, one_waits

from pyrometer.explain.catalogue.machine.network_slow import RULE


def test_tasks_wait_for_sockets(tmp_path: Path) -> None:
    world = job()
    sleeping(world, "network")
    found = only(world.write(tmp_path), RULE)
    assert holds(found, 4 * 0.2 * 0.65)
    assert found.place.stage_id == 0
    assert found.evidence[0].estimate.low is None  # how many samples there are is not counted


def test_one_host_of_two_waits_for_sockets(tmp_path: Path) -> None:
    found = only(one_waits("network").write(tmp_path), RULE)
    assert holds(found, 0.2 * 1.6 * 0.65)
    assert (found.place.host, found.place.stage_id) == (WEST, 0)


def test_all_hosts_wait_for_sockets(tmp_path: Path) -> None:
    two = one_waits("network")
    for row in two.rows["samples"]:
        if row.get("wait_class"):
            row["wait_class"] = "network"
    found = only(two.write(tmp_path), RULE)
    assert (found.place.host, found.place.places_count) == (None, 1)


def test_the_socket_of_a_python_worker(tmp_path: Path) -> None:
    world = job()
    sleeping(world, "network")
    workers(world, function=1000)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(job().write(tmp_path), RULE).findings == []
