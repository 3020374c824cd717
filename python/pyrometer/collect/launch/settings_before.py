"""Spark settings of a job before any run: by its command, its workload, and levels of all trials.

Levels win over all else: they are forced on the application.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyrometer.collect.launch.command import understand
from pyrometer.collect.launch.said_settings import settings_said
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.layout import mib, resolve_layout, with_room
from pyrometer.workloads import registry
from pyrometer.workloads.custom.yaml import YamlCommand
from pyrometer.workloads.launch import DEFAULT_CONF

ANYWHERE = "local[*]"
"""Master of a command that names none."""


def settings_of_command(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Give the settings that hold for a user's own command.

    Parameters
    ----------
    environment : mapping of str to str, optional
        Its environment; by default that of this process.

    Examples
    --------
    >>> settings_of_command(["spark-submit", "--executor-memory", "8g", "a.py"], {"PATH": ""})
    {'spark.master': 'local[*]', 'spark.executor.memory': '8g'}
    """
    env = os.environ if environment is None else environment
    return {"spark.master": ANYWHERE, **settings_said(understand(command), env)}


def settings_of_workload(workload: str, levels: Mapping[str, str], scale: str) -> dict[str, str]:
    """Give the settings with which a workload runs where nobody says otherwise.

    Parameters
    ----------
    levels : mapping of str to str
        Levels that all trials share; those of the workload's own variants count here.

    Raises
    ------
    UsageError
        If there is no such workload, level or scale.
    """
    found = registry.get(workload)
    if found.engine == "process":
        return {}
    own = {name: level for name, level in levels.items() if name in found.variants}
    spec = registry.resolve(workload, own, scale)
    if not isinstance(found, YamlCommand):
        return {**DEFAULT_CONF, **found.spark_conf(spec)}
    command = found.known_command(spec)
    if command is None:
        return {}
    said = settings_of_command(command.argv, {**os.environ, **command.env})
    return {**said, **command.conf}


def settings_of_levels(
    levels: Mapping[str, str],
    declared: Mapping[str, Sequence[str]],
    own: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Give the settings that levels of all trials stand for.

    Parameters
    ----------
    declared : mapping
        Factors that the workload declares, with their levels: they stand for none.
    own : mapping of str to str, optional
        Settings of the job itself.

    Raises
    ------
    UsageError
        If the levels contradict each other.

    Examples
    --------
    >>> settings_of_levels({"jvm.heap": "2g", "layout.tasks": "3"}, {})["spark.master"]
    'local[3]'
    """
    parsed = parse_treatment([f"{name}={level}" for name, level in levels.items()], declared)
    layout = resolve_layout(parsed)
    found = {}
    if layout.heap_bytes is not None:
        heap = f"{mib(layout.heap_bytes)}m"
        found = {"spark.driver.memory": heap, "spark.executor.memory": heap}
    found |= {k: v for k, v in levels.items() if k.startswith("spark.") and k not in declared}
    room = with_room(replace(layout, cluster="local-cluster"), {**(own or {}), **found})
    return {**({"spark.master": room.master} if room.master else {}), **found}
