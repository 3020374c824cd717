"""Levels of a curve over executors of a cluster: by what its manager says that it has free."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pyrometer.collect.launch import cluster_room
from pyrometer.collect.launch.cluster_room import Room, free_rooms, resource_managers
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.scaling.cluster_levels import check_factor, executors_in, levels_of_cluster
from pyrometer.scaling.plan import CORES_MAX, INSTANCES

MASTER: dict[str, Any] = {
    "url": "spark://m1:7077",
    "workers": [
        {"id": "worker-20261128230000-10.0.0.2-7078", "host": "10.0.0.2", "port": 7078,
         "webuiaddress": "http://10.0.0.2:8081", "cores": 8, "coresused": 0, "coresfree": 8,
         "memory": 30720, "memoryused": 0, "memoryfree": 30720, "resources": {},
         "resourcesused": {}, "resourcesfree": {}, "state": "ALIVE",
         "lastheartbeat": 1795906800000},
        {"id": "worker-20261128230000-10.0.0.3-7078", "host": "10.0.0.3", "port": 7078,
         "webuiaddress": "http://10.0.0.3:8081", "cores": 8, "coresused": 2, "coresfree": 6,
         "memory": 30720, "memoryused": 4096, "memoryfree": 26624, "resources": {},
         "resourcesused": {}, "resourcesfree": {}, "state": "ALIVE",
         "lastheartbeat": 1795906800000},
        {"id": "worker-20261128220000-10.0.0.4-7078", "host": "10.0.0.4", "port": 7078,
         "webuiaddress": "http://10.0.0.4:8081", "cores": 8, "coresused": 0, "coresfree": 8,
         "memory": 30720, "memoryused": 0, "memoryfree": 30720, "resources": {},
         "resourcesused": {}, "resourcesfree": {}, "state": "DEAD",
         "lastheartbeat": 1795903200000},
    ],
    "aliveworkers": 2, "cores": 16, "coresused": 2, "memory": 61440, "memoryused": 4096,
    "resources": [], "resourcesused": [], "activeapps": [], "completedapps": [],
    "activedrivers": [], "completeddrivers": [], "status": "ALIVE",
}  # fmt: skip
NODES = {
    "nodes": {
        "node": [
            {"rack": "/default-rack", "state": state, "id": f"h{number}:8041",
             "nodeHostName": f"h{number}", "nodeHTTPAddress": f"h{number}:8042",
             "healthReport": "", "version": "3.3.6", "numContainers": 1, "usedMemoryMB": 2048,
             "availMemoryMB": memory, "usedVirtualCores": 1, "availableVirtualCores": cores,
             "numRunningOpportContainers": 0}
            for number, (state, cores, memory) in enumerate(
                [("RUNNING", 7, 14336), ("RUNNING", -2, 2048), ("LOST", 8, 16384)]
            )
        ]
    }
}  # fmt: skip
ROOMS = [Room(8, 30 << 30), Room(6, 26 << 30)]


@contextmanager
def manager(answer: Callable[[str], bytes], status: int = 200) -> Iterator[tuple[int, list[str]]]:
    """Be the web page of a manager; gives its port, and what is asked for."""
    asked: list[str] = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer(self.path))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asked_of_master(answer: Any, status: int = 200) -> list[Room]:
    with manager(lambda _: json.dumps(answer).encode(), status) as (port, asked):
        found = free_rooms("spark://127.0.0.1:7077", {"SPARK_MASTER_WEBUI_PORT": str(port)})
    assert asked == ["/json/"]
    return found


def test_a_standalone_master_says_what_its_living_workers_have_free() -> None:
    assert asked_of_master(MASTER) == ROOMS


def test_of_several_masters_the_one_in_charge_is_heard() -> None:
    answers = iter([{**MASTER, "status": "STANDBY"}, MASTER])
    with manager(lambda _: json.dumps(next(answers)).encode()) as (port, _):
        env = {"SPARK_MASTER_WEBUI_PORT": str(port)}
        assert free_rooms("spark://127.0.0.1:7077,127.0.0.1:7078", env) == ROOMS


def test_yarns_manager_is_found_by_hadoops_settings(tmp_path: Path) -> None:
    with manager(lambda _: json.dumps(NODES).encode()) as (port, asked):
        (tmp_path / "yarn-site.xml").write_text(
            "<?xml version='1.0'?>\n<configuration>\n"
            "<!-- <property><name>yarn.http.policy</name><value>HTTPS_ONLY</value></property> -->"
            "<property><name>yarn.resourcemanager.hostname</name>\n <value>127.0.0.1</value>"
            "</property><property><name>yarn.resourcemanager.webapp.address</name>"
            f"<value>${{yarn.resourcemanager.hostname}}:{port}</value></property>"
            "</configuration>"
        )
        assert free_rooms("yarn", {"HADOOP_CONF_DIR": str(tmp_path)}) == [
            Room(7, 14 << 30), Room(0, 2 << 30),
        ]  # fmt: skip
    assert asked == ["/ws/v1/cluster/nodes"]


def test_every_manager_of_several_has_an_address(tmp_path: Path) -> None:
    names = {"ha.rm-ids": "a, b", "hostname.a": "h1", "webapp.address.b": "h2:1"}
    (tmp_path / "yarn-site.xml").write_text(
        "".join(
            f"<property><name>yarn.resourcemanager.{name}</name><value>{value}</value></property>"
            for name, value in names.items()
        )
    )
    assert resource_managers({"YARN_CONF_DIR": str(tmp_path)}) == ["http://h1:8088", "http://h2:1"]
    assert resource_managers({}) == []


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        (MASTER, 401, "status 401"),
        ({**MASTER, "status": "RECOVERING"}, 200, "not the master in charge"),
        ([1], 200, "not the master in charge"),
        ({"status": "ALIVE"}, 200, "lists no workers"),
        ({"status": "ALIVE", "workers": [{"state": "ALIVE", "coresfree": "8"}]}, 200, "coresfree"),
        ({**MASTER, "url": "x" * 5000}, 200, "too long"),
    ],
)
def test_what_a_master_should_not_say_is_refused(
    answer: Any, status: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_room, "MOST_BYTES", 4096)
    with pytest.raises(CapabilityError, match=why):
        asked_of_master(answer, status)


@pytest.mark.parametrize("master", ["", "local[4]", "k8s://https://h", "yarn", "spark://[:x"])
def test_where_nobody_can_be_asked_levels_have_to_be_given(
    master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="how many has the cluster") as caught:
        levels_of_cluster(INSTANCES, {"spark.master": master})
    assert "--levels" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"spark.executor.cores": "2"}, 7),
        ({"spark.executor.cores": "4"}, 3),
        ({"spark.executor.cores": "2", "spark.executor.memory": "12g"}, 4),
        ({"spark.executor.cores": "2", "spark.executor.memory": "12288"}, 4),
        # One executor takes a whole worker.
        ({}, 14),
        ({"spark.executor.memory": "28g"}, 8),
    ],
)
def test_an_executor_needs_cores_and_memory_of_one_worker(
    settings: dict[str, str], count: int
) -> None:
    assert executors_in(ROOMS, {"spark.master": "spark://m", **settings}) == count


def test_on_yarn_the_application_master_and_overhead_are_taken_off() -> None:
    settings = {"spark.master": "yarn", "spark.executor.cores": "2", "spark.executor.memory": "3g"}
    # 21 cores less one; 40 GiB less 896 MiB, of which an executor takes 3 GiB and 384 MiB.
    assert executors_in([Room(21, 40 << 30)], settings) == 10
    assert executors_in([Room(21, 20 << 30)], settings) == 5
    assert executors_in([Room(0, 0)], settings) == 0
    # On whatever node it is; and no executor is on two.
    each = {**settings, "spark.executor.cores": "5"}
    assert executors_in([Room(8, 40 << 30)] * 3, each) == 3
    assert executors_in([Room(5, 40 << 30)] * 3, each) == 2


def test_levels_are_powers_of_two_and_the_clusters_size() -> None:
    settings = {"spark.master": "spark://m", "spark.executor.cores": "2"}
    assert levels_of_cluster(CORES_MAX, settings, lambda *_: ROOMS) == ["2", "4", "8", "14"]
    yarn = {"spark.master": "yarn"}
    for cores, levels in ((16, "1 2 4 8 15"), (17, "1 2 4 8 16"), (18, "1 2 4 8 17")):
        rooms = [Room(cores, 1 << 40)]
        assert levels_of_cluster(INSTANCES, yarn, lambda *_, rooms=rooms: rooms) == levels.split()
    with pytest.raises(UsageError, match="room for 1 of these executors"):
        levels_of_cluster(INSTANCES, yarn, lambda *_: [Room(2, 1 << 40)])


def test_a_standalone_master_has_no_curve_over_instances() -> None:
    standalone = {"spark.master": "spark://m:7077"}
    with pytest.raises(UsageError, match="does not read spark") as caught:
        check_factor(INSTANCES, standalone)
    assert caught.value.remedy == "--over spark.cores.max"
    check_factor(CORES_MAX, standalone)
    check_factor(INSTANCES, {"spark.master": "yarn"})


@pytest.mark.parametrize(
    ("master", "factor", "remedy"),
    [
        ("yarn", INSTANCES, "--set spark.dynamicAllocation.enabled=false"),
        ("k8s://https://h", INSTANCES, "--set spark.dynamicAllocation.enabled=false"),
        ("spark://m", CORES_MAX, "--set spark.dynamicAllocation.enabled=false"),
        ("spark://m", INSTANCES,
         "--over spark.cores.max --set spark.dynamicAllocation.enabled=false"),
    ],
)  # fmt: skip
def test_where_dynamic_allocation_decides_there_is_no_curve(
    master: str, factor: str, remedy: str
) -> None:
    settings = {"spark.master": master, "spark.dynamicAllocation.enabled": "true"}
    with pytest.raises(UsageError, match="Spark itself decides how many") as caught:
        check_factor(factor, settings)
    assert caught.value.remedy == remedy
    check_factor(CORES_MAX, {**settings, "spark.dynamicAllocation.enabled": "false"})
