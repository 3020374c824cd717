"""YARN on the hosts of a test bed: the ResourceManager on host 1, a NodeManager on each other."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from pyrometer.core.errors import CapabilityError
from pyrometer.workloads.spark import SparkInstall
from tests.cluster.hosts import Host, Network
from tests.cluster.standalone import seen_by_hosts

ROOT = Path(__file__).parents[2]
POM = ROOT / "jvm" / "testbed" / "pom.xml"
HADOOP = "3.5.0"
ARTEFACTS = (
    f"org/apache/hadoop/hadoop-client-minicluster/{HADOOP}/hadoop-client-minicluster-{HADOOP}.jar",
    *(
        f"org/bouncycastle/{name}-jdk18on/1.82/{name}-jdk18on-1.82.jar"
        for name in ("bcpkix", "bcprov", "bcutil")
    ),
)
WEB_PORT = 8088
READY_S = 60.0
FETCH_S = 500
"""After so long Maven is given up: it has 66 MB to fetch once."""
WORK = "/var/tmp/yarn"
"""Where a NodeManager has containers and their logs: on its host's own file tree."""
MANAGERS = {
    "resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
    "nodemanager": "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
}
OPENS = ("java.lang", "java.util", "java.net", "java.nio", "sun.nio.ch")


@dataclass(frozen=True)
class Yarn:
    """A cluster that is up.

    Parameters
    ----------
    network : Network
        Its hosts.
    spark : SparkInstall
        Which Spark its applications use, as hosts see it.
    """

    network: Network
    spark: SparkInstall

    @property
    def conf(self) -> Path:
        """Give the folder of the client's settings."""
        return self.network.bed.folder / "yarn" / "client"

    def submit_environment(self) -> dict[str, str]:
        """Environment of an application of the machine's, by which hosts reach its driver."""
        return {
            "SPARK_HOME": str(self.spark.home),
            "SPARK_LOCAL_IP": self.network.bed.gateway,
            "PYSPARK_PYTHON": self.spark.python,
            "HADOOP_CONF_DIR": str(self.conf),
        }

    def submit_options(self) -> list[str]:
        """Options of ``spark-submit``: Spark is on every host, and staging on the bed's folder."""
        settings = {
            "spark.yarn.jars": f"local:{self.spark.home}/jars/*",
            "spark.yarn.stagingDir": (self.network.bed.folder / "yarn" / "staging").as_uri(),
        }
        return [
            "--master",
            "yarn",
            *(w for k, v in settings.items() for w in ("--conf", f"{k}={v}")),
        ]


def jars() -> list[Path]:
    """Fetch the managers, if they are not there; what is not as locked is refused.

    Raises
    ------
    CapabilityError
        If Maven cannot get them.
    """
    script = str(ROOT / "tools" / "supply" / "mvn.py")
    done = subprocess.run(
        # It ends what the script started, too.
        ["timeout", str(FETCH_S), "python3", script, "-q", "-f", str(POM), "compile"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 124:
        raise CapabilityError(f"Maven did not have YARN after {FETCH_S} s", "try again")
    if done.returncode:
        said = (done.stdout + done.stderr).strip()
        raise CapabilityError(f"Maven does not have YARN: {said[-500:]}", "apt-get install maven")
    return [Path.home() / ".m2" / "repository" / one for one in ARTEFACTS]


def common(network: Network) -> dict[str, str]:
    """Settings of every host and of clients."""
    return {
        "fs.defaultFS": "file:///",
        "hadoop.security.authentication": "simple",
        "yarn.resourcemanager.hostname": network.hosts[0].address,
        "yarn.resourcemanager.webapp.address": f"{network.hosts[0].address}:{WEB_PORT}",
    }


def of_host(network: Network, host: Host, cores: int, memory_mib: int) -> dict[str, str]:
    """Settings of one host."""
    return {
        **common(network),
        "yarn.resourcemanager.bind-host": "0.0.0.0",
        "yarn.resourcemanager.scheduler.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
        ),
        # The jar lacks the file that would say so.
        "yarn.scheduler.capacity.root.queues": "default",
        "yarn.scheduler.capacity.root.default.capacity": "100",
        "yarn.scheduler.capacity.maximum-am-resource-percent": "1",
        "yarn.scheduler.minimum-allocation-mb": "128",
        "yarn.nodemanager.hostname": host.address,
        "yarn.nodemanager.bind-host": "0.0.0.0",
        "yarn.nodemanager.resource.memory-mb": str(memory_mib),
        "yarn.nodemanager.resource.cpu-vcores": str(cores),
        "yarn.nodemanager.local-dirs": f"{WORK}/local",
        "yarn.nodemanager.log-dirs": f"{WORK}/logs",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.enable": "false",
        # Looked at once all the same: of a disk that is 90 % full no folder would be taken.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
        "yarn.nodemanager.delete.debug-delay-sec": "600",
        "hadoop.tmp.dir": f"{WORK}/tmp",
    }


def start(network: Network, spark: SparkInstall, *, cores: int = 2, memory_mib: int = 2560) -> Yarn:
    """Start the managers, and wait until all nodes are registered.

    Raises
    ------
    CapabilityError
        If one does not start, with what it wrote last.
    """
    cluster = Yarn(network, seen_by_hosts(spark))
    runtime = cluster.spark.home / "jars" / f"hadoop-client-runtime-{HADOOP}.jar"
    if not runtime.is_file():
        raise CapabilityError(f"YARN {HADOOP} needs {runtime.name}: no {runtime}", "take Spark 4")
    folder = network.bed.folder / "yarn"
    folder.mkdir()
    (folder / "staging").mkdir()
    # Below the bed, as hosts may not see the repository.
    copied = folder / "managers"
    copied.mkdir()
    for one in jars():
        shutil.copy(one, copied)
    _write(cluster.conf, common(network))
    first, *others = network.hosts
    logs = []
    for host in network.hosts:
        conf = folder / host.name
        _write(conf, of_host(network, host, cores, memory_mib))
        role = "resourcemanager" if host is first else "nodemanager"
        command = manager_command(role, conf, copied, cluster.spark.home)
        logs.append(host.start(role, command, {"JAVA_HOME": _java_home()}))
        if host is first:
            _until(network, 0, logs[0])
    _until(network, len(others), logs[-1])
    return cluster


def manager_command(role: str, conf: Path, managers: Path, spark_home: Path) -> list[str]:
    """Give the command of a manager."""
    opens = [f"--add-opens=java.base/{one}=ALL-UNNAMED" for one in OPENS]
    path = f"{conf}:{managers}/*:{spark_home}/jars/*"
    return ["java", "-Xmx384m", *opens, "-cp", path, MANAGERS[role]]


def site(settings: Mapping[str, str]) -> str:
    """Write settings as Hadoop reads them.

    Examples
    --------
    >>> print(site({"a": "<1>"}).split("configuration>")[1])
    <property><name>a</name><value>&lt;1&gt;</value></property></
    """
    rows = (
        f"<property><name>{escape(k)}</name><value>{escape(v)}</value></property>"
        for k, v in settings.items()
    )
    return f"<configuration>{''.join(rows)}</configuration>"


def _write(folder: Path, settings: Mapping[str, str]) -> None:
    folder.mkdir()
    for name in ("core-site.xml", "yarn-site.xml", "capacity-scheduler.xml"):
        (folder / name).write_text(site(settings), "utf-8")


def _java_home() -> str:
    done = subprocess.run(
        ["java", "-XshowSettings:properties", "-version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return next(
        line.partition("=")[2].strip() for line in done.stderr.splitlines() if "java.home" in line
    )


def _nodes(network: Network) -> int | None:
    import httpx

    try:
        with httpx.Client(trust_env=False, timeout=5.0) as client:
            address = f"http://{network.hosts[0].address}:{WEB_PORT}"
            answer = client.get(f"{address}/ws/v1/cluster/metrics")
            return int(answer.json()["clusterMetrics"]["activeNodes"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return None


def _until(network: Network, nodes: int, log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while (known := _nodes(network)) is None or known < nodes:
        if time.monotonic() > deadline:
            last = log.read_text("utf-8", "replace").strip().splitlines()[-3:]
            raise CapabilityError(f"YARN did not start: {log}: {' | '.join(last)}")
        time.sleep(0.2)
