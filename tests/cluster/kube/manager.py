"""Kubernetes on the hosts of a test bed: control plane on host 1, a kubelet on each other."""

from __future__ import annotations

import ipaddress
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.workloads.spark import SparkInstall
from tests.cluster.hosts import Host, Network
from tests.cluster.kube import build, credentials, programs
from tests.cluster.kube.credentials import Credentials
from tests.cluster.kube.kubelet.api import UNANSWERED, Api, ApiError, Object
from tests.cluster.kube.kubelet.settings import Image, Settings
from tests.cluster.kube.kubelet.tree import Mount
from tests.cluster.standalone import seen_by_hosts

HERE = Path(__file__).parent
NAMESPACE = "default"
ACCOUNT = "spark"
"""Service account of drivers."""
READY_S = 120.0
FIRST, LAST = 60, 250
"""Last bytes of the addresses of pods; those of hosts are below."""
GROUP = "rbac.authorization.k8s.io"
HOST_IMAGE = "host"
"""Image with nothing of its own: containers of it name their command."""


@dataclass(frozen=True)
class Kubernetes:
    """A cluster that is up.

    Parameters
    ----------
    network : Network
        Its hosts.
    spark : SparkInstall
        Which Spark is in its image, as hosts see it.
    known : Credentials
        Who is who.
    others : tuple of SparkInstall
        Further Sparks that have an image; :meth:`of` gives the cluster with one of them.
    """

    network: Network
    spark: SparkInstall
    known: Credentials
    others: tuple[SparkInstall, ...] = ()

    @property
    def url(self) -> str:
        """Address of the API server."""
        return f"https://{self.network.hosts[0].address}:{programs.PORT}"

    @property
    def folder(self) -> Path:
        """Folder of its files, which is on every host."""
        return self.network.bed.folder / "kube"

    @property
    def image(self) -> str:
        """Name of the image with Spark."""
        return f"spark:{version(self.spark)}"

    def of(self, spark: SparkInstall) -> Kubernetes:
        """Give the same cluster for applications of one of its other Sparks."""
        return replace(self, spark=seen_by_hosts(spark), others=(self.spark, *self.others))

    def api(self, user: str = "admin") -> Api:
        """Give the API as one of its users has it."""
        return Api(self.url, self.known.file("ca.crt"), self.known.tokens[user])

    def submit_environment(self) -> dict[str, str]:
        """Environment of ``spark-submit``, by which pods reach a driver of the machine's."""
        return {
            "SPARK_HOME": str(self.spark.home),
            "SPARK_LOCAL_IP": self.network.bed.gateway,
            "PYSPARK_PYTHON": self.spark.python,
            "KUBECONFIG": self.known.file("developer.conf"),
        }

    def submit_options(self) -> list[str]:
        """Options of ``spark-submit``: an image that is there, and executors on several hosts."""
        settings = {
            "spark.kubernetes.container.image": self.image,
            "spark.kubernetes.authenticate.driver.serviceAccountName": ACCOUNT,
            "spark.kubernetes.executor.podTemplateFile": str(self.folder / "executors.yaml"),
        }
        confs = [word for k, v in settings.items() for word in ("--conf", f"{k}={v}")]
        return ["--master", f"k8s://{self.url}", *confs]

    def start_api_server(self) -> Path:
        """Start the API server; returns the file with what it writes."""
        words = programs.api_server(self.known, self.network.hosts[0].address)
        return _program(self, words)

    def start_kubelet(self, host: Host) -> Path:
        """Start the kubelet of a host; one that was there before leaves its pods to it."""
        words = [self.spark.python, "-S", "-m", "tests.cluster.kube.kubelet"]
        settings = str(self.folder / f"{host.name}.json")
        return host.start("kubelet", [*words, settings], {"PYTHONPATH": str(self.folder / "code")})


def start(
    network: Network,
    spark: SparkInstall,
    *others: SparkInstall,
    cores: int = 2,
    memory_mib: int = 2560,
) -> Kubernetes:
    """Start control plane and kubelets, and wait until pods can be scheduled on all nodes.

    Raises
    ------
    CapabilityError
        If the control plane is not built, or a part does not start, with what it wrote last.
    UsageError
        If there are more nodes than addresses for their pods.
    """
    program = build.control_plane()
    nodes = network.hosts[1:]
    addresses = ranges(network.bed.subnet, len(nodes))
    spark, *further = (seen_by_hosts(one) for one in (spark, *others))
    folder = network.bed.folder / "kube"
    folder.mkdir()
    known = credentials.make(network.bed, folder / "known")
    cluster = Kubernetes(network, spark, known, tuple(further))
    copy_kubelet(folder)
    for name in ("entrypoint.sh", "executors.yaml"):
        shutil.copy(HERE / "spark" / name, folder)
    # Below the bed, as hosts may not see the cache.
    shutil.copy(program, folder / build.PROGRAM)
    for user in credentials.USERS:
        cluster.known.kubeconfig(user, cluster.url)
    _program(cluster, programs.etcd("/var/tmp/etcd"))
    log = cluster.start_api_server()
    api = cluster.api()
    until("the API server", lambda: api.text("/readyz") == "ok", log)
    for path, made in permissions().items():
        until("permissions", partial(_made, api, path, made), log)
    config = folder / "known"
    _program(cluster, programs.controllers(cluster.known, config / "controllers.conf"))
    _program(cluster, programs.scheduler(config / "scheduler.conf"))
    for host, (first, last) in zip(nodes, addresses, strict=True):
        told = Settings(
            node=host.name, address=host.address, api=cluster.url,
            ca=cluster.known.file("ca.crt"), certificate=cluster.known.file("server.crt"),
            key=cluster.known.file("server.key"), token=cluster.known.tokens["kubelet"],
            groups=host.groups, first_address=first, last_address=last,
            images=images(cluster), cores=cores, memory_mib=memory_mib,
        )  # fmt: skip
        told.write(folder / f"{host.name}.json")
        log = cluster.start_kubelet(host)
    until(f"{len(nodes)} nodes", lambda: ready_nodes(api) == {one.name for one in nodes}, log)
    needed = f"/api/v1/namespaces/{NAMESPACE}/configmaps/kube-root-ca.crt"
    until("the default namespace", lambda: bool(api.ask("GET", needed)), log)
    return cluster


def copy_kubelet(folder: Path) -> Path:
    """Copy the kubelet to where hosts see it; returns what is to be on its ``PYTHONPATH``."""
    code = folder / "code"
    shutil.copytree(
        HERE / "kubelet", code / "tests" / "cluster" / "kube" / "kubelet",
        ignore=shutil.ignore_patterns("__pycache__"),
    )  # fmt: skip
    return code


def ranges(subnet: str, count: int) -> list[tuple[str, str]]:
    """Give the addresses of pods of each node, first and last.

    Raises
    ------
    UsageError
        If there are too many nodes.

    Examples
    --------
    >>> ranges("192.0.2.0/24", 2)
    [('192.0.2.60', '192.0.2.154'), ('192.0.2.155', '192.0.2.249')]
    """
    each = (LAST - FIRST) // count if count else 0
    if not 1 <= count <= 40:
        raise UsageError(f"Kubernetes with {count} nodes", "2 to 41 hosts: the first is no node")
    network = ipaddress.ip_network(subnet)
    begins = [FIRST + each * n for n in range(count)]
    return [(str(network[one]), str(network[one + each - 1])) for one in begins]


def version(spark: SparkInstall) -> str:
    """Give the version of a Spark by the name of its core.

    Raises
    ------
    CapabilityError
        If it has none.
    """
    names = (re.fullmatch(r"spark-core_[0-9.]+-(.+)\.jar", one.name) for one in _jars(spark))
    found = next((name[1] for name in names if name), None)
    if found is None or not any(one.name.startswith("spark-kubernetes_") for one in _jars(spark)):
        raise CapabilityError(f"{spark.home} is no Spark with Kubernetes", "pip install pyspark")
    return found


def images(cluster: Kubernetes) -> dict[str, Image]:
    """Give the images: each Spark, laid out as Spark's own images are, and the bare host."""
    shared = [Mount(one, one, read_only=True) for one in cluster.network.bed.shared]
    entry = Mount(str(cluster.folder / "entrypoint.sh"), "/opt/entrypoint.sh", read_only=True)
    found = {HOST_IMAGE: Image()}
    for spark in (cluster.spark, *cluster.others):
        python = {"PYSPARK_PYTHON": spark.python, "PYSPARK_DRIVER_PYTHON": spark.python}
        found[cluster.of(spark).image] = Image(
            env={"SPARK_HOME": "/opt/spark", **python},
            entrypoint=["/opt/entrypoint.sh"],
            mounts=[*shared, Mount(str(spark.home), "/opt/spark", read_only=True), entry],
            folder="/opt/spark/work-dir",
        )
    return found


def permissions() -> dict[str, Object]:
    """Give what lets drivers, and developers, have pods: objects by where they are made."""
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "edit"}
    subjects: list[Mapping[str, str]] = [
        {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE},
        {"apiGroup": GROUP, "kind": "Group", "name": "developers"},
    ]
    metadata = {"name": ACCOUNT, "namespace": NAMESPACE}
    return {
        f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts": {
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata,
        },
        f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/rolebindings": {
            "apiVersion": f"{GROUP}/v1", "kind": "RoleBinding", "metadata": metadata,
            "roleRef": role, "subjects": subjects,
        },
    }  # fmt: skip


def ready_nodes(api: Api) -> set[str]:
    """Give the nodes on which pods can be scheduled."""
    found = set()
    for node in api.ask("GET", "/api/v1/nodes")["items"]:
        conditions = {one["type"]: one["status"] for one in node["status"].get("conditions", [])}
        if conditions.get("Ready") == "True" and not node["spec"].get("taints"):
            found.add(str(node["metadata"]["name"]))
    return found


def until(
    what: str, holds: Callable[[], bool], log: Path | None = None, within_s: float = READY_S
) -> None:
    """Wait until something holds; a server that does not answer yet is asked again.

    Raises
    ------
    CapabilityError
        If it does not in time.
    """
    deadline, problem = time.monotonic() + within_s, ""
    while True:
        try:
            if holds():
                return
        except (*UNANSWERED, KeyError) as error:
            problem = str(error)
        if time.monotonic() > deadline:
            last = log.read_text("utf-8", "replace").strip().splitlines()[-3:] if log else []
            said = " | ".join([problem, *last]).strip(" |")
            raise CapabilityError(f"{what}: not after {within_s:g} s: {log or ''} {said}".strip())
        time.sleep(0.2)


def _program(cluster: Kubernetes, words: list[str]) -> Path:
    program = str(cluster.folder / build.PROGRAM)
    return cluster.network.hosts[0].start(words[0], [program, *words])


def _made(api: Api, path: str, made: Object) -> bool:
    try:
        api.ask("POST", path, made)
    except ApiError as error:
        if error.status != 409:
            raise
    return True


def _jars(spark: SparkInstall) -> list[Path]:
    return sorted((spark.home / "jars").glob("spark-*.jar"))
