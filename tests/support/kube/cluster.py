"""Applications on Kubernetes of a test bed, and what is asked of their pods."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tests.cluster.kube.kubelet.api import UNANSWERED, Object
from tests.cluster.kube.manager import NAMESPACE, Kubernetes, ranges

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
PATIENCE_S = 120.0
APPLICATION = """
import json, os, sys, time
from pyspark.sql import SparkSession
pause = float(sys.argv[1])
context = SparkSession.builder.getOrCreate().sparkContext
while context._jsc.sc().getExecutorMemoryStatus().size() < 3:
    time.sleep(0.1)
print("BEGUN", flush=True)
def work(n):
    time.sleep(pause)
    return os.environ["SPARK_EXECUTOR_POD_NAME"], os.environ["SPARK_EXECUTOR_POD_IP"], n * n
rows = context.parallelize(range(40), 40).map(work).collect()
places = sorted({(name, address) for name, address, _ in rows})
print("SAID " + json.dumps([places, sum(square for _, _, square in rows)]), flush=True)
context.stop()
"""
SUBMITTED: list[Submission] = []
"""All that were made, which whoever tests ends in any case."""
TOTAL = sum(n * n for n in range(40))


@dataclass(frozen=True)
class Said:
    """What the application printed.

    Parameters
    ----------
    executors : dict of str to str
        Addresses of executors that ran a task, by name of their pod.
    total : int
        What they computed together.
    """

    executors: dict[str, str]
    total: int

    @classmethod
    def of(cls, text: str) -> Said:
        """Find it in a text."""
        (line,) = (one for one in text.splitlines() if one.startswith("SAID "))
        places, total = json.loads(line.removeprefix("SAID "))
        return cls(dict(places), total)


@dataclass
class Submission:
    """``spark-submit`` of the application, which runs while tests look.

    Parameters
    ----------
    cluster : Kubernetes
        Where it runs.
    mode : str
        ``client`` or ``cluster``.
    pause_s : float
        Of each of its 40 tasks.
    before : list of str
        What runs ``spark-submit``.
    options : list of str
        Further options of it.
    """

    cluster: Kubernetes
    mode: str
    pause_s: float = 0.05
    before: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        app = self.cluster.folder / "app.py"
        app.write_text(APPLICATION)
        where = f"local://{app}" if self.mode == "cluster" else str(app)
        name = f"it-{self.mode}-{time.monotonic_ns()}"
        confs = {
            "spark.executor.instances": "2",
            "spark.ui.enabled": "false",
            "spark.app.name": name,
            "spark.kubernetes.executor.podNamePrefix": name,
        }
        if self.mode == "cluster":
            confs["spark.kubernetes.driver.pod.name"] = f"{name}-driver"
        self.name = name
        self._out = self.cluster.folder / f"{name}.out"
        with self._out.open("wb") as out:
            self._process = subprocess.Popen(
                [
                    # If we are killed, a driver of this machine's would wait for ever.
                    "setpriv", "--pdeathsig", "TERM",
                    *self.before, str(self.cluster.spark.home / "bin" / "spark-submit"),
                    *self.cluster.submit_options(), "--deploy-mode", self.mode,
                    "--driver-memory", "600m", "--executor-memory", "600m",
                    *(w for k, v in confs.items() for w in ("--conf", f"{k}={v}")),
                    *self.options, where, str(self.pause_s),
                ],
                env={**os.environ, **self.cluster.submit_environment()},
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip
        SUBMITTED.append(self)

    @property
    def written(self) -> str:
        """What was written so far."""
        return self._out.read_text("utf-8", "replace")

    def begun(self) -> None:
        """Wait until executors are there and tasks begin."""
        wait_until(lambda: "BEGUN" in self.driver_said(), "the application", self.written)

    def driver_said(self) -> str:
        """Give what the driver wrote so far."""
        if self.mode == "client":
            return self.written
        try:
            return self.cluster.api().text(f"{PODS}/{self.name}-driver/log")
        except UNANSWERED:
            return ""

    def ended(self) -> Said:
        """Wait for the end, which is to be a success."""
        try:
            code = self._process.wait(PATIENCE_S)
        finally:
            self.end()
        assert code == 0, self.written[-3000:]
        return Said.of(self.driver_said())

    def end(self) -> None:
        """End it if it still runs."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def pods(self, role: str) -> list[Object]:
        """Give its pods of a role."""
        mine = pods(self.cluster, f"spark-role={role}")
        return [one for one in mine if one["metadata"]["name"].startswith(f"{self.name}-")]


def pods(cluster: Kubernetes, selector: str = "") -> list[Object]:
    """Give pods by labels."""
    found = cluster.api().ask("GET", PODS, query={"labelSelector": selector})["items"]
    return list(found)


def node_of(cluster: Kubernetes, address: str) -> str:
    """Give the host that an address of a pod belongs to."""
    nodes = cluster.network.hosts[1:]
    of = zip(nodes, ranges(cluster.network.bed.subnet, len(nodes)), strict=True)
    return next(
        host.name
        for host, (first, last) in of
        if ip_address(first) <= ip_address(address) <= ip_address(last)
    )


def exit_code(pod: Object) -> Any:
    """Give the exit code of a pod's only container; ``None`` while it has none."""
    (container,) = pod["status"].get("containerStatuses") or [{"state": {}}]
    return container["state"].get("terminated", {}).get("exitCode")


def wait_until(condition: Callable[[], bool], what: str, said: str = "") -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what}: {said[-3000:]}"
        time.sleep(0.1)


def shown(run: Path) -> Object:
    """Give what ``pyrometer show`` says of a run."""
    words = [sys.executable, "-m", "pyrometer", "show", "--json", str(run)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found
