"""Kubernetes over three hosts: drivers of the machine and on the cluster, agents, and deaths."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cluster import hosts
from tests.cluster.__main__ import environments, specs
from tests.cluster.kube import build, manager
from tests.cluster.kube.kubelet.api import ApiError
from tests.cluster.kube.manager import HOST_IMAGE, NAMESPACE, Kubernetes
from tests.support import needs
from tests.support.kube import cluster as kube
from tests.support.kube.cluster import Submission, exit_code, node_of, pods, wait_until

from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.core.errors import CapabilityError
from pyrometer.store import Run
from pyrometer.store.chunks import join_chunks
from pyrometer.workloads.spark import find_spark

ROOT = Path(__file__).parents[3]
KEPT = ["--conf", "spark.kubernetes.executor.deleteOnTermination=false"]
"""Pods of executors stay when these have ended, and their files with them."""
NODES = ["itkube-2", "itkube-3"]
KUBELET = r"-m tests\.cluster\.kube\.kubelet /"
SETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def bed() -> Iterator[Kubernetes]:
    if lack := hosts.lacking():
        needs.machine_lacks(lack)
    needs.tool("openssl", "setpriv")
    try:
        build.control_plane()
    except CapabilityError as error:
        needs.missing(error.message, f"{error.remedy} (ten minutes, once)")
    sparks = [find_spark(ROOT / ".venv"), find_spark(needs.spark35())]
    with hosts.network(
        "itkube", specs(3, 1.0, 3072), shared=environments(), hidden=[str(ROOT)]
    ) as up:
        yield manager.start(up, *sparks)
    assert hosts.leftovers("itkube") == []


@pytest.fixture(scope="module", params=[".venv", ".venv-spark35"], ids=["4.x", "3.5"])
def cluster(bed: Kubernetes, request: pytest.FixtureRequest) -> Kubernetes:
    return bed.of(find_spark(ROOT / request.param))


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """End what a test that failed has submitted."""
    yield
    while kube.SUBMITTED:
        kube.SUBMITTED.pop().end()


@pytest.fixture(scope="module")
def agent(bed: Kubernetes) -> str:
    """Give the agent where every host has it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    built = target / "release" / "pyro-agent"
    if not built.is_file():
        needs.missing("pyro-agent", "cargo build --locked --release -p pyro-agent")
    shutil.copy(built, bed.folder)
    shutil.copy(ROOT / "python" / "pyrometer" / "_bundled" / "pyro-probe", bed.folder)
    return str(bed.folder / "pyro-agent")


def delete(cluster: Kubernetes, path: str) -> None:
    """Delete an object, and wait until it is gone."""

    def gone() -> bool:
        try:
            cluster.api().ask("GET", path)
        except ApiError as error:
            return error.status == 404
        return False

    cluster.api().ask("DELETE", path)
    wait_until(gone, path)


def recording(run: Path) -> list[str]:
    """Give what has a command recorded."""
    return [sys.executable, "-m", "pyrometer", "run", "--no-report", "-o", str(run), "--"]


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_executors_of_an_application_are_on_both_nodes(cluster: Kubernetes, mode: str) -> None:
    job = Submission(cluster, mode)
    said = job.ended()
    assert said.total == kube.TOTAL
    assert sorted(node_of(cluster, address) for address in said.executors.values()) == NODES
    assert sorted(said.executors) == [f"{job.name}-exec-1", f"{job.name}-exec-2"]
    wait_until(lambda: job.pods("executor") == [], "executors are deleted by Spark")
    if mode == "cluster":
        (driver,) = job.pods("driver")
        assert driver["status"]["phase"] == "Succeeded"
        assert exit_code(driver) == 0
        delete(cluster, f"{kube.PODS}/{job.name}-driver")


def test_nothing_of_a_deleted_application_stays_on_its_nodes(bed: Kubernetes) -> None:
    job = Submission(bed, "cluster", pause_s=30)
    job.begun()
    uids = {one["metadata"]["uid"] for one in [*job.pods("driver"), *job.pods("executor")]}
    assert len(uids) == 3
    # Executors belong to their driver: the cluster deletes them with it.
    delete(bed, f"{kube.PODS}/{job.name}-driver")
    job.end()
    wait_until(lambda: job.pods("executor") == [], "executors are deleted with their driver")
    nodes = bed.network.hosts[1:]
    wait_until(
        lambda: (
            not any(uid in line for h in nodes for line in h.processes().values() for uid in uids)
        ),
        "processes of pods end",
    )
    for host in nodes:
        assert [one.name for one in host.path("/var/tmp/kubelet/pods").iterdir()] == []
        assert "pod" not in host.run(["ip", "-brief", "link"]).stdout
        for group in host.groups:
            assert list(Path(group, "kubepods").rglob("pod*")) == []


def test_the_agent_finds_every_executor_by_its_command_line(
    cluster: Kubernetes, agent: str
) -> None:
    job = Submission(cluster, "cluster", pause_s=0.5)
    job.begun()
    known = {one["metadata"]["name"]: one for one in job.pods("executor")}
    (driver,) = job.pods("driver")
    found: dict[str, dict[str, Any]] = {}
    drivers = []
    for host in cluster.network.hosts[1:]:
        listed = json.loads(host.run([agent, "executors", "--json"]).stdout)["executors"]
        drivers += [one for one in listed if one["role"] == "driver"]
        found |= {one["pod"]: {**one, "node": host.name} for one in listed if one["pod"]}
    assert set(found) == set(known)
    for name, one in found.items():
        pod = known[name]
        assert one["manager"] == "kubernetes"
        assert one["role"] == "executor"
        assert one["app"] == pod["metadata"]["labels"]["spark-app-selector"]
        assert one["executor"] == pod["metadata"]["labels"]["spark-exec-id"]
        assert one["hostname"] == pod["status"]["podIP"]
        assert one["node"] == pod["spec"]["nodeName"]
        assert one["pod_uid"] == pod["metadata"]["uid"]
        (container,) = pod["status"]["containerStatuses"]
        assert container["containerID"].endswith(one["container"])
    assert [one["pod_uid"] for one in drivers] == [driver["metadata"]["uid"]]
    assert job.ended().total == kube.TOTAL
    delete(cluster, f"{kube.PODS}/{job.name}-driver")


def test_agents_of_a_daemon_set_record_what_runs_beside_them(
    bed: Kubernetes, agent: str, tmp_path: Path
) -> None:
    store = bed.folder / "store"
    store.mkdir()
    command = [agent, "host", "--to", store.as_uri(), "--host", "$(NODE)"]
    node = {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    container = {
        "name": "pyro-agent", "image": HOST_IMAGE, "env": [node],
        "command": [*command, "--work-dir", "/work-dir", "--every", "1"],
        "securityContext": {"privileged": True},
        "resources": {"limits": {"memory": "128Mi"}},
        "volumeMounts": [{"name": "work", "mountPath": "/work-dir"}],
    }  # fmt: skip
    place = {"path": "/var/tmp/pyro-agent", "type": "DirectoryOrCreate"}
    labels = {"app": "pyro-agent"}
    bed.api().ask("POST", SETS, {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "pyro-agent"},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {
                "hostPID": True, "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 10, "containers": [container],
                "volumes": [{"name": "work", "hostPath": place}],
            },
        }},
    })  # fmt: skip
    wait_until(
        lambda: [p["status"]["phase"] for p in pods(bed, "app=pyro-agent")] == ["Running"] * 2,
        "an agent on each node",
    )
    job = Submission(bed, "client", pause_s=0.4)
    said = job.ended()
    delete(bed, f"{SETS}/pyro-agent")
    wait_until(lambda: pods(bed, "app=pyro-agent") == [], "agents end")
    assert said.total == kube.TOTAL
    streams = join_chunks(store, tmp_path).streams
    assert {one.host for one in streams} == set(NODES)
    assert [one.damaged_count or one.missing_count for one in streams] == [0] * len(streams)
    recorded = [json.loads(one.read_text())["found"] for one in tmp_path.rglob("executor-*.json")]
    executors = {one["pod"]: one for one in recorded if one["role"] == "executor"}
    assert set(executors) == set(said.executors)
    for name, one in executors.items():
        assert one["hostname"] == said.executors[name]
    for host in NODES:
        assert any(one.host == host and (one.file or "").endswith(".arrows") for one in streams)


def test_a_run_names_executors_whose_files_stayed_in_their_pods(
    cluster: Kubernetes, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    job = Submission(cluster, "client", before=recording(run), options=KEPT)
    said = job.ended()
    assert said.total == kube.TOTAL
    doubts = json.dumps(kube.shown(run)["doubts"])
    assert "2 executor(s) kept their records on their hosts" in doubts
    assert "no probe saw 2 of 2 executors that ran tasks" in doubts
    for name in said.executors:
        # A container takes the name of its pod for that of its host.
        assert f": {name}:/tmp/pyrometer-" in doubts
    for pod in job.pods("executor"):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        (host,) = (one for one in cluster.network.hosts if one.name == pod["spec"]["nodeName"])
        files = host.path(f"/var/tmp/kubelet/pods/{uid}/containers/spark-kubernetes-executor/files")
        (kept,) = files.glob("tmp/pyrometer-*/plugin-executor-*.ndjson")
        records = [json.loads(line) for line in kept.read_text().splitlines()]
        assert {one["host"] for one in records if one["k"] == "process"} == {name}
        assert any(one["k"] == "task" for one in records)
        delete(cluster, f"{kube.PODS}/{name}")


def test_a_run_says_what_executors_waited_for_before_their_processes_started(
    cluster: Kubernetes, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    job = Submission(cluster, "client", before=recording(run), options=KEPT)
    assert job.ended().total == kube.TOTAL
    pods = {one["metadata"]["labels"]["spark-exec-id"]: one for one in job.pods("executor")}
    with Run.open(run) as opened:
        rows = opened.tables.records("SELECT * FROM executor_pods")
        memos = {row.path: row for row in ledger_report(opened).slot_view.memos}
    assert {row["executor_id"] for row in rows} == set(pods) == {"1", "2"}
    for row in rows:
        pod = pods[row["executor_id"]]
        conditions = {one["type"]: one for one in pod["status"]["conditions"]}
        (container,) = pod["status"]["containerStatuses"]
        ((_, state),) = container["state"].items()
        told = {
            "created": pod["metadata"]["creationTimestamp"],
            "scheduled": conditions["PodScheduled"]["lastTransitionTime"],
            "started": state["startedAt"],
        }
        assert (row["pod"], row["node"]) == (pod["metadata"]["name"], pod["spec"]["nodeName"])
        for name, text in told.items():
            assert row[f"{name}_wall_ns"] == datetime.fromisoformat(text).timestamp() * 10**9
        assert row["created_wall_ns"] <= row["scheduled_wall_ns"] <= row["prepared_wall_ns"]
        assert row["started_wall_ns"] <= row["seen_wall_ns"]
    # Records of the executors stayed in their pods: their containers stand for the processes.
    assert "executors/starting" in memos
    assert "executors/not_granted_or_starting" not in memos
    assert memos["executors/not_granted/came_later/image_and_container"].n == 2
    for pod in pods.values():
        delete(cluster, f"{kube.PODS}/{pod['metadata']['name']}")


def test_a_run_of_a_driver_on_the_cluster_says_that_it_saw_none(
    cluster: Kubernetes, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    job = Submission(cluster, "cluster", before=recording(run))
    assert job.ended().total == kube.TOTAL
    doubts = json.dumps(kube.shown(run)["doubts"])
    assert "with deploy mode cluster the driver runs on another machine" in doubts
    delete(cluster, f"{kube.PODS}/{job.name}-driver")


def test_a_pod_that_is_deleted_is_replaced(bed: Kubernetes) -> None:
    job = Submission(bed, "client", pause_s=0.5)
    job.begun()
    bed.api().ask("DELETE", f"{kube.PODS}/{job.name}-exec-1")
    said = job.ended()
    assert said.total == kube.TOTAL
    assert f"{job.name}-exec-3" in said.executors


def test_how_a_killed_executor_ended_is_told(bed: Kubernetes) -> None:
    job = Submission(bed, "client", 0.5, options=KEPT)
    job.begun()
    killed = [
        h for h in bed.network.hosts[1:] if h.kill(rf"^\S*java .*--podName {job.name}-exec-2$")
    ]
    assert len(killed) == 1

    def ended() -> bool:
        one = next(p for p in job.pods("executor") if p["metadata"]["name"].endswith("-exec-2"))
        return one["status"]["phase"] == "Failed" and exit_code(one) == 128 + signal.SIGKILL

    wait_until(ended, "the pod is told to have failed")
    assert job.ended().total == kube.TOTAL
    for one in job.pods("executor"):
        delete(bed, f"{kube.PODS}/{one['metadata']['name']}")


@pytest.mark.parametrize("killed", ["kubelet", "kube-apiserver"])
def test_pods_outlive_who_looks_after_them(bed: Kubernetes, killed: str) -> None:
    job = Submission(bed, "cluster", pause_s=0.5)
    job.begun()
    before = {one["metadata"]["name"]: one["metadata"]["uid"] for one in job.pods("executor")}
    if killed == "kubelet":
        nodes = bed.network.hosts[1:]
        assert all(host.kill(KUBELET) for host in nodes)
        for host in nodes:
            bed.start_kubelet(host)
    else:
        assert bed.network.hosts[0].kill(r"/control-plane kube-apiserver ")
        bed.start_api_server()
        manager.until("the API server", lambda: bed.api().text("/readyz") == "ok")
    after = {one["metadata"]["name"]: one["metadata"]["uid"] for one in job.pods("executor")}
    assert after == before
    said = job.ended()
    assert said.total == kube.TOTAL
    assert sorted(said.executors) == sorted(before)
    (driver,) = job.pods("driver")
    assert exit_code(driver) == 0
    delete(bed, f"{kube.PODS}/{job.name}-driver")


def test_a_node_whose_kubelet_says_nothing_takes_no_pods(bed: Kubernetes) -> None:
    host = bed.network.hosts[1]
    assert host.kill(KUBELET)
    wait_until(lambda: manager.ready_nodes(bed.api()) == {NODES[1]}, "it is not ready")
    bed.start_kubelet(host)
    wait_until(lambda: manager.ready_nodes(bed.api()) == set(NODES), "it is ready again")


def test_an_image_that_is_none_is_said_to_be_none(bed: Kubernetes) -> None:
    container = {"name": "c", "image": "apache/spark:4", "command": ["true"]}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "none"}}
    bed.api().ask("POST", kube.PODS, {**made, "spec": {"containers": [container]}})

    def waiting() -> dict[str, Any]:
        (one,) = bed.api().ask("GET", f"{kube.PODS}/none")["status"].get("containerStatuses") or [
            {}
        ]
        found = one.get("state", {}).get("waiting", {})
        assert isinstance(found, dict)
        return found

    wait_until(lambda: waiting().get("reason") == "ErrImagePull", "the image is missed")
    assert bed.image in waiting()["message"]
    delete(bed, f"{kube.PODS}/none")
