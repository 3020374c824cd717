"""Spark's own cluster manager on a test bed: the master on host 1, workers on the others."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyrometer.collect.launch.cluster import (
    DAEMON_MEMORY,
    alive_workers,
    master_command,
    worker_command,
)
from pyrometer.core.errors import CapabilityError
from pyrometer.workloads.spark import SparkInstall
from tests.cluster.hosts import Network

PORT, WEB_PORT = 7077, 8080
READY_S = 300.0
"""Where others use the machine a JVM takes minutes."""
WORK = Path("/var/tmp/work")
"""Where a worker has the folders of its executors: on its host's own file tree."""


@dataclass(frozen=True)
class Standalone:
    """A cluster that is up.

    Parameters
    ----------
    network : Network
        Its hosts.
    spark : SparkInstall
        Which Spark, as hosts see it.
    """

    network: Network
    spark: SparkInstall

    @property
    def url(self) -> str:
        """Address of the master."""
        return f"spark://{self.network.hosts[0].address}:{PORT}"

    def submit_environment(self) -> dict[str, str]:
        """Environment of an application of the machine's, by which hosts reach its driver."""
        return {
            "SPARK_HOME": str(self.spark.home),
            "SPARK_LOCAL_IP": self.network.bed.gateway,
            "PYSPARK_PYTHON": self.spark.python,
        }

    def submit_options(self) -> list[str]:
        """Options of ``spark-submit``."""
        return ["--master", self.url]


def seen_by_hosts(spark: SparkInstall) -> SparkInstall:
    """Give a Spark with paths that lead through no link, as hosts may not have the link."""
    home = Path(os.path.realpath(spark.home))
    # The interpreter itself is a link out of its environment.
    python = Path(spark.python)
    return SparkInstall(home, f"{os.path.realpath(python.parent)}/{python.name}")


def start(
    network: Network, spark: SparkInstall, *, cores: int = 1, memory_mib: int = 1024
) -> Standalone:
    """Start master and workers, and wait until all are registered.

    Raises
    ------
    CapabilityError
        If one does not start, with what it wrote last.
    """
    spark = seen_by_hosts(spark)
    cluster = Standalone(network, spark)
    script = str(spark.home / "bin" / "spark-class")
    first, *others = network.hosts
    logs = [
        first.start(
            "master",
            master_command(script, first.address, PORT, WEB_PORT),
            daemon_environment(spark, first.address),
        )
    ]
    _until(cluster, 0, logs[0])
    for host in others:
        command = worker_command(
            script, host.address, cluster.url, cores=cores, memory_mib=memory_mib, work=WORK
        )
        logs.append(host.start("worker", command, daemon_environment(spark, host.address)))
    _until(cluster, len(others), logs[-1])
    return cluster


def daemon_environment(spark: SparkInstall, address: str) -> Mapping[str, str]:
    """Environment of master and worker, which executors inherit."""
    return {
        "SPARK_HOME": str(spark.home),
        "SPARK_LOCAL_IP": address,
        "SPARK_DAEMON_MEMORY": DAEMON_MEMORY,
    }


def _until(cluster: Standalone, workers: int, log: Path) -> None:
    address, deadline = cluster.network.hosts[0].address, time.monotonic() + READY_S
    while (known := alive_workers(address, WEB_PORT)) is None or known < workers:
        if time.monotonic() > deadline:
            last = log.read_text("utf-8", "replace").strip().splitlines()[-3:]
            raise CapabilityError(f"the cluster did not start: {log}: {' | '.join(last)}")
        time.sleep(0.2)
