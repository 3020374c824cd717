"""What is launched, decided in full before anything starts: a pure value and how it is built."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyrometer import _artifacts
from pyrometer.collect.host.placement import placed_here
from pyrometer.collect.launch import command as commands
from pyrometer.collect.launch.cluster import Cluster, clustered
from pyrometer.collect.launch.command import Command
from pyrometer.collect.launch.driver_elsewhere import DriverElsewhere, options_for, sending
from pyrometer.collect.launch.driver_place import CODE as DRIVER_AWAY
from pyrometer.collect.launch.driver_place import driver_away
from pyrometer.collect.launch.environment import (
    add_needs,
    add_submit_options,
    base_environment,
    keys_here,
    pip_spark,
    prepend_pyspark_arguments,
    use_own_spark,
)
from pyrometer.collect.launch.java import java_of, new_enough, require_java
from pyrometer.collect.launch.said_settings import settings_said
from pyrometer.collect.launch.treatment import Applied, HostPlan, applied_here, plan_host
from pyrometer.collect.probes.base import Needs
from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import CommandNotFoundError, UsageError
from pyrometer.core.installation import install_spark
from pyrometer.store.paths import RunPaths
from pyrometer.trial.factors import Level
from pyrometer.trial.layout import Layout, is_layout, resolve_layout
from pyrometer.trial.trial import Trial
from pyrometer.workloads import registry
from pyrometer.workloads.custom.yaml import OwnCommand, YamlCommand
from pyrometer.workloads.launch import LaunchSpec, launch_spec
from pyrometer.workloads.spark import find_spark
from pyrometer.workloads.values import Progress


@dataclass(frozen=True)
class Launch:
    """A process to start.

    Parameters
    ----------
    argv : tuple of str
        Program (absolute path) and arguments.
    env : mapping
        Its whole environment.
    agent : mapping
        Contents of ``agent.properties``.
    stdout, stderr : Path or None
        Where the stream goes; ``None``: it is inherited.
    kind : str
        As :class:`~pyrometer.collect.launch.command.Command`; ``workload`` for a built-in one,
        ``process`` for one that starts no Spark.
    drop_caches : bool
        Whether the whole page cache is dropped before the launch.
    limits : mapping
        Limits of the host that the workload brings itself, where the user gave none.
    host : HostPlan
        What is done to the host for as long as it runs.
    cluster : Cluster or None
        Standalone cluster that it runs on.
    doubts : tuple of Doubt
        Raised while deciding.
    spec : LaunchSpec or None
        Of a built-in workload: what its runner is given.
    workload_command : OwnCommand or None
        Of a command that a ``workload.yaml`` names: what is known of its result.
    timeout_s : float or None
        Longest time of the application, in seconds.
    layout : Layout
        The JVMs in which tasks run, as far as the treatment decides.
    driver : DriverElsewhere or None
        That runs on the cluster and sends what it records: nothing on this machine does.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    agent: Mapping[str, str]
    kind: str
    stdout: Path | None = None
    stderr: Path | None = None
    drop_caches: bool = False
    limits: Mapping[str, Level] = field(default_factory=dict)
    host: HostPlan = field(default_factory=HostPlan)
    cluster: Cluster | None = None
    doubts: tuple[Doubt, ...] = ()
    spec: LaunchSpec | None = None
    workload_command: OwnCommand | None = None
    timeout_s: float | None = None
    layout: Layout = field(default_factory=Layout)
    driver: DriverElsewhere | None = None

    @property
    def success_code(self) -> int:
        """Exit code with which the application has done what it should."""
        return 0 if self.workload_command is None else self.workload_command.exit_code


def launch_of(trial: Trial, needs: Needs, paths: RunPaths, progress: Progress) -> Launch:
    """Decide how a trial is launched: a command, or a workload, whose data is generated if need be.

    Raises
    ------
    UsageError, CapabilityError
        What is asked for is wrong, or something needed is missing here.
    """
    if trial.name is None:
        return launch_command(trial, needs, paths)
    if is_workload_command(trial.name):
        return launch_workload_command(trial, needs, paths)
    return launch_workload(trial, needs, paths, progress)


def launch_command(
    trial: Trial, needs: Needs, paths: RunPaths, variables: Mapping[str, str] = MappingProxyType({})
) -> Launch:
    """Decide how the user's command is started.

    `variables` win over those of the shell; levels of the trial win over `variables`.

    Raises
    ------
    UsageError, CapabilityError
        The program, Java or Spark is missing; a level that this command cannot take.
    """
    command = commands.understand(trial.command)
    env = {**base_environment(paths), **variables}
    layout = resolve_layout(trial.treatment)
    placement = placed_here(layout, trial.treatment)
    host = plan_host(trial.treatment, placement, paths.root)
    applied, doubts = applied_here(trial.treatment, layout, command, placement, paths.raw, env)
    env.update(applied.env)
    program = program_of(command, env, trial.treatment)
    said = settings_said(command, env)
    applied, cluster = clustered(applied, layout, said, env.get("SPARK_HOME"))
    options = _jvm_options(needs, applied)
    argv = [program, *command.argv[1:]]
    away = driver_away(command, trial.treatment, env)
    driver = None
    if away:
        said |= applied.force
        found = sending(needs, paths, said, env)
        if isinstance(found, str):
            doubts.append(schema.doubt(DRIVER_AWAY, f"Nothing of the driver: {away}; {found}."))
        else:
            driver = found
            last = options_for(driver, said, needs, applied, env)
            argv = commands.with_options(argv, applied.submit_options)
            argv = commands.with_last_options(argv, last)
    if driver is None:
        add_needs(env, needs)
    if driver is not None:
        java_of(command, env)
    elif command.kind == "java":
        argv = commands.with_java_options(argv, options)
    else:
        java_of(command, env, needed=command.kind != "other")
        add_submit_options(env, options)
        if command.kind == "submit":
            argv = commands.with_options(argv, applied.submit_options)
        elif applied.submit_options:
            prepend_pyspark_arguments(env, applied.submit_options)
    holds = {**said, **applied.force}
    agent, more = keys_here(needs, applied, paths, env, holds, cluster is not None, bool(away))
    return Launch(
        argv=tuple(argv),
        env=env,
        agent=agent,
        kind=command.kind,
        stdout=paths.stdout if trial.captured else None,
        stderr=paths.stderr if trial.captured else None,
        host=host,
        cluster=cluster,
        drop_caches=trial.treatment.get("cache.state") == "cold",
        doubts=(*doubts, *more, *_group_doubts(host)),
        timeout_s=trial.timeout_s,
        layout=layout,
        driver=driver,
    )


def launch_workload(trial: Trial, needs: Needs, paths: RunPaths, progress: Progress) -> Launch:
    """Decide how the runner of a built-in workload is started; makes its data if need be.

    Raises
    ------
    UsageError, CapabilityError
        No such workload or level, no Spark, no Java, no room for the data.
    """
    assert trial.name is not None
    workload = registry.get(trial.name)
    process = workload.engine == "process"
    if process:
        without_spark(trial.name, trial.treatment)
    declared = factors_of_workload(trial.name)
    levels = {n: str(v) for n, v in trial.treatment.items() if n in declared}
    scale = str(trial.treatment.get("workload.scale", trial.scale))
    resolved = registry.resolve(trial.name, levels, scale)
    limits, own = workload.limits(resolved), workload.spark_conf(resolved)
    limits = {factor: level for factor, level in limits.items() if factor not in trial.treatment}
    treatment = {**limits, **trial.treatment}
    base = base_environment(paths)
    layout = resolve_layout(treatment)
    placement = placed_here(layout, treatment)
    applied, doubts = applied_here(treatment, layout, None, placement, paths.raw, base, own)
    base.update(applied.env)
    new_enough(None if process else require_java(base))
    home = trial.treatment.get("spark.home")
    found = None if process else str(find_spark(None if home is None else str(home)).home)
    applied, cluster = clustered(applied, layout, own, found)
    spec = launch_spec(
        trial.name,
        levels=levels,
        scale=scale,
        iterations=trial.iterations,
        warmup=trial.warmup,
        raw_dir=paths.raw,
        spark_conf=applied.force,
        spark_home=None if home is None else str(home),
        cache_state=None if (state := trial.treatment.get("cache.state")) is None else str(state),
        canary=_artifacts.canary_command() if trial.canaries else (),
        turns=trial.turns,
        barrier=_barrier(trial),
        progress=progress,
    )
    env = {**base, **spec.env, **applied.env}
    if not process:
        add_needs(env, needs)
        add_submit_options(env, _jvm_options(needs, applied))
    host = plan_host(treatment, placement, Path(spec.prepared.root or paths.root))
    conf = spec.spark_conf
    agent, more = keys_here(needs, applied, paths, env, conf, cluster is not None, process)
    return Launch(
        argv=spec.argv,
        env=env,
        agent=agent,
        kind="process" if process else "workload",
        stdout=paths.stdout if spec.stdout == "capture" else None,
        stderr=paths.stderr if spec.stderr == "capture" else None,
        limits=limits,
        host=host,
        cluster=cluster,
        doubts=(*([] if process else doubts), *more, *_group_doubts(host)),
        spec=spec,
        timeout_s=trial.timeout_s,
        layout=layout,
    )


def _jvm_options(needs: Needs, applied: Applied) -> list[str]:
    """Options of the driver's JVM; of ours none where it would not start with the agent."""
    ours = () if applied.unfit else needs.jvm_options
    return [*ours, *applied.driver_options, *applied.jvm_options]


def _barrier(trial: Trial) -> dict[str, Any] | None:
    if trial.barrier is None:
        return None
    folder, position, count = trial.barrier
    return {"folder": folder, "side": position, "sides": count, "overlap": trial.overlap}


def _group_doubts(host: HostPlan) -> list[Doubt]:
    return [schema.doubt("limit_partial", f"{host.group.doubt}.")] if host.group.doubt else []


def without_spark(name: str, treatment: Mapping[str, Level]) -> None:
    """Refuse levels that mean nothing to a workload which starts no Spark.

    Raises
    ------
    UsageError
        If there are such.
    """
    of_spark = [
        factor for factor in treatment if factor.startswith(("spark.", "jvm.")) or is_layout(factor)
    ]
    if of_spark:
        raise UsageError(
            f"{name} starts no Spark: {', '.join(of_spark)} would change nothing",
            "leave it out",
        )


def factors_of_workload(name: str) -> dict[str, list[str]]:
    """Factors that a built-in workload declares, with their levels.

    Raises
    ------
    UsageError
        If there is no such workload.
    """
    return {factor: list(v.levels) for factor, v in registry.get(name).variants.items()}


def program_of(command: Command, env: dict[str, str], treatment: Mapping[str, Level]) -> str:
    """Find the program of a command; `env` is told of our own Spark where that is it.

    Raises
    ------
    UsageError, CapabilityError
        If it is not here, or cannot be executed.
    """
    name = command.argv[0]
    home = env.get("SPARK_HOME")
    if command.kind == "java" and "jvm.home" in treatment and os.sep not in name:
        return str(Path(str(treatment["jvm.home"]), "bin", "java").expanduser())
    places = pip_spark() if command.kind == "submit" else []
    found = commands.find_program(name, home, places)
    if found is not None:
        if Path(found).parent in places and not home and os.sep not in name:
            use_own_spark(env)
        return found
    if command.kind == "submit":
        raise CommandNotFoundError(
            f"{name} was not found: not in SPARK_HOME ({home or 'not set'}), not on PATH, "
            "not with this Python",
            f"{install_spark()}, or set SPARK_HOME, or give its path",
        )
    if command.kind == "java":
        require_java(env)
    raise CommandNotFoundError(
        f"command not found: {name}",
        "write the command after -- as you would type it; a built-in workload goes without --",
    )


def is_workload_command(name: str) -> bool:
    """Whether a workload is a command: one launch of it is one iteration.

    Raises
    ------
    UsageError
        If there is no such workload.
    """
    return isinstance(registry.get(name), YamlCommand)


def launch_workload_command(trial: Trial, needs: Needs, paths: RunPaths) -> Launch:
    """Decide how the command of a ``workload.yaml`` is started: as any command is.

    Raises
    ------
    UsageError, CapabilityError
        As :func:`launch_command`; the file is wrong, or its output is there.
    """
    assert trial.name is not None
    workload = registry.get(trial.name)
    assert isinstance(workload, YamlCommand)
    levels = {n: str(v) for n, v in trial.treatment.items() if n in workload.variants}
    command = workload.command(registry.resolve(trial.name, levels), paths.root)
    if command.output is not None and command.output.exists():
        raise UsageError(
            f"{command.output} is there already: it would be taken for the output of this run",
            "remove it, or have the command write below {run}",
        )
    treatment = {**command.conf, **{n: v for n, v in trial.treatment.items() if n not in levels}}
    plain = replace(trial, name=None, command=command.argv, treatment=treatment)
    return replace(launch_command(plain, needs, paths, command.env), workload_command=command)
