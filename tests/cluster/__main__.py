"""Make a test bed that stays, and take it away: ``python -m tests.cluster up|down|list``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pyrometer.core.errors import PyrometerError
from pyrometer.workloads.spark import SparkInstall, find_spark
from tests.cluster import hosts, standalone, yarn
from tests.cluster.bed import HostSpec
from tests.cluster.kube import manager as kubernetes

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = {"4": ".venv", "3.5": ".venv-spark35"}
CLOCK_STEP_S = 10_000


class Manager(Protocol):
    """A cluster that is up, to whoever submits to it."""

    def submit_environment(self) -> dict[str, str]:
        """Environment of ``spark-submit``."""

    def submit_options(self) -> list[str]:
        """Options of it."""


MANAGERS: dict[str, Callable[[hosts.Network, SparkInstall], Manager]] = {
    "standalone": standalone.start,
    "yarn": yarn.start,
    "kubernetes": kubernetes.start,
}


def specs(count: int, cpus: float, memory_mib: int) -> list[HostSpec]:
    """Give hosts whose clocks all differ."""
    return [HostSpec(cpus, memory_mib, CLOCK_STEP_S * (n + 1)) for n in range(count)]


def environments() -> dict[str, str]:
    """Give the Python environments that hosts share, and where the machine has each."""
    paths = [ROOT / folder for folder in ENVIRONMENTS.values()]
    return {str(path): os.path.realpath(path) for path in paths if path.is_dir()}


def bring_up(asked: argparse.Namespace) -> None:
    """Make hosts, start a manager on them, and say what to type next."""
    if lack := hosts.lacking():
        raise SystemExit(f"no test bed here: this machine lacks {lack}")
    wanted = specs(asked.hosts, asked.cpus, asked.memory_mib)
    network = hosts.up(asked.name, wanted, hidden=[str(ROOT)], shared=environments())
    for host in network.hosts:
        print(f"{host.name}  {host.address}  logs and files: {network.bed.folder}")
    if asked.manager == "none":
        return
    try:
        spark = find_spark(ROOT / ENVIRONMENTS[asked.spark])
        cluster = MANAGERS[asked.manager](network, spark)
    except BaseException:
        hosts.down(asked.name)
        raise
    print("".join(f"export {k}={v}\n" for k, v in cluster.submit_environment().items()), end="")
    print(f"spark-submit {' '.join(cluster.submit_options())} app.py")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="tests.cluster", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("up")
    making.add_argument("name")
    making.add_argument("--manager", choices=["none", *MANAGERS], default="standalone")
    making.add_argument("--spark", choices=list(ENVIRONMENTS), default="4")
    making.add_argument("--hosts", type=int, default=3)
    making.add_argument("--cpus", type=float, default=1.0)
    making.add_argument("--memory-mib", type=int, default=3072)
    verbs.add_parser("down").add_argument("name")
    verbs.add_parser("list")
    asked = parser.parse_args()
    try:
        if asked.verb == "up":
            bring_up(asked)
        elif asked.verb == "list":
            print("".join(f"{name}\n" for name in hosts.names()), end="")
        elif stays := hosts.down(asked.name):
            raise SystemExit("\n".join(["these stay:", *stays]))
    except PyrometerError as error:
        sys.exit(f"{error.message}\n{error.remedy or ''}".strip())


if __name__ == "__main__":
    main()
