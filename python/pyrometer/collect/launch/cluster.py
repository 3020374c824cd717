"""A standalone cluster on this machine: a master and a worker for each executor, for one run."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyrometer.collect.host.neighbours import Companions
from pyrometer.collect.host.placement import ANYWHERE, Place
from pyrometer.collect.launch.treatment import Applied
from pyrometer.core.errors import CapabilityError
from pyrometer.core.patience import patient
from pyrometer.trial.layout import EXECUTOR_MEMORY, Layout, with_room
from pyrometer.workloads.spark import find_spark

ADDRESS = "127.0.0.1"
READY_S = 90.0
REGISTERED_S = 30.0
"""For which tasks wait for executors at most (Spark's own)."""
DAEMON_MEMORY = "384m"

_MAIN = "org.apache.spark.deploy."


@dataclass(frozen=True)
class Cluster:
    """A cluster to launch.

    Attributes
    ----------
    spark_class : str
        Spark's script that starts a JVM.
    workers, cores, memory_mib : int
        Number of workers; cores and memory of each, which one executor takes as a whole.
    port, web_port : int
        Of the master.
    """

    spark_class: str
    workers: int
    cores: int
    memory_mib: int
    port: int
    web_port: int

    @property
    def url(self) -> str:
        """Address of the master."""
        return f"spark://{ADDRESS}:{self.port}"


def clustered(
    applied: Applied, layout: Layout, said: Mapping[str, str], spark_home: str | None
) -> tuple[Applied, Cluster | None]:
    """Decide the standalone cluster of a layout, and point the application to it.

    Parameters
    ----------
    said : mapping
        Settings that the application has without us.

    Raises
    ------
    CapabilityError
        If that Spark cannot start one.
    """
    executors, slots = layout.executors, layout.slots
    if not layout.standalone or executors is None or slots is None:
        return applied, None
    home = Path(spark_home) if spark_home else find_spark().home
    script = home / "bin" / "spark-class"
    if not script.is_file():
        raise CapabilityError(f"layout.cluster=standalone: there is no {script}", "set spark.home")
    settings = {**said, **applied.force}
    memory = with_room(layout, settings).heap_mib
    cluster = Cluster(str(script), executors, slots, memory, *_free_ports(2))
    force = {
        **applied.force,
        "spark.master": cluster.url,
        "spark.executor.cores": str(slots),
        EXECUTOR_MEMORY: settings.get(EXECUTOR_MEMORY, f"{memory}m"),
        "spark.cores.max": str(executors * slots),
        # Tasks wait until all executors are there: else the first of them would get them all.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{patient(REGISTERED_S):.0f}s",
    }
    return replace(applied, force=force), cluster


def start(
    cluster: Cluster,
    companions: Companions,
    env: Mapping[str, str],
    folder: Path,
    place: Place = ANYWHERE,
) -> None:
    """Start master and workers, and wait until all are registered.

    Parameters
    ----------
    cluster : Cluster
        What to start.
    companions : Companions
        Who ends them.
    env : mapping
        Environment of the application, which executors inherit.
    folder : Path
        For their logs and the folders of executors.
    place : Place
        Where all of it runs.

    Raises
    ------
    CapabilityError
        If one does not start, with what it wrote last.
    """
    folder.mkdir(exist_ok=True)
    env = {**env, "SPARK_DAEMON_MEMORY": DAEMON_MEMORY, "SPARK_LOCAL_IP": ADDRESS}

    def launch(name: str, command: list[str]) -> None:
        companions.start(name, command, folder / f"{name}.log", env, place)

    def workers() -> int | None:
        return alive_workers(ADDRESS, cluster.web_port)

    launch(
        "master.Master",
        master_command(cluster.spark_class, ADDRESS, cluster.port, cluster.web_port),
    )
    _until(lambda: workers() is not None, "the master", companions, folder)
    for number in range(cluster.workers):
        command = worker_command(
            cluster.spark_class, ADDRESS, cluster.url,
            cores=cluster.cores, memory_mib=cluster.memory_mib, work=folder / f"work-{number}",
        )  # fmt: skip
        launch(f"worker.Worker-{number}", command)
    _until(lambda: workers() == cluster.workers, "its workers", companions, folder)


def master_command(spark_class: str, address: str, port: int, web_port: int) -> list[str]:
    """Give the command of a master, with Spark's script that starts a JVM."""
    place = ["--host", address, "--port", str(port), "--webui-port", str(web_port)]
    return [spark_class, f"{_MAIN}master.Master", *place]


def worker_command(
    spark_class: str, address: str, url: str, *, cores: int, memory_mib: int, work: Path
) -> list[str]:
    """Give the command of a worker, which keeps the folders of its executors in `work`."""
    return [
        spark_class, f"{_MAIN}worker.Worker", "--host", address, "--webui-port", "0",
        "--cores", str(cores), "--memory", f"{memory_mib}m", "--work-dir", str(work), url,
    ]  # fmt: skip


def _until(ready: Callable[[], bool], what: str, companions: Companions, folder: Path) -> None:
    longest = patient(READY_S)
    deadline = time.monotonic() + longest
    while not ready():
        if companions.gone or time.monotonic() > deadline:
            logs = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
            last = logs[-1].read_text("utf-8", "replace").strip().splitlines()[-3:] if logs else []
            why = "; ".join(companions.gone) or f"not ready within {longest:.0f} s"
            raise CapabilityError(
                f"the standalone cluster did not start: {what}: {why}: {' | '.join(last)}",
                "use layout.cluster=local-cluster, which needs none",
            )
        time.sleep(0.1)


def alive_workers(address: str, web_port: int) -> int | None:
    """Ask a master how many workers it knows; ``None`` while it does not answer."""
    import httpx

    try:
        # Without the environment's proxy, which would look for this address on the proxy's machine.
        with httpx.Client(trust_env=False, timeout=patient(5)) as client:
            answer = client.get(f"http://{address}:{web_port}/json/")
            return int(answer.json()["aliveworkers"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return None


def _free_ports(count: int) -> list[int]:
    listening = [socket.create_server((ADDRESS, 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in listening]
    finally:
        for one in listening:
            one.close()
