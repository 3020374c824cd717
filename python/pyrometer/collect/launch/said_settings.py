"""Spark settings that hold for a command before it runs: of its words, files and environment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from pyrometer.collect.launch.command import Command, conf_folder, understand
from pyrometer.collect.launch.properties import entries

VARIABLES = {
    "MASTER": "spark.master",
    "SPARK_DRIVER_MEMORY": "spark.driver.memory",
    "SPARK_EXECUTOR_MEMORY": "spark.executor.memory",
}
"""Variables from which Spark's scripts take a setting that nothing else says."""

_TRIMMED = "".join(map(chr, range(33)))
"""What Spark trims values of, as Java does."""

PYSPARK = "PYSPARK_SUBMIT_ARGS"
"""Options with which PySpark starts its driver, where Python is started and not a Spark script."""


def settings_said(command: Command, env: Mapping[str, str]) -> dict[str, str]:
    """Give the settings that hold for a command, as far as one can read them without running it.

    What its program sets itself is not among them.

    Parameters
    ----------
    env : mapping of str to str
        Its environment.

    Examples
    --------
    >>> command = understand(["spark-submit", "-c", "spark.a=1", "a.py"])
    >>> settings_said(command, {"MASTER": "local", "PATH": ""})
    {'spark.master': 'local', 'spark.a': '1'}
    """
    if command.kind == "java":
        return dict(command.settings)  # No script of Spark's reads anything else.
    found = {setting: env[name] for name, setting in VARIABLES.items() if env.get(name)}
    found |= settings_of_files(command, env)
    return {**found, **settings_typed(command, env)}


def settings_typed(command: Command, env: Mapping[str, str]) -> dict[str, str]:
    """Give the settings of a command's words, and of what PySpark starts with: they win over files.

    Examples
    --------
    >>> settings_typed(understand(["python", "a.py"]), {PYSPARK: "-c spark.a=1 pyspark-shell"})
    {'spark.a': '1'}
    """
    python = command.kind in ("python", "other")
    return {**(_of_pyspark(env.get(PYSPARK, "")) if python else {}), **command.settings}


def settings_of_files(command: Command, env: Mapping[str, str]) -> dict[str, str]:
    """Give the settings of the files that Spark reads for a command."""
    return {name: one for path in _files(command, env) for name, one in _of_file(path).items()}


def _files(command: Command, env: Mapping[str, str]) -> list[Path]:
    """Files of settings that Spark reads, the one that wins last."""
    folder = conf_folder(command, env)
    files = [] if folder is None else [folder / "spark-defaults.conf"]
    if command.properties_file is None:
        return files
    # A file of one's own takes the place of Spark's, unless both are asked for (Spark 4).
    both = "--load-spark-defaults" in command.argv
    return [*(files if both else []), Path(command.properties_file)]


def _of_file(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}  # Spark says so itself, once it runs.
    return {
        one.name: one.value.strip(_TRIMMED)
        for one in entries(text)
        if one.name is not None and one.name.startswith("spark.")
    }


def _of_pyspark(text: str) -> Mapping[str, str]:
    try:
        return understand(["spark-submit", *shlex.split(text)]).settings
    except ValueError:
        return {}  # A quote is not closed: Spark says so itself.
