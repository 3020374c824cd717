"""Versions of Spark and Java that trials run on: times of two versions must not be mixed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyrometer.collect.launch.command import find_program, understand
from pyrometer.collect.launch.java import java_version, require_java
from pyrometer.collect.launch.launch import is_workload_command, program_of
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.experiments.folder import Plan
from pyrometer.trial.factors import Level
from pyrometer.workloads import registry
from pyrometer.workloads.custom.yaml import YamlCommand
from pyrometer.workloads.spark import find_spark, spark_version


def versions_of(plan: Plan) -> dict[str, str]:
    """Give the versions, as they are here now, of every Spark and Java that treatments run on.

    Those of workloads that are commands are not known before they run, and are left out.
    """
    on_spark = {
        name
        for name in plan.workloads
        if not is_workload_command(name) and registry.get(name).engine == "spark"
    }
    levels = [
        one.levels
        for one in plan.treatments
        if (one.company.workload if one.company else plan.workload) in on_spark
    ]
    found: dict[str, str] = {}
    for what, (factor, read) in _READ.items():
        for home in dict.fromkeys(one.get(factor) for one in levels):
            if version := read(home):
                found[what if home is None else f"{what} ({factor}={home})"] = version
    return found


def check_versions(root: Path, plan: Plan) -> None:
    """Refuse to go on with other versions than an experiment was planned with, where it has them.

    Parameters
    ----------
    root : Path
        Its folder, for messages.

    Raises
    ------
    UsageError
        If one is not as it was.
    """
    here = versions_of(plan) if plan.versions else {}
    for what, version in plan.versions.items():
        if here.get(what) != version:
            raise UsageError(
                f"{root} was planned with {what} {version}, which is"
                f" {here.get(what, 'not known')} here now",
                "set SPARK_HOME and JAVA_HOME to what they were, or start again in another folder:"
                " times of two versions cannot be mixed",
            )


def spark_of(
    command: Sequence[str],
    workload: str,
    shared: Mapping[str, str],
    parsed: Mapping[str, Level],
) -> str | None:
    """Say which Spark a job is going to run on, as far as it can be known before.

    Raises
    ------
    UsageError, CapabilityError
        If the program of the command is not here.
    """
    env = dict(os.environ)
    if not command:
        found = registry.get(workload)
        if not isinstance(found, YamlCommand):
            return None if found.engine == "process" else _spark(shared.get("spark.home"))
        own = found.known_command(registry.resolve(workload, {}))
        if own is None:
            return None
        command, env = own.argv, {**env, **own.env}
        program = find_program(command[0], env.get("SPARK_HOME"), [])
    else:
        program = program_of(understand(command), env, parsed)
    kind = understand(command).kind
    home = shared.get("spark.home") or env.get("SPARK_HOME")
    if home or kind not in ("submit", "python") or program is None:
        return _spark(home) if home else None
    # An environment of Python's, whose programs are links out of it, or a home of Spark's.
    places = [Path(os.path.abspath(program)).parents[1], Path(os.path.realpath(program)).parents[1]]
    return next((one for place in places if (one := _spark(str(place)))), None)


def _spark(home: str | None) -> str | None:
    try:
        return spark_version(find_spark(home).home)
    except PyrometerError:
        return None


def _java(home: str | None) -> str | None:
    named = {"JAVA_HOME": os.path.expanduser(home)} if home else {}
    java = require_java({**os.environ, **named}, needed=False)
    return java_version(java) if java else None


_READ: dict[str, tuple[str, Callable[[str | None], str | None]]] = {
    "Spark": ("spark.home", _spark),
    "Java": ("jvm.home", _java),
}
