"""JVMs of a launch on this host: what is pinned under its limits, and where executors go."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pyrometer import schema
from pyrometer.doubt import Doubt
from pyrometer.plan import Level
from pyrometer.run.command import Command
from pyrometer.run.java import java_release, require_java
from pyrometer.run.jvm import limited, pinned, told
from pyrometer.run.memory import with_limit
from pyrometer.run.placing import Placement, write_java
from pyrometer.run.treatment import Applied, apply_treatment

TOLD_OF = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "PYSPARK_SUBMIT_ARGS")
"""Variables that options of a JVM come from."""


def applied_here(
    treatment: Mapping[str, Level],
    command: Command | None,
    placement: Placement,
    raw: Path,
    env: Mapping[str, str],
) -> tuple[Applied, list[Doubt]]:
    """Translate a treatment for this host.

    Parameters
    ----------
    treatment : mapping
        Levels, those that the workload brings among them.
    command : Command or None
        The command; ``None``: a built-in workload.
    placement : Placement
        Where JVMs run.
    raw : Path
        Folder of the run, for the ``java`` that places executors.
    env : mapping
        The environment.
    """
    home = {"JAVA_HOME": str(treatment["jvm.home"])} if "jvm.home" in treatment else {}
    java = require_java({**env, **home}, needed=bool(placement.executors))
    release = java_release(java) if java else None
    own = placement.application.cpus
    cpus = None if own is None else len(own)
    levels = with_limit(treatment)
    driver = limited(levels, cpus)
    executor = limited(levels, placement.executor_cpus or cpus)
    applied = apply_treatment(treatment, command, release, driver.cpus)
    doubts = [schema.doubt("option_set_partial", text) for text in applied.partial]
    said = [*applied.jvm_options, *_said(command, env)]
    host = os.cpu_count() or 1
    pins = {limits: pinned(limits, host, said) for limits in (driver, executor)}
    doubts += [schema.doubt("jvm_pinned", told(*one)) for one in pins.items() if one[1]]
    force = dict(applied.force)
    if placement.executors:
        assert java is not None
        folder = write_java(raw / "placed-java", java, placement.executors)
        force["spark.executorEnv.JAVA_HOME"] = str(folder)
    return replace(
        applied,
        force=force,
        driver_options=(*pins[driver], *applied.driver_options),
        executor_options=tuple(pins[executor]),
    ), doubts


def _said(command: Command | None, env: Mapping[str, str]) -> Iterable[str]:
    yield from (env.get(name, "") for name in TOLD_OF)
    if command is None:
        return
    yield from command.argv
    home = env.get("SPARK_HOME")
    folder = env.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    if folder is not None:
        path = Path(folder, "spark-defaults.conf")
        if path.is_file():
            yield path.read_text(encoding="utf-8", errors="replace")
