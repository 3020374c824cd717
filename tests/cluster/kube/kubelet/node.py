"""A node: registered, said to be alive, and the pods that are bound to it."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import threading
import time
from pathlib import Path

from tests.cluster.kube.kubelet import network
from tests.cluster.kube.kubelet.api import MERGE, UNANSWERED, Api, ApiError, Object
from tests.cluster.kube.kubelet.names import Names
from tests.cluster.kube.kubelet.settings import Settings
from tests.cluster.kube.kubelet.volumes import Files, Sources, content
from tests.cluster.kube.kubelet.worker import Worker

PORT = 10250
ALIVE_S = 4.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_S = 16
PODS = 60
NOTHING: Object = {"containers": []}
VERSION = "v1.37.2"


class Node:
    """A node and its pods.

    Parameters
    ----------
    settings : Settings
        What it is told.

    Attributes
    ----------
    stop : threading.Event
        Set when the kubelet ends; its pods go on.
    given : dict
        Variables of every container.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.api = Api(settings.api, settings.ca, settings.token)
        self.stop = threading.Event()
        self.pods_folder = Path(settings.folder, "pods")
        self.pods_folder.mkdir(parents=True, exist_ok=True)
        self.names = Names(Path("/etc/hosts").read_text("utf-8"))
        host, _, port = settings.api.rpartition("/")[2].partition(":")
        self._began = _now()
        self.given = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port or "443"}
        self._workers: dict[str, Worker] = {}
        self._lock = threading.Lock()

    def run(self) -> None:
        """Be a node until `stop` is set."""
        network.prepare_host()
        for work in (lambda: self.names.follow(self.api, self.stop), self._stay_alive):
            threading.Thread(target=work, daemon=True).start()
        query = {"fieldSelector": f"spec.nodeName={self.settings.node}"}
        for change in self.api.changes("/api/v1/pods", self.stop, query):
            known = {pod["metadata"]["uid"]: pod for pod in change.objects}
            if change.kind == "gone":
                self._remove(set(known))
                continue
            if change.kind == "all":
                self._remove((self._workers.keys() | self._left()) - known.keys())
            for uid, pod in known.items():
                self._put(uid, pod)

    def workers(self) -> list[Worker]:
        """Give all pods that are here."""
        with self._lock:
            return [one for one in self._workers.values() if one.is_alive()]

    def new_address(self) -> str:
        """Choose an address for a pod."""
        taken = []
        for file in self.pods_folder.glob("*/address"):
            with contextlib.suppress(OSError):
                taken.append(file.read_text("ascii"))
        return network.free(self.settings.first_address, self.settings.last_address, taken)

    def sources(self, pod: Object) -> Sources:
        """Give what the volumes of a pod are filled from."""
        spec, of = pod["spec"], pod["metadata"]
        account = spec.get("serviceAccountName", "default")

        def token(audience: str | None, seconds: int) -> str:
            bound = {"kind": "Pod", "apiVersion": "v1", "name": of["name"], "uid": of["uid"]}
            asked = {"expirationSeconds": seconds, "boundObjectRef": bound}
            asked |= {"audiences": [audience]} if audience else {}
            where = f"/api/v1/namespaces/{of['namespace']}/serviceaccounts/{account}/token"
            return str(self.api.ask("POST", where, {"spec": asked})["status"]["token"])

        return Sources(lambda kind, name: self._files(of["namespace"], kind, name), token)

    def texts(self, pod: Object, kind: str, name: str) -> dict[str, str] | None:
        """Read configuration or a secret for variables."""
        found = self._files(pod["metadata"]["namespace"], kind, name)
        if found is None:
            return None
        return {key: data.decode("utf-8", "replace") for key, data in found.items()}

    def _files(self, namespace: str, kind: str, name: str) -> Files | None:
        try:
            found = self.api.ask("GET", f"/api/v1/namespaces/{namespace}/{kind}/{name}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return content({"kind": "Secret" if kind == "secrets" else "ConfigMap", **found})

    def _put(self, uid: str, pod: Object) -> None:
        with self._lock:
            worker = self._workers.get(uid)
            if worker is None or not worker.is_alive():
                worker = self._workers[uid] = Worker(self, pod)
                worker.start()
            else:
                worker.update(pod)

    def _remove(self, uids: set[str]) -> None:
        for uid in uids:
            with self._lock:
                worker = self._workers.pop(uid, None)
            if worker is None:
                # What an earlier kubelet left of a pod that was deleted meanwhile.
                worker = Worker(self, {"metadata": {"uid": uid, "name": uid}, "spec": NOTHING})
                worker.remove()
                worker.start()
            worker.remove()

    def _left(self) -> set[str]:
        return {one.name for one in self.pods_folder.iterdir()}

    def _stay_alive(self) -> None:
        while not self.stop.is_set():
            try:
                self._register()
                self._lease()
            except UNANSWERED as error:
                print(f"{self.settings.node}: {error}", file=sys.stderr, flush=True)
            self.stop.wait(ALIVE_S)

    def _register(self) -> None:
        name, now = self.settings.node, _now()
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
        made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        path = f"/api/v1/nodes/{name}"
        try:
            self.api.ask("PATCH", f"{path}/status", {"status": self._status(now)}, kind=MERGE)
        except ApiError as error:
            if error.status != 404:
                raise
            self.api.ask("POST", "/api/v1/nodes", {**made, "spec": {}})
            self.api.ask("PATCH", f"{path}/status", {"status": self._status(now)}, kind=MERGE)

    def _status(self, now: str) -> Object:
        told = self.settings
        amount = {
            "cpu": str(told.cores),
            "memory": f"{told.memory_mib}Mi",
            "pods": str(PODS),
            "ephemeral-storage": "10Gi",
        }
        condition = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "lastHeartbeatTime": now,
            "lastTransitionTime": self._began,
        }
        return {
            "capacity": amount,
            "allocatable": amount,
            "addresses": [
                {"type": "InternalIP", "address": told.address},
                {"type": "Hostname", "address": told.node},
            ],
            "conditions": [condition],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": PORT}},
            "nodeInfo": {
                "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), ""),
                "bootID": "", "containerRuntimeVersion": "process://1",
                "kernelVersion": os.uname().release, "kubeProxyVersion": "",
                "kubeletVersion": VERSION, "machineID": told.node,
                "operatingSystem": "linux", "osImage": "", "systemUUID": told.node,
            },
        }  # fmt: skip

    def _lease(self) -> None:
        name = self.settings.node
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_S,
            "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
        }
        made = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": spec,
        }
        try:
            self.api.ask("PATCH", f"{LEASES}/{name}", {"spec": spec}, kind=MERGE)
        except ApiError as error:
            if error.status != 404:
                raise
            self.api.ask("POST", LEASES, made)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
