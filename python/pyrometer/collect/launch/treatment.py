"""What the levels of a treatment mean for one launch: JVM options, settings, environment.

JVMs of a launch on this host: what is pinned under its limits, and where executors go.

What is done to the host for one launch, decided before anything is changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from pyrometer.collect.host import cgroup, settings
from pyrometer.collect.host.cgroup_plan import Plan
from pyrometer.collect.host.disks import all_disks, disks_below
from pyrometer.collect.host.memory import Condition, condition, with_limit
from pyrometer.collect.host.neighbours import Neighbour, neighbours
from pyrometer.collect.host.placement import Placement, write_java
from pyrometer.collect.launch.command import Command
from pyrometer.collect.launch.executors_place import check_master
from pyrometer.collect.launch.java import (
    JVM_VARIABLES,
    contradicted,
    java_of,
    java_release,
    require_java,
    spark_env_home,
    unfit,
)
from pyrometer.collect.launch.jvm_options import Limited, described, limited, options_of, pinned
from pyrometer.collect.launch.said_settings import settings_of_files, settings_said
from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.guests.job import in_machine
from pyrometer.trial.factors import Level
from pyrometer.trial.layout import EXECUTOR_MEMORY, Layout, is_layout, mib, with_room
from pyrometer.workloads.spark import find_spark

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Applied:
    """A treatment in the words of the launch.

    Parameters
    ----------
    jvm_options : tuple of str
        For every JVM of the application.
    driver_options, executor_options : tuple of str
        For the driver's JVM alone, and for those of executors.
    submit_options : tuple of str
        For Spark's scripts, for what must be known before the driver's JVM starts.
    force : mapping
        Spark settings that win over the application's.
    env : mapping
        Variables.
    partial : tuple of str
        Sentences on what has no equivalent on this JVM.
    unfit : str or None
        Why the JVM would not start, or not end well, with the agent.
    """

    jvm_options: tuple[str, ...]
    driver_options: tuple[str, ...]
    submit_options: tuple[str, ...]
    force: Mapping[str, str]
    env: Mapping[str, str]
    executor_options: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    unfit: str | None = None


def apply_treatment(
    treatment: Mapping[str, Level],
    layout: Layout,
    command: Command | None,
    java: int | None = None,
    cpus: int | None = None,
    *,
    environ: Mapping[str, str] = NOTHING,
    own: Mapping[str, str] = NOTHING,
) -> Applied:
    """Translate a treatment for a command (``None``: a built-in workload).

    Parameters
    ----------
    treatment : mapping
        Levels.
    layout : Layout
        What they say of JVMs and task slots.
    command : Command or None
        The command.
    java : int or None
        Feature number of its Java, where it is known.
    cpus : int or None
        CPUs that its driver sees, where they are limited.
    environ : mapping
        The command's environment.
    own : mapping
        Settings of a built-in workload.

    Raises
    ------
    UsageError
        If the command itself says something else, or the levels contradict each other.
    """
    jvm, partial = options_of(treatment, tasks_per_jvm(layout, cpus), java)
    driver: list[str] = []
    submit: list[str] = []
    force: dict[str, str] = {}
    env: dict[str, str] = {}
    if layout.heap_bytes is not None:
        heap = f"{mib(layout.heap_bytes)}m"
        force[EXECUTOR_MEMORY] = heap
        if command is None:
            force["spark.driver.memory"] = heap
        elif command.kind == "java":
            driver.append(f"-Xmx{heap}")
        elif command.kind == "other":
            env["SPARK_DRIVER_MEMORY"] = heap
        else:
            submit += ["--driver-memory", heap]
        _no_other_heap(command)
    if "jvm.home" in treatment:
        env["JAVA_HOME"] = _folder(treatment["jvm.home"], "jvm.home", "bin/java")
    if "spark.home" in treatment and command is not None:
        env["SPARK_HOME"] = str(find_spark(str(treatment["spark.home"])).home)
    if command is not None:
        _no_other_master(treatment, command)
    for name, level in treatment.items():
        if name.startswith("spark.") and name != "spark.home":
            force[name] = str(level)
            submit += ["--conf", f"{name}={level}"]
    said = settings_said(command, {**environ, **env}) if command else own
    if (master := with_room(layout, {**said, **force}).master) is not None:
        force.setdefault("spark.master", master)
    return Applied(tuple(jvm), tuple(driver), tuple(submit), force, env, partial=tuple(partial))


def tasks_per_jvm(layout: Layout, cpus: int | None = None) -> int:
    """Give the task slots of a JVM: by the layout, else one for each CPU that it sees."""
    return layout.slots or cpus or len(os.sched_getaffinity(0))


def _no_other_master(treatment: Mapping[str, Level], command: Command) -> None:
    check_master(command.master, treatment)
    given = [name for name in treatment if is_layout(name)]
    if given and command.master is not None and not command.master.startswith("local"):
        raise UsageError(
            f"{', '.join(given)}: the command names the master {command.master}",
            "set spark.executor.instances and spark.executor.cores with --set instead",
        )


def _no_other_heap(command: Command | None) -> None:
    if command is None:
        return
    given = command.driver_memory
    if command.kind == "java":
        given = next((w for w in command.argv[1:] if re.match(r"-Xmx|-XX:MaxHeapSize=", w)), None)
    if given:
        raise UsageError(f"jvm.heap is set, and the command itself says {given}", "leave one out")


def _folder(level: Level, factor: str, holds: str) -> str:
    folder = Path(str(level)).expanduser().absolute()
    if not (folder / holds).is_file():
        raise UsageError(
            f"{factor}={level}: there is no {folder / holds}", f"give a folder with {holds}"
        )
    return str(folder)


OPTION_VARIABLES = ("SPARK_SUBMIT_OPTS", *JVM_VARIABLES, "PYSPARK_SUBMIT_ARGS")
"""Variables from which a JVM may get options."""


def applied_here(
    treatment: Mapping[str, Level],
    layout: Layout,
    command: Command | None,
    placement: Placement,
    raw: Path,
    env: Mapping[str, str],
    own: Mapping[str, str] = NOTHING,
) -> tuple[Applied, list[Doubt]]:
    """Translate a treatment for this host.

    Parameters
    ----------
    treatment : mapping
        Levels, those that the workload brings among them.
    layout : Layout
        What they say of JVMs and task slots.
    command : Command or None
        The command; ``None``: a built-in workload.
    placement : Placement
        Where JVMs run.
    raw : Path
        Folder of the run, for the ``java`` that places executors.
    env : mapping
        The environment.
    own : mapping
        Settings of a built-in workload.

    Raises
    ------
    UsageError
        If the JVM would not start with the levels and the application's options together.
    """
    java = _java(treatment, command, env, needed=bool(placement.executors))
    release = java_release(java) if java else None
    within = placement.application.cpus
    cpus = None if within is None else len(within)
    levels = with_limit(treatment)
    driver = limited(levels, cpus)
    executor = limited(levels, placement.executor_cpus or cpus)
    applied = apply_treatment(
        treatment, layout, command, release, driver.cpus, environ=env, own=own
    )
    doubts = [schema.doubt("option_set_partial", text) for text in applied.partial]
    theirs = list(_said(command, env))
    ours = [*applied.driver_options, *applied.jvm_options]
    why = contradicted(java, ours, theirs) if java else None
    if why is not None:
        names = ", ".join(name for name in treatment if name.startswith("jvm."))
        raise UsageError(
            f"{names}: the JVM does not start with it and the application's own options: {why}",
            "leave one of the two out",
        )
    pins: dict[Limited, list[str]] = {}
    for limits in dict.fromkeys((driver, executor)):
        wanted = pinned(limits, os.cpu_count() or 1, [*applied.jvm_options, *theirs])
        why = contradicted(java, [*applied.jvm_options, *wanted], theirs) if java else None
        pins[limits] = wanted if why is None else []
        if why is not None:
            doubts.append(schema.doubt("options_left_out", f"{' '.join(wanted)}: {why}."))
        elif wanted:
            doubts.append(schema.doubt("jvm_pinned", described(limits, wanted)))
    force = dict(applied.force)
    if placement.executors:
        assert java is not None
        folder = write_java(raw / "placed-java", java, placement.executors)
        force["spark.executorEnv.JAVA_HOME"] = str(folder)
    guessed = command is not None and command.kind == "other"
    misfit = unfit(java, [*applied.jvm_options, *theirs], guessed=guessed)
    if misfit is not None:
        doubts.append(schema.doubt("options_left_out", f"The agent was left out: {misfit}."))
    return replace(
        applied,
        force=force,
        driver_options=(*pins[driver], *applied.driver_options),
        executor_options=tuple(pins[executor]),
        unfit=misfit,
    ), doubts


def _java(
    treatment: Mapping[str, Level], command: Command | None, env: Mapping[str, str], needed: bool
) -> str | None:
    if "jvm.home" not in treatment:
        return java_of(command, env, needed)
    home = os.path.expanduser(str(treatment["jvm.home"]))
    named = command.argv[0] if command is not None and command.kind == "java" else ""
    if os.sep in named and os.path.realpath(named) != os.path.realpath(Path(home, "bin", "java")):
        raise UsageError(
            f"jvm.home={home}: the command itself starts {named}",
            "leave one of the two out; java without a path takes that of jvm.home",
        )
    other = spark_env_home(command, {**env, "JAVA_HOME": home})
    if other is not None:
        raise UsageError(
            f"jvm.home={home}: spark-env.sh sets JAVA_HOME={other}", "leave one of the two out"
        )
    return require_java({**env, "JAVA_HOME": home}, needed)


def _said(command: Command | None, env: Mapping[str, str]) -> Iterable[str]:
    yield from (env.get(name, "") for name in OPTION_VARIABLES)
    if command is not None:
        yield from command.argv
        yield from settings_of_files(command, env).values()


@dataclass(frozen=True)
class HostPlan:
    """What is done while the application runs, and undone after it.

    Parameters
    ----------
    group : Plan
        Control groups it is born in.
    switches : tuple of settings.Switch
        Switches of the kernel.
    placement : Placement
        CPUs and NUMA nodes.
    neighbours : tuple of Neighbour
        What runs at the same time.
    memory : Condition or None
        How short memory is.
    """

    group: Plan = field(default_factory=Plan)
    switches: tuple[settings.Switch, ...] = ()
    placement: Placement = field(default_factory=Placement)
    neighbours: tuple[Neighbour, ...] = ()
    memory: Condition | None = None


def plan_host(treatment: Mapping[str, Level], placement: Placement, data: Path) -> HostPlan:
    """Decide what is done to this host.

    Parameters
    ----------
    treatment : mapping
        Levels, those that the workload brings among them.
    placement : Placement
        Where JVMs run.
    data : Path
        On the disk that limits are about.

    Raises
    ------
    UsageError, CapabilityError
        What this host cannot honour, with the reason and what would give it.
    """
    return HostPlan(
        group=cgroup.planned_here(with_limit(treatment), data),
        switches=settings.switches(treatment, disks=_disks(treatment, data)),
        placement=placement,
        neighbours=neighbours(str(treatment.get("co.run", "none"))),
        memory=condition(treatment),
    )


def _disks(treatment: Mapping[str, Level], data: Path) -> tuple[str, ...]:
    """Name the disks whose switches a treatment sets: all of a machine that was made for it."""
    if not any(map(settings.is_of_disks, treatment)):
        return ()
    return all_disks() if in_machine() else disks_below(data)
