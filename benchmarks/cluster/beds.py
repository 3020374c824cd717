"""Clusters that jobs are submitted to: test beds with a manager, and this machine alone."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster import __main__ as made
from tests.cluster import hosts
from tests.cluster.bed import HostSpec
from tests.cluster.hosts import Host, Network

from pyrometer.core.errors import CapabilityError
from pyrometer.workloads.spark import SparkInstall, find_spark

ROOT = Path(__file__).parents[2]
APP = Path(__file__).with_name("app.py")
LOCAL = "local"
MANAGERS = (LOCAL, *made.MANAGERS)
GLANCE_S = 0.05


@dataclass(frozen=True)
class Cluster:
    """A cluster that is up.

    Parameters
    ----------
    manager : str
        Its name.
    spark : SparkInstall
        Which Spark.
    folder : Path
        Files that all hosts see.
    env, options : mapping, list of str
        Environment and options of ``spark-submit``.
    network : Network or None
        Its hosts; ``None``: this machine alone.
    """

    manager: str
    spark: SparkInstall
    folder: Path
    env: Mapping[str, str]
    options: Sequence[str]
    network: Network | None

    @property
    def workers(self) -> list[Host]:
        """Hosts that run executors."""
        return self.network.hosts[1:] if self.network else []


class Beds:
    """One cluster at a time, made when it is asked for and taken away with the block.

    Parameters
    ----------
    name : str
        Of the test bed.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._asked: tuple[object, ...] = ()
        self._cluster: Cluster | None = None

    def __enter__(self) -> Self:
        if lack := hosts.lacking():
            raise CapabilityError(f"no test bed here: this machine lacks {lack}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.discard()

    def get(self, manager: str, spark: str, specs: Sequence[HostSpec] | None = None) -> Cluster:
        """Give a cluster: the present one if it is as asked for.

        Raises
        ------
        CapabilityError
            If the manager or the Spark is not here.
        """
        wanted = tuple(made.specs(3, 1.0, 3072) if specs is None else specs)
        asked = (manager, spark, wanted)
        if self._cluster is None or asked != self._asked:
            self.discard()
            self._asked = asked
            self._cluster = self._make(manager, spark, wanted)
        return self._cluster

    def discard(self) -> None:
        """Take the present cluster away."""
        cluster, self._cluster = self._cluster, None
        if cluster is not None and cluster.network is None:
            shutil.rmtree(cluster.folder)
        elif stays := hosts.down(self.name):
            raise CapabilityError(f"of the test bed stay: {', '.join(stays)}")

    def _make(self, manager: str, spark: str, specs: Sequence[HostSpec]) -> Cluster:
        environment = ROOT / made.ENVIRONMENTS[spark]
        if not environment.is_dir():
            raise CapabilityError(f"Spark {spark} is not here: no {environment}", "make setup-test")
        found = find_spark(environment)
        if manager == LOCAL:
            env = {"SPARK_HOME": str(found.home), "PYSPARK_PYTHON": found.python}
            folder = Path(tempfile.mkdtemp(prefix="pyrometer-cluster-"))
            return Cluster(manager, found, folder, env, ["--master", "local[2]"], None)
        hosts.down(self.name)
        network = hosts.up(self.name, specs, hidden=[str(ROOT)], shared=made.environments())
        try:
            cluster = made.MANAGERS[manager](network, found)
        except BaseException:
            hosts.down(self.name)
            raise
        return Cluster(
            manager, found, network.bed.folder, cluster.submit_environment(),
            cluster.submit_options(), network,
        )  # fmt: skip


@dataclass(frozen=True)
class Submission:
    """What is submitted, and how.

    Parameters
    ----------
    words : sequence of str
        Arguments of ``app.py``.
    run : Path
        Where the run directory goes.
    mode : str
        ``client`` or ``cluster``.
    conf : mapping
        Further settings.
    env : mapping
        Further environment of ``pyrometer run``.
    memory : str
        Of each executor.
    """

    words: Sequence[str]
    run: Path
    mode: str = "client"
    conf: Mapping[str, str] | None = None
    env: Mapping[str, str] | None = None
    memory: str = "600m"


class Job:
    """``pyrometer run -- spark-submit`` while it runs, as a user types it.

    Parameters
    ----------
    cluster : Cluster
        Where it runs.
    asked : Submission
        What.
    """

    def __init__(self, cluster: Cluster, asked: Submission) -> None:
        shutil.copy(APP, cluster.folder)
        self.run = asked.run
        self._said = asked.run.with_name(f"{asked.run.name}.said")
        env = {**os.environ, **cluster.env, **(asked.env or {})}
        env["PYTHONPATH"] = str(ROOT / "python")
        if asked.mode == "cluster":
            # Spark hands it to the driver, whose host has another address.
            env.pop("SPARK_LOCAL_IP", None)
        self.command = command(cluster, asked)
        with self._said.open("wb") as out:
            self._process = subprocess.Popen(
                self.command, env=env, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def said(self) -> str:
        """What was written so far."""
        return self._said.read_text("utf-8", "replace")

    def until(self, word: str, patience_s: float) -> None:
        """Wait until it has written a word.

        Raises
        ------
        CapabilityError
            If it ends, or the time does, before.
        """
        deadline = time.monotonic() + patience_s
        while word not in self.said:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise CapabilityError(f"{word} was not said: {self.said[-2000:]}")
            time.sleep(GLANCE_S)

    def wait(self, patience_s: float) -> int:
        """Wait for its end; returns the exit code."""
        return self._process.wait(patience_s)

    def driver(self) -> int:
        """Find the driver's JVM.

        Raises
        ------
        CapabilityError
            If there is none.
        """
        for group in Path("/proc").glob("[0-9]*"):
            try:
                session = int((group / "stat").read_text().rpartition(")")[2].split()[3])
                line = (group / "cmdline").read_bytes()
            except OSError:
                continue
            if session == self._process.pid and b"org.apache.spark.deploy.SparkSubmit" in line:
                return int(group.name)
        raise CapabilityError("the driver's JVM is not there")

    def end(self, keep: Path | None = None) -> None:
        """End it, with all that it started in its session, and remove what it left."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)
        if keep is not None and self.run.exists():
            shutil.copytree(self.run, keep, dirs_exist_ok=True)
        shutil.rmtree(self.run, ignore_errors=True)


def command(cluster: Cluster, asked: Submission) -> list[str]:
    """Give what is typed: nothing that a user would not type."""
    settings = {"spark.ui.enabled": "false", **(asked.conf or {})}
    words = ["--driver-memory", "700m", "--executor-memory", asked.memory]
    app = str(cluster.folder / APP.name)
    if cluster.manager == "yarn":
        words += ["--num-executors", "2", "--executor-cores", "1"]
    if cluster.manager == "kubernetes":
        settings["spark.executor.instances"] = "2"
        app = f"local://{app}" if asked.mode == "cluster" else app
    if cluster.manager in ("yarn", "kubernetes"):
        words += ["--deploy-mode", asked.mode]
    return [
        sys.executable, "-m", "pyrometer", "run", "--no-report", "-o", str(asked.run), "--",
        str(cluster.spark.home / "bin" / "spark-submit"), *cluster.options, *words,
        *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
        app, *asked.words,
    ]  # fmt: skip


def shown_command(words: Sequence[str]) -> str:
    """Write a command without the places of this machine."""
    text = " ".join(words).replace(sys.executable, "python").replace(f"{ROOT}/", "")
    return re.sub(r"\S*/bin/spark-submit", "spark-submit", text)
