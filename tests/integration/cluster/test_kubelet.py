"""The kubelet of the test bed, beside an API server that knows nothing but its pods."""

from __future__ import annotations

import http.client
import os
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster import hosts
from tests.cluster.bed import HostSpec
from tests.cluster.hosts import Host, Network
from tests.cluster.kube import credentials, manager
from tests.cluster.kube.kubelet.settings import Image, Settings
from tests.support import needs
from tests.support.kube.server import Server, secret

PATIENCE_S = 40.0
KUBELET = r"-m tests\.cluster\.kube\.kubelet /"
PORT = 10250

pytestmark = pytest.mark.slow


class Node:
    """A node under test.

    Parameters
    ----------
    network : Network
        Of two hosts: pods are on the first.
    folder : Path
        Of the test bed, on every host.
    """

    def __init__(self, network: Network, folder: Path) -> None:
        self.network, self.host, self.other = network, *network.hosts
        self.known = credentials.make(network.bed, folder / "known")
        self.server = Server(network.bed.gateway, 0, self.known)
        self.server.begin()
        self._settings = folder / "settings.json"
        self._code = manager.copy_kubelet(folder)
        ((first, last),) = manager.ranges(network.bed.subnet, 1)
        Settings(
            node=self.host.name, address=self.host.address,
            api=f"https://{network.bed.gateway}:{self.server.server_port}",
            ca=self.known.file("ca.crt"), certificate=self.known.file("server.crt"),
            key=self.known.file("server.key"), token="known", groups=self.host.groups,
            first_address=first, last_address=last, images={"host": Image(folder="/work-dir")},
            cores=1, memory_mib=256,
        ).write(self._settings)  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start the kubelet."""
        words = [os.path.realpath(sys.executable), "-S", "-m", "tests.cluster.kube.kubelet"]
        env = {"PYTHONPATH": str(self._code)}
        self.log = self.host.start("kubelet", [*words, str(self._settings)], env)

    def restart_server(self) -> None:
        """Have another server in place of the one that was there, with the same pods."""
        before = self.server
        before.end()
        self.server = Server(self.network.bed.gateway, before.server_port, self.known)
        self.server.pods, self.server.nodes = before.pods, before.nodes
        self.server.slices = before.slices
        self.server.begin()

    def state(self, name: str) -> dict[str, Any]:
        """Give the state of a pod's container."""
        (one,) = self.server.pods[name]["status"].get("containerStatuses") or [{"state": {}}]
        found = one["state"]
        assert isinstance(found, dict)
        return found

    def running(self, name: str) -> None:
        """Wait until the container of a pod runs."""
        wait_until(lambda: "running" in self.state(name), lambda: self.said())

    def ended(self, name: str) -> dict[str, Any]:
        """Wait until the container of a pod has ended; returns how."""
        wait_until(lambda: "terminated" in self.state(name), lambda: self.said())
        found = self.state(name)["terminated"]
        assert isinstance(found, dict)
        return found

    def gone(self, name: str, uid: str) -> None:
        """Wait until nothing of a pod is left, with the server and on the host."""
        wait_until(lambda: name not in self.server.pods, lambda: self.said())
        folder = self.host.path(f"/var/tmp/kubelet/pods/{uid}")
        wait_until(lambda: not folder.exists(), lambda: str(folder))
        for group in self.host.groups:
            assert list(Path(group, "kubepods").rglob(f"pod{uid}")) == []

    def log_of(self, name: str, query: str = "", show: bool = True) -> tuple[int, str]:
        """Ask for the log of a container, as the API server does."""
        context = ssl.create_default_context(cafile=self.known.file("ca.crt"))
        if show:
            context.load_cert_chain(self.known.file("caller.crt"), self.known.file("caller.key"))
        address = self.host.address
        asked = http.client.HTTPSConnection(address, PORT, timeout=PATIENCE_S, context=context)
        asked.request("GET", f"/containerLogs/default/{name}/main{query}")
        answer = asked.getresponse()
        return answer.status, answer.read().decode()

    def said(self) -> str:
        """What the kubelet wrote."""
        return self.log.read_text()[-2000:]


def wait_until(condition: Callable[[], bool], said: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, said()
        time.sleep(0.05)


OWN = """
echo name $(hostname)
echo address $(hostname -I)
echo told $WHERE
echo number $BASHPID
echo folder $(pwd)
echo files $(ls /tmp | wc -l)
echo read $(cat /opt/spark/conf/a /secret/password /var/run/secrets/token)
touch /opt/spark/conf/new 2>/dev/null && echo written
touch /tmp/new /opt/spark/new && echo made
grep -o "kubepods.*" /proc/self/cgroup | sort -u
"""


def shell(script: str, **more: Any) -> dict[str, Any]:
    return {"command": ["bash", "-c", script], **more}


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    if lack := hosts.lacking():
        needs.machine_lacks(lack)
    needs.tool("openssl")
    with hosts.network("itlet", [HostSpec(1.0, 512), HostSpec(0.5, 128)]) as network:
        made = Node(network, network.bed.folder)
        yield made
        made.server.end()
    assert hosts.leftovers("itlet") == []


def test_how_a_container_ended_and_what_it_wrote_is_told(node: Node) -> None:
    uid = node.server.create("ends", shell("echo one; echo two >&2; exit 3"))
    assert node.ended("ends")["exitCode"] == 3
    assert node.server.pods["ends"]["status"]["phase"] == "Failed"
    assert node.log_of("ends") == (200, "one\ntwo\n")
    assert node.log_of("ends", "?tailLines=1") == (200, "two\n")
    assert node.log_of("ends", "?follow=true") == (200, "one\ntwo\n")
    assert node.log_of("ends", "?previous=true")[0] == 400
    assert node.log_of("none")[0] == 404
    node.server.delete("ends", 30)
    node.gone("ends", uid)


def test_a_log_is_shown_to_the_api_server_alone(node: Node) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        node.log_of("none", show=False)


def test_a_pod_has_a_place_of_its_own(node: Node) -> None:
    node.server.objects["/api/v1/namespaces/default/configmaps/conf"] = {"data": {"a": "1\n"}}
    node.server.objects["/api/v1/namespaces/default/secrets/key"] = secret(password="2\n")
    token = {"serviceAccountToken": {"path": "token"}}
    address = {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    uid = node.server.create(
        "own",
        shell(
            OWN,
            env=[{"name": "WHERE", **address}],
            volumeMounts=[
                {"name": "c", "mountPath": "/opt/spark/conf"},
                {"name": "s", "mountPath": "/secret"},
                {"name": "t", "mountPath": "/var/run/secrets", "readOnly": True},
            ],
        ),
        serviceAccountName="spark",
        volumes=[
            {"name": "c", "configMap": {"name": "conf"}},
            {"name": "s", "secret": {"secretName": "key"}},
            {"name": "t", "projected": {"sources": [token]}},
        ],
    )
    assert node.ended("own")["exitCode"] == 0
    where = node.server.pods["own"]["status"]["podIP"]
    *lines, group = node.log_of("own")[1].splitlines()
    assert lines == [
        "name own", f"address {where}", f"told {where}", "number 2", "folder /work-dir",
        "files 0", "read 1 2 token-of-spark", "made",
    ]  # fmt: skip
    assert group.startswith(f"kubepods/besteffort/pod{uid}/")
    assert not Path("/opt/spark/conf").exists()
    node.server.delete("own", 0)
    node.gone("own", uid)


def test_pods_reach_one_another_hosts_and_the_machine(node: Node) -> None:
    serving = shell("exec python3 -m http.server 8000 --bind $(hostname -I)")
    uid = node.server.create("serves", serving)
    node.running("serves")
    address = node.server.pods["serves"]["status"]["podIP"]
    asking = (
        f"import urllib.request as u; print(u.urlopen('http://{address}:8000/', timeout=5).status)"
    )

    def asked(run: Callable[[], str]) -> None:
        wait_until(lambda: run().strip().endswith("200"), lambda: run())

    def by_host(host: Host) -> str:
        return host.run(["python3", "-c", asking], check=False).stdout

    asked(lambda: by_host(node.other))
    asked(lambda: by_host(node.host))
    other = node.server.create("asks", {"command": ["python3", "-c", asking]})
    assert node.ended("asks")["exitCode"] == 0, node.log_of("asks")
    connection = http.client.HTTPConnection(address, 8000, timeout=5)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    for name, one in (("serves", uid), ("asks", other)):
        node.server.delete(name, 1)
        node.gone(name, one)
    assert "pod" not in node.host.run(["ip", "-brief", "link"]).stdout


def test_a_pod_is_asked_to_end_and_then_made_to(node: Node) -> None:
    loop = "while true; do sleep 0.05; done"
    asked = node.server.create("polite", shell(f"trap 'exit 7' TERM; {loop}"))
    forced = node.server.create("deaf", shell(f"trap '' TERM; sleep 1000 & {loop}"))
    for name in ("polite", "deaf"):
        node.running(name)
        node.server.delete(name, 1)
    node.gone("polite", asked)
    node.gone("deaf", forced)
    told = [pod for _, pod in node.server.events if "status" in pod]
    states = [
        (pod["metadata"]["uid"], one["state"]["terminated"]["exitCode"])
        for pod in told
        for one in pod["status"].get("containerStatuses", [])
        if "terminated" in one["state"]
    ]
    assert (asked, 7) in states
    assert (forced, 137) in states


def test_a_container_that_wants_more_memory_than_it_may_have_is_told_apart(node: Node) -> None:
    if not any(Path(one, "memory.limit_in_bytes").exists() for one in node.host.groups):
        needs.machine_lacks("control groups of version 1 for memory")
    eats = {"command": ["python3", "-c", "x = bytearray(200 << 20); print(len(x))"]}
    uid = node.server.create("eats", {**eats, "resources": {"limits": {"memory": "48Mi"}}})
    assert node.ended("eats")["reason"] == "OOMKilled"
    assert node.ended("eats")["exitCode"] == 137
    node.server.delete("eats", 0)
    node.gone("eats", uid)


def test_a_pod_waits_for_what_it_needs(node: Node) -> None:
    volume = {"name": "c", "configMap": {"name": "later"}}
    uid = node.server.create("waits", shell("true"), volumes=[volume])
    wait_until(lambda: "later" in str(node.state("waits")), node.said)
    assert node.state("waits")["waiting"]["reason"] == "ContainerCreating"
    node.server.objects["/api/v1/namespaces/default/configmaps/later"] = {"data": {}}
    assert node.ended("waits")["exitCode"] == 0
    node.server.delete("waits", 0)
    node.gone("waits", uid)


@pytest.mark.parametrize(
    ("container", "reason"),
    [
        ({"image": "apache/spark:4", "command": ["true"]}, "ErrImagePull"),
        ({"command": ["true"], "livenessProbe": {"exec": {}}}, "CreateContainerConfigError"),
        ({}, "CreateContainerConfigError"),
    ],
)
def test_what_cannot_be_run_is_not_run(node: Node, container: dict[str, Any], reason: str) -> None:
    uid = node.server.create("never", container)
    wait_until(lambda: node.state("never").get("waiting", {}).get("reason") == reason, node.said)
    node.server.delete("never", 30)
    node.gone("never", uid)


def test_a_command_that_is_none_says_so(node: Node) -> None:
    uid = node.server.create("nothing", {"command": ["/no/such/program"]})
    told = node.ended("nothing")
    assert told["reason"] == "StartError"
    assert "/no/such/program" in told["message"]
    node.server.delete("nothing", 0)
    node.gone("nothing", uid)


def test_a_container_that_is_to_run_always_is_started_again(node: Node) -> None:
    uid = node.server.create("again", shell("exit 1"), restartPolicy="Always")
    wait_until(
        lambda: node.state("again").get("waiting", {}).get("reason") == "CrashLoopBackOff",
        node.said,
    )
    assert node.server.pods["again"]["status"]["phase"] == "Running"
    node.server.delete("again", 1)
    node.gone("again", uid)


def test_a_pod_of_the_hosts_processes_sees_them(node: Node) -> None:
    script = "tr '\\0' ' ' < /proc/1/cmdline; hostname"
    uid = node.server.create("sees", shell(script), hostPID=True, hostNetwork=True)
    assert node.ended("sees")["exitCode"] == 0
    said = node.log_of("sees")[1]
    assert "inside.py" in said
    assert said.strip().endswith(node.host.name)
    node.server.delete("sees", 0)
    node.gone("sees", uid)


def test_pods_go_on_without_a_kubelet_and_what_became_of_them_is_told_later(node: Node) -> None:
    stays = node.server.create(
        "stays", shell("while [ ! -e /tmp/go ]; do sleep 0.05; done; exit 4")
    )
    leaves = node.server.create("leaves", shell("while true; do sleep 0.05; done"))
    for name in ("stays", "leaves"):
        node.running(name)
    before = node.state("stays")["running"]["startedAt"]
    assert node.host.kill(KUBELET)
    wait_until(lambda: not node.host.kill(KUBELET), node.said)
    files = node.host.path(f"/var/tmp/kubelet/pods/{stays}/containers/main/files")
    (files / "tmp" / "go").touch()
    # One that was deleted meanwhile.
    node.server.remove("leaves")
    node.start()
    told = node.ended("stays")
    assert told["exitCode"] == 4
    assert told["startedAt"] == before
    node.gone("leaves", leaves)
    node.server.delete("stays", 1)
    node.gone("stays", stays)


def test_names_are_kept_by_the_next_kubelet(node: Node) -> None:
    slice_of = {
        "metadata": {
            "uid": "s",
            "name": "svc-1",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "svc"},
        },
        "endpoints": [{"addresses": ["192.0.2.7"], "conditions": {"ready": True}}],
    }
    loop = "until getent hosts svc.default.svc; do sleep 0.05; done"
    uid = node.server.create("names", shell(loop))
    node.running("names")
    assert node.host.kill(KUBELET)
    node.start()
    node.server.slices.append(slice_of)
    node.restart_server()
    assert node.ended("names")["exitCode"] == 0
    assert node.log_of("names")[1].split()[0] == "192.0.2.7"
    node.server.delete("names", 1)
    node.gone("names", uid)


def test_a_container_runs_as_who_it_is_to_run_as(node: Node) -> None:
    context = {"runAsUser": 185, "runAsGroup": 186}
    script = shell("id -u; id -g; id -G; touch /tmp/own", securityContext={"runAsUser": 187})
    uid = node.server.create("other", script, securityContext=context)
    assert node.ended("other")["exitCode"] == 0
    assert node.log_of("other")[1].split() == ["187", "186", "186"]
    node.server.delete("other", 0)
    node.gone("other", uid)


def test_pods_go_on_without_a_server(node: Node) -> None:
    stays = node.server.create(
        "alone", shell("while [ ! -e /tmp/go ]; do sleep 0.05; done; exit 5")
    )
    node.running("alone")
    node.restart_server()
    (node.host.path(f"/var/tmp/kubelet/pods/{stays}/containers/main/files") / "tmp/go").touch()
    assert node.ended("alone")["exitCode"] == 5
    node.server.delete("alone", 1)
    node.gone("alone", stays)
