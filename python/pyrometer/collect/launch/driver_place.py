"""Whether the driver of a command runs on this machine, known before it is started.

With deploy mode cluster it runs on the cluster: some managers let the command return at once, and
the others' queues are part of its time. How long such a command takes is no measurement of its
application.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyrometer.collect.launch.command import Command, understand, unreachable
from pyrometer.collect.launch.said_settings import settings_said
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import Level
from pyrometer.workloads import registry
from pyrometer.workloads.contract import Workload
from pyrometer.workloads.custom.yaml import YamlCommand
from pyrometer.workloads.values import WorkloadSpec

DEPLOY_MODE = "spark.submit.deployMode"
CODE = "driver_unreachable"
"""Doubt of a run whose driver was not here."""
NO_TIME = "how long the command takes says nothing of its application"
INSTEAD = (
    "use --deploy-mode client; or measure each with pyrometer run, and compare them:"
    " pyrometer compare BEFORE AFTER"
)


def driver_away(
    command: Command, treatment: Mapping[str, Level], env: Mapping[str, str]
) -> str | None:
    """Say why the driver of a command will not run on this machine; ``None`` if it will.

    Parameters
    ----------
    treatment : mapping
        Levels, which Spark reads before the command's own words.
    env : mapping of str to str
        Its environment.
    """
    if command.kind != "submit":
        return None
    mode = command.deploy_mode or treatment.get(DEPLOY_MODE)
    mode = mode or settings_said(command, env).get(DEPLOY_MODE) or env.get("DEPLOY_MODE")
    return unreachable(replace(command, deploy_mode=None if mode is None else str(mode)))


def driver_of_workload_away(
    workload: Workload, spec: WorkloadSpec, treatment: Mapping[str, Level]
) -> str | None:
    """Say why the driver of a workload will not run on this machine; ``None`` if it will.

    Of a command whose words are not known yet, as its data are missing, nothing is said.
    """
    rest = {name: level for name, level in treatment.items() if name not in workload.variants}
    if not isinstance(workload, YamlCommand):
        mode = str(rest.get(DEPLOY_MODE, "client"))
        return unreachable(Command((), "other", deploy_mode=mode))
    command = workload.known_command(spec)
    if command is None:
        return None
    home = {"SPARK_HOME": str(rest["spark.home"])} if "spark.home" in rest else {}
    env = {**os.environ, **home, **command.env}
    return driver_away(understand(command.argv), {**command.conf, **rest}, env)


def check_driver_here(
    command: Sequence[str], workload: str | None, treatment: Mapping[str, Level]
) -> None:
    """Refuse to measure by its time what runs elsewhere.

    Parameters
    ----------
    command : sequence of str
        Words of a command, if it is one.
    workload : str or None
        Else a workload, by name or file.
    treatment : mapping
        Levels of all trials.

    Raises
    ------
    UsageError
        If the driver would run on the cluster.
    """
    away = None
    if command:
        away = driver_away(understand(command), treatment, os.environ)
    elif workload is not None:
        found = registry.get(workload)
        own = {name: str(level) for name, level in treatment.items() if name in found.variants}
        away = driver_of_workload_away(found, registry.resolve(workload, own), treatment)
    if away is not None:
        raise UsageError(f"{away}: {NO_TIME}", INSTEAD)


def not_measured(doubts: Sequence[Doubt]) -> str | None:
    """Say why a run's time is not its application's, by its doubts; ``None`` if it is."""
    if all(one.code != CODE for one in doubts):
        return None
    return f"with deploy mode cluster its driver ran on another machine: {NO_TIME}"
