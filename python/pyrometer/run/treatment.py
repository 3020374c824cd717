"""What the levels of a treatment mean for one launch: JVM options, settings, environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyrometer.errors import UsageError
from pyrometer.plan import Level
from pyrometer.run.command import Command
from pyrometer.run.jvm import MIB, mib, options_of
from pyrometer.workload.spark import find_spark

_OF_EXECUTORS = ("layout.cores_per_executor", "layout.cluster")


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
    """

    jvm_options: tuple[str, ...]
    driver_options: tuple[str, ...]
    submit_options: tuple[str, ...]
    force: Mapping[str, str]
    env: Mapping[str, str]
    executor_options: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


def apply_treatment(
    treatment: Mapping[str, Level],
    command: Command | None,
    java: int | None = None,
    cpus: int | None = None,
) -> Applied:
    """Translate a treatment for a command (``None``: a built-in workload).

    Parameters
    ----------
    treatment : mapping
        Levels.
    command : Command or None
        The command.
    java : int or None
        Feature number of its Java, where it is known.
    cpus : int or None
        CPUs that its driver sees, where they are limited.

    Raises
    ------
    UsageError
        If the command says otherwise itself, or the levels contradict each other.
    """
    jvm, partial = options_of(treatment, tasks_per_jvm(treatment, cpus), java)
    driver: list[str] = []
    submit: list[str] = []
    force: dict[str, str] = {}
    env: dict[str, str] = {}
    if "jvm.heap" in treatment:
        heap = f"{mib(treatment['jvm.heap'])}m"
        force["spark.executor.memory"] = heap
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
    force.update(layout(treatment, command.master if command else None))
    for name, level in treatment.items():
        if name.startswith("spark.") and name != "spark.home":
            force[name] = str(level)
            submit += ["--conf", f"{name}={level}"]
    return Applied(tuple(jvm), tuple(driver), tuple(submit), force, env, partial=tuple(partial))


def tasks_per_jvm(treatment: Mapping[str, Level], cpus: int | None = None) -> int:
    """Give the task slots of a JVM: by the layout, else one for each CPU that it sees.

    Examples
    --------
    >>> tasks_per_jvm({"layout.tasks": 12, "layout.executors": 4})
    3
    """
    if "layout.cores_per_executor" in treatment:
        return int(treatment["layout.cores_per_executor"])
    if "layout.tasks" in treatment:
        return max(1, int(treatment["layout.tasks"]) // int(treatment.get("layout.executors", 1)))
    return cpus or len(os.sched_getaffinity(0))


def layout(treatment: Mapping[str, Level], master: str | None) -> dict[str, str]:
    """Give the settings for ``layout.*`` on one machine.

    Examples
    --------
    >>> layout({"layout.tasks": 3}, None)
    {'spark.master': 'local[3]'}
    >>> layout({"layout.executors": 2, "layout.cores_per_executor": 1, "jvm.heap": 1 << 30}, None)
    {'spark.master': 'local-cluster[2,1,1024]'}
    """
    given = {name: level for name, level in treatment.items() if name.startswith("layout.")}
    if not given:
        return {}
    if master is not None and not master.startswith("local"):
        raise UsageError(
            f"{', '.join(given)}: the command names the master {master}",
            "set spark.executor.instances and spark.executor.cores with --set instead",
        )
    if "layout.executors" not in given:
        alone = [name for name in treatment if name in _OF_EXECUTORS]
        if alone:
            raise UsageError(f"{alone[0]} needs layout.executors", "give both")
        return {"spark.master": f"local[{given['layout.tasks']}]"}
    executors, cores, memory = executor_layout(treatment)
    # A standalone cluster's address is known once it is launched.
    standalone = treatment.get("layout.cluster") == "standalone"
    return {} if standalone else {"spark.master": f"local-cluster[{executors},{cores},{memory}]"}


def executor_layout(treatment: Mapping[str, Level]) -> tuple[int, int, int]:
    """Give the number of executors; cores and memory (MiB) of each.

    Raises
    ------
    UsageError
        If they are not known or contradict each other.
    """
    executors = int(treatment["layout.executors"])
    cores = treatment.get("layout.cores_per_executor")
    tasks = treatment.get("layout.tasks")
    if cores is None:
        if tasks is None or int(tasks) % executors:
            raise UsageError(
                f"layout.executors={executors} needs layout.cores_per_executor",
                "or layout.tasks that the executors can share equally",
            )
        cores = int(tasks) // executors
    if tasks is not None and int(tasks) != executors * int(cores):
        raise UsageError(
            f"layout.tasks={tasks} is not layout.executors × layout.cores_per_executor "
            f"= {executors * int(cores)}",
            "leave layout.tasks out",
        )
    return executors, int(cores), mib(treatment.get("jvm.heap", 1024 * MIB))


def _no_other_heap(command: Command | None) -> None:
    if command is None:
        return
    own = command.driver_memory
    if command.kind == "java":
        own = next((w for w in command.argv[1:] if re.match(r"-Xmx|-XX:MaxHeapSize=", w)), None)
    if own:
        raise UsageError(f"jvm.heap is set, and the command itself says {own}", "leave one out")


def _folder(level: Level, factor: str, holds: str) -> str:
    folder = Path(str(level)).expanduser().absolute()
    if not (folder / holds).is_file():
        raise UsageError(
            f"{factor}={level}: there is no {folder / holds}", f"a folder with {holds}"
        )
    return str(folder)
