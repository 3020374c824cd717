"""From descriptions of pods to what is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.kube.kubelet import groups, network
from tests.cluster.kube.kubelet.names import table, text
from tests.cluster.kube.kubelet.resolve import ImageError, mounts, sandbox, unsupported
from tests.cluster.kube.kubelet.sandbox import read, write
from tests.cluster.kube.kubelet.settings import Image
from tests.cluster.kube.kubelet.tree import Mount

UID = "0a1b2c3d-0000-4000-8000-000000000001"
IMAGES = {
    "i": Image(env={"A": "image"}, entrypoint=["/entry"], mounts=[Mount("/s", "/t")]),
    "bare": Image(),
}


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "n", "uid": UID},
        "spec": {"containers": list(containers), **spec},
        "status": {"podIP": "192.0.2.9"},
    }


def resolved(described: dict[str, Any], folder: Path) -> Any:
    top = folder / "cgroup"
    top.mkdir()
    return sandbox(described, folder, IMAGES, {"B": "b"}, lambda kind, name: None, [str(top)])


def test_a_container_is_its_image_and_itself(tmp_path: Path) -> None:
    one = {
        "name": "c",
        "image": "i",
        "args": ["executor", "$(A)"],
        "env": [{"name": "A", "value": "own"}],
    }
    made = resolved(pod(one), tmp_path)
    (container,) = made.containers
    assert container.command == ["/entry", "executor", "own"]
    assert container.env["A"] == "own"
    assert container.env["B"] == "b"
    assert container.mounts[0] == Mount("/s", "/t")
    assert Mount(str(tmp_path / "hosts"), "/etc/hosts") in container.mounts
    assert f"/kubepods/besteffort/pod{UID}/" in container.groups[0]
    assert Path(container.groups[0]).is_dir()
    assert made.hostname == "p"


def test_what_is_resolved_survives_its_file(tmp_path: Path) -> None:
    made = resolved(pod({"name": "c", "image": "i"}, restartPolicy="Never"), tmp_path)
    write(made, tmp_path)
    assert read(tmp_path) == made


def test_an_image_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"'apache/spark:4'.*there are: bare, i"):
        resolved(pod({"name": "c", "image": "apache/spark:4"}), tmp_path)


def test_a_container_without_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="c: neither"):
        resolved(pod({"name": "c", "image": "bare"}), tmp_path)


def test_a_pod_of_the_hosts_network_has_the_hosts_names(tmp_path: Path) -> None:
    made = resolved(pod({"name": "c", "image": "i"}, hostNetwork=True, hostPID=True), tmp_path)
    assert not made.own_network
    assert not made.own_processes
    assert all(mount.target != "/etc/hosts" for mount in made.containers[0].mounts)


def test_outer_folders_are_mounted_first(tmp_path: Path) -> None:
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "m"}}]
    container = {
        "name": "c",
        "volumeMounts": [
            {"name": "w", "mountPath": "/opt/spark/conf"},
            {"name": "v", "mountPath": "/opt", "subPath": "part"},
        ],
    }
    found = mounts(pod(container, volumes=volumes), container, tmp_path)
    assert [one.target for one in found] == [
        "/opt",
        "/opt/spark/conf",
        "/etc/hosts",
        "/etc/resolv.conf",
    ]
    assert [one.read_only for one in found] == [False, True, False, False]
    assert (tmp_path / "volumes/v/part").is_dir()


def test_a_sub_path_stays_in_its_volume(tmp_path: Path) -> None:
    mount = {"name": "v", "mountPath": "/x", "subPath": "../../etc"}
    container = {"name": "c", "volumeMounts": [mount]}
    with pytest.raises(ValueError, match="no path within a volume"):
        mounts(pod(container, volumes=[{"name": "v", "emptyDir": {}}]), container, tmp_path)


def test_what_cannot_be_done_is_listed() -> None:
    assert unsupported(pod({"name": "c"})) == []
    assert unsupported(pod({"name": "c", "livenessProbe": {}})) == ["c: livenessProbe"]
    assert unsupported(pod({"name": "c"}, hostAliases=[{}])) == ["hostAliases"]


@pytest.mark.parametrize(
    ("resources", "where"),
    [
        ({}, "kubepods/besteffort"),
        ({"requests": {"cpu": "1"}}, "kubepods/burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "kubepods"),
        (
            {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
            "kubepods/burstable",
        ),
    ],
)
def test_groups_are_named_by_quality_of_service(resources: dict[str, Any], where: str) -> None:
    assert groups.path(pod({"name": "c", "resources": resources})) == f"{where}/pod{UID}"


def test_limits_are_those_of_the_kernel() -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "250m", "memory": "1408Mi"}}
    assert groups.limits({"resources": resources}) == groups.Limits(1024, 25_000, 1408 << 20)
    assert groups.limits({}) == groups.Limits(2, None, None)


@given(st.sets(st.integers(60, 70)))
def test_an_address_is_given_once(taken: set[int]) -> None:
    known = {f"192.0.2.{one}" for one in taken}
    if len(taken) == 11:
        with pytest.raises(network.NoAddressError, match=r"192.0.2.60 to 192.0.2.70"):
            network.free("192.0.2.60", "192.0.2.70", known)
    else:
        found = network.free("192.0.2.60", "192.0.2.70", known)
        assert found not in known
        assert 60 <= int(found.rpartition(".")[2]) <= 70


def test_a_service_is_its_ready_endpoints() -> None:
    def of(ready: bool | None, address: str) -> dict[str, Any]:
        metadata = {"namespace": "n", "labels": {"kubernetes.io/service-name": "driver-svc"}}
        endpoint = {"addresses": [address], "conditions": {"ready": ready}}
        return {"metadata": metadata, "endpoints": [endpoint]}

    known = table([of(True, "192.0.2.2"), of(False, "192.0.2.3"), of(None, "192.0.2.4")])
    lines = text("127.0.0.1 localhost\n", "192.0.2.9", "p", "n", known).splitlines()
    assert lines[:2] == ["127.0.0.1 localhost", "192.0.2.9 p"]
    assert [line.split()[0] for line in lines[2:]] == ["192.0.2.2", "192.0.2.4"]
    assert "driver-svc.n.svc" in lines[2].split()
    assert "driver-svc" in lines[2].split()
    elsewhere = text("", "192.0.2.9", "p", "other", known)
    assert "driver-svc" not in elsewhere.split()
    assert "driver-svc.n.svc.cluster.local" in elsewhere.split()
