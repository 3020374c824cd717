"""Trials on their way into a machine: what of them goes there, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from pyrometer.core.errors import UsageError
from pyrometer.guests.machine import split
from pyrometer.trial.trial import Trial

FILE = Path("/pyrometer/job.json")
"""Where a machine has its trials."""

PASSED_ON = (
    "JAVA_HOME", "SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH", "LANG",
    "LC_ALL", "TZ", "HOME", "PATH", "PYROMETER_CACHE", "XDG_CACHE_HOME", "PYROMETER_CORPUS",
    "PYROMETER_VERDICTS", "SPARK_LOCAL_DIRS", "SPARK_SCALA_VERSION", "SPARK_ANSI_SQL_MODE",
    "SPARK_USER", "PYTHONHASHSEED", "OMP_NUM_THREADS", "MALLOC_ARENA_MAX",
)  # fmt: skip
"""Variables that a trial in a machine keeps, beside those that `naming_files` and `_SIZED` have;
nothing else of the environment leaves the host."""

SETTINGS = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Variables that name a folder of settings."""

_NAMING = (
    *SETTINGS, "PYSPARK_SUBMIT_ARGS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS",
    "CLASSPATH", "SPARK_DIST_CLASSPATH",
)  # fmt: skip
_OPTIONS = re.compile(r"SPARK_[A-Z0-9_]*OPTS")
_SIZED = re.compile(r"SPARK_[A-Z0-9_]*(MEMORY|CORES)")
_OF_SPARK = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "HIVE_", "LD_")

TOOLS = "/pyrometer/bin"
"""Where the first process puts busybox by all its names: after what this host has."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def inside(trial: Trial, root: Path) -> Trial:
    """Give the trial as it runs in its machine: with its folder, and no level of the machine.

    Raises
    ------
    UsageError
        If it is one that no machine can run.
    """
    if trial.push is not None:
        raise UsageError(
            "--push: a virtual machine of a trial has no network",
            "send the profiles afterwards: pyrometer push RUN",
        )
    return replace(trial, treatment=split(trial.treatment)[1], run_dir=root, captured=True)


def in_machine(file: Path = FILE) -> bool:
    """Whether we run in a machine that was made for a trial.

    Examples
    --------
    >>> in_machine(Path("/nonexistent"))
    False
    """
    return file.is_file()


def write(trials: Sequence[Trial]) -> bytes:
    """Write trials for the process that runs them."""
    return TypeAdapter(list[Trial]).dump_json(list(trials))


def read(data: bytes) -> list[Trial]:
    """Read trials that :func:`write` wrote."""
    return TypeAdapter(list[Trial]).validate_json(data)


def naming_files(ours: Mapping[str, str]) -> dict[str, str]:
    """Give the variables that go along with the files and folders that they name.

    Examples
    --------
    >>> naming_files({"SPARK_SUBMIT_OPTS": "-javaagent:/a.jar", "SPARK_EXECUTOR_CORES": "2"})
    {'SPARK_SUBMIT_OPTS': '-javaagent:/a.jar'}
    """
    return {
        name: text
        for name, text in ours.items()
        if text and (name in _NAMING or _OPTIONS.fullmatch(name))
    }


def left_behind(ours: Mapping[str, str]) -> list[str]:
    """Name the variables that may change what Spark does and do not go along.

    Examples
    --------
    >>> left_behind({"LD_PRELOAD": "/a.so", "SPARK_DRIVER_MEMORY": "2g", "AWS_REGION": "x"})
    ['LD_PRELOAD']
    """
    kept = environment(ours, None)
    of_spark = (name for name, text in ours.items() if text and name.startswith(_OF_SPARK))
    return sorted(name for name in of_spark if name not in kept)


def environment(ours: Mapping[str, str], java: str | None) -> dict[str, str]:
    """Choose the variables that go along.

    Examples
    --------
    >>> environment({"AWS_SECRET_ACCESS_KEY": "x", "LANG": "C.UTF-8", "PATH": "/bin"}, "/jdk")
    {'LANG': 'C.UTF-8', 'PATH': '/bin:/pyrometer/bin', 'JAVA_HOME': '/jdk'}
    """
    kept = {name: ours[name] for name in PASSED_ON if ours.get(name)} | naming_files(ours)
    kept |= {name: text for name, text in ours.items() if text and _SIZED.fullmatch(name)}
    kept["PATH"] = f"{kept.get('PATH', DEFAULT_PATH)}:{TOOLS}"
    return {**kept, **({"JAVA_HOME": java} if java else {})}
