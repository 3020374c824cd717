"""Spark, Java and kernels that trials run on: times of two versions must not be mixed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyrometer.collect.launch.command import find_program, understand
from pyrometer.collect.launch.java import java_version, require_java
from pyrometer.collect.launch.launch import is_workload_command, program_of
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.experiments.folder import Plan
from pyrometer.guests.cache import kernel_cache
from pyrometer.guests.machine import is_machine
from pyrometer.guests.parts import kernels
from pyrometer.trial.factors import Level
from pyrometer.workloads import registry
from pyrometer.workloads.custom.yaml import YamlCommand
from pyrometer.workloads.spark import find_spark, spark_version

KERNEL, KERNEL_FACTOR = "kernel", "machine.kernel"


def versions_of(plan: Plan) -> dict[str, str]:
    """Give the versions, as they are here now, of every Spark and Java that treatments run on.

    Those of workloads that are commands are not known before they run, and are left out. Of
    virtual machines, their kernels.
    """
    known = ((_said(KERNEL, KERNEL_FACTOR, one), _kernel(one)) for one in _kernels(plan))
    return _of_programs(plan) | {what: said for what, said in known if said is not None}


def _of_programs(plan: Plan) -> dict[str, str]:
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
                found[_said(what, factor, home)] = version
    return found


def with_kernel(plan: Plan, levels: Mapping[str, str]) -> dict[str, str]:
    """Give levels of a trial in which a machine has the kernel that the plan found for it."""
    level = levels.get(KERNEL_FACTOR)
    said = plan.versions.get(_said(KERNEL, KERNEL_FACTOR, level))
    if said is None or not any(map(is_machine, levels)):
        return dict(levels)
    return {**levels, KERNEL_FACTOR: kernels.pinned(level, said)}


def _kernels(plan: Plan) -> list[str | None]:
    """Levels of ``machine.kernel`` of the treatments that have a machine."""
    levels = [one.levels for one in plan.treatments if any(map(is_machine, one.levels))]
    return list(dict.fromkeys(one.get(KERNEL_FACTOR) for one in levels))


def _said(what: str, factor: str, level: str | None) -> str:
    return what if level is None else f"{what} ({factor}={level})"


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
    here = {} if not plan.versions else _of_programs(plan) | _pinned_kernels(plan)
    for what, version in plan.versions.items():
        if here.get(what) != version:
            instead = (
                "install that kernel again"
                if what.startswith(KERNEL)
                else "set SPARK_HOME and JAVA_HOME to what they were"
            )
            raise UsageError(
                f"{root} was planned with {what} {version}, which is"
                f" {here.get(what, 'not known')} here now",
                f"{instead}, or start again in another folder: times of two versions cannot be"
                " mixed",
            )


def _pinned_kernels(plan: Plan) -> dict[str, str]:
    """Give what the kernels of a plan are here now: a newer one beside them changes nothing."""
    found = {}
    for level in _kernels(plan):
        what = _said(KERNEL, KERNEL_FACTOR, level)
        if (said := plan.versions.get(what)) is not None and (
            now := _kernel(kernels.pinned(level, said))
        ) is not None:
            found[what] = now
    return found


def _kernel(level: str | None) -> str | None:
    try:
        return kernels.known(level, kernel_cache())
    except PyrometerError:
        return None


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
