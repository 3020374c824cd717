"""What a launched process is given: its environment, and the keys for the agent in its JVMs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyrometer.collect.launch.command import shown
from pyrometer.collect.launch.option_text import join_options
from pyrometer.collect.launch.properties import written
from pyrometer.collect.launch.treatment import Applied
from pyrometer.collect.probes.base import Needs
from pyrometer.collect.probes.plain_path import plain
from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.patience import patient
from pyrometer.store.paths import RunPaths
from pyrometer.store.remote.address import is_url, scheme_of
from pyrometer.store.remote.schemes import WRITTEN_BY_HADOOP, reader_of
from pyrometer.store.services.chunk_files import folder_of
from pyrometer.store.services.object_store import address_of
from pyrometer.workloads.spark import find_spark

INSIDE = "PYROMETER_RUN_DIR"
SHIP_TO = "PYROMETER_SHIP_TO"
SHIP_SETTING = "spark.pyrometer.ship.to"
"""The same as a setting of Spark's, which wins."""
UNWRITABLE = "ship_store_unwritable"
"""Doubt of a run whose executors, if it has any elsewhere, cannot ship."""
AGENTS = "PYROMETER_AGENTS"
NETWORK_TIMEOUT_S = 120.0
"""Spark's own, after which an executor without a heartbeat is lost."""
EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"


def base_environment(paths: RunPaths) -> dict[str, str]:
    """Our environment, and the variable that marks the application as inside a run.

    Raises
    ------
    UsageError
        If this already is inside a run.
    """
    outer = os.environ.get(INSIDE)
    if outer:
        raise UsageError(
            f"this is already inside a run of Pyrometer ({outer})",
            "run the inner command without Pyrometer, or unset " + INSIDE,
        )
    return {**os.environ, INSIDE: str(paths.root)}


def add_submit_options(env: dict[str, str], options: list[str]) -> None:
    """Append JVM options to ``SPARK_SUBMIT_OPTS``; the user's own content stays in front."""
    own = env.get("SPARK_SUBMIT_OPTS", "").strip()
    ours = join_options(options)
    env["SPARK_SUBMIT_OPTS"] = " ".join(part for part in (own, ours) if part)


def add_needs(env: dict[str, str], needs: Needs) -> None:
    """Add what probes need in the environment; the user's own ``PYTHONPATH`` stays behind ours."""
    env.update(needs.environment)
    if needs.python_path:
        own = env.get("PYTHONPATH")
        env["PYTHONPATH"] = os.pathsep.join([*needs.python_path, *([own] if own else [])])


def prepend_pyspark_arguments(env: dict[str, str], options: tuple[str, ...]) -> None:
    """Put Spark options in front of what PySpark gives to ``spark-submit``."""
    own = env.get("PYSPARK_SUBMIT_ARGS", "").strip() or "pyspark-shell"
    env["PYSPARK_SUBMIT_ARGS"] = f"{shown(options)} {own}"


def agent_keys(needs: Needs, applied: Applied) -> dict[str, str]:
    """Keys of ``agent.properties``: of the probes, then of the treatment."""
    keys = dict(needs.agent)
    if (longest := patient(NETWORK_TIMEOUT_S)) > NETWORK_TIMEOUT_S:
        # An executor that has to wait for an emulated processor is not lost.
        keys["conf.spark.network.timeout"] = f"{longest:.0f}s"
    options = [*needs.executor_options, *applied.executor_options, *applied.jvm_options]
    if options:
        keys[f"append.{EXECUTOR_OPTIONS}"] = join_options(options)
    keys.update({f"force.{name}": value for name, value in applied.force.items()})
    return keys


def keys_here(
    needs: Needs,
    applied: Applied,
    paths: RunPaths,
    env: Mapping[str, str],
    said: Mapping[str, str],
    ours: bool,
    shipless: bool = False,
) -> tuple[dict[str, str], list[Doubt]]:
    """Give the keys of ``agent.properties``, with a doubt where executors may be unable to ship.

    Parameters
    ----------
    needs, paths, env, said, ours
        As of :func:`ship_keys`.
    applied : Applied
        The treatment.
    shipless : bool
        Whether no driver here has executors.

    Raises
    ------
    UsageError, CapabilityError
        As :func:`ship_keys`; if nothing writes where executors would ship.
    """
    shipping = ship_keys(needs, paths, env, said, ours)
    keys = {**agent_keys(needs, applied), **shipping}
    to = said.get(SHIP_SETTING) or shipping.get("ship.to", "")
    master = said.get("spark.master", "")
    alone = master == "local" or master.startswith("local[")
    plugin = needs.agent.get("plugin") == "on"
    if not plugin or not to or folder_of(to) is not None or alone or shipless:
        return keys, []
    why = unwritable(to, said)
    if why is None:
        return keys, []
    said_so = f"cannot ship to {to}: {why}"
    if not master:
        unnamed = "No master is named: if the program sets one other than local"
        return keys, [schema.doubt(UNWRITABLE, f"{unnamed}, its executors {said_so}.")]
    name = SHIP_SETTING if said.get(SHIP_SETTING) else SHIP_TO
    scheme = scheme_of(to)
    raise UsageError(
        f"executors of {master} {said_so}",
        f"name its class if their Hadoop has one, --conf spark.hadoop.fs.{scheme}.impl=CLASS; or a"
        f" folder that all hosts share, {name}=/mnt/shared/pyrometer; or leave {name} out where"
        " executors can write into the run directory",
    )


def unwritable(to: str, said: Mapping[str, str]) -> str | None:
    """Say why nothing in an executor writes to a place; ``None`` if something may.

    Parameters
    ----------
    to : str
        A folder, which the agent writes to, or an address, which is left to Hadoop's client.
    said : mapping
        Settings that hold for the application.

    Examples
    --------
    >>> unwritable("s3a://bucket/x", {}), unwritable("/mnt/shared", {})
    (None, None)
    >>> unwritable("https://host/x", {})
    "no file system of Hadoop's that writes to https:// is known"
    """
    scheme = scheme_of(to).lower()
    if folder_of(to) or scheme in WRITTEN_BY_HADOOP or said.get(f"spark.hadoop.fs.{scheme}.impl"):
        return None
    return f"no file system of Hadoop's that writes to {scheme}:// is known"


def ship_keys(
    needs: Needs,
    paths: RunPaths,
    env: Mapping[str, str],
    said: Mapping[str, str],
    ours: bool,
) -> dict[str, str]:
    """Give the keys that say where executors ship what they write on their hosts.

    Parameters
    ----------
    needs : Needs
        Of the probes: without the plugin there is nothing to ship.
    paths : RunPaths
        Of the run, which is where they ship to unless the user says otherwise.
    env : mapping
        Environment of the application.
    said : mapping
        Settings that hold for it.
    ours : bool
        Whether the cluster is one that we start, on this machine.

    Raises
    ------
    UsageError
        If ``PYROMETER_SHIP_TO``, ``spark.pyrometer.ship.to`` or ``PYROMETER_AGENTS`` is neither an
        absolute path nor a URL, or holds credentials.
    CapabilityError
        If what reads the store of ``PYROMETER_AGENTS`` is not installed.
    """
    asked_agents(env)
    asked = env.get(SHIP_TO, "")
    for name, place in ((SHIP_TO, asked), (SHIP_SETTING, said.get(SHIP_SETTING, ""))):
        if place and not (place.startswith("/") or "://" in place):
            raise UsageError(
                f"{name}={place}: executors would look for it in folders of their own",
                "give an absolute path that all hosts share, or a URL",
            )
        if place and folder_of(place) is None:
            address_of(place)
    if needs.agent.get("plugin") != "on":
        return {}
    if asked:
        return {"ship.to": asked}
    return {} if ours else {"ship.cluster.to": str(plain(paths.raw) / paths.chunks.name)}


def asked_agents(env: Mapping[str, str]) -> list[str]:
    """Give the stores that agents ship to which run as services, in ``PYROMETER_AGENTS``.

    Raises
    ------
    UsageError
        If it is neither an absolute path nor a URL.

    Examples
    --------
    >>> asked_agents({"PYROMETER_AGENTS": "/mnt/shared/pyrometer"}), asked_agents({})
    (['/mnt/shared/pyrometer'], [])
    """
    asked = env.get(AGENTS, "")
    return [store_of_agents(asked, f"{AGENTS}={asked}")] if asked else []


def store_of_agents(asked: str, said: str) -> str:
    """Check a store of agents that run as services.

    Raises
    ------
    UsageError
        If it is neither an absolute path nor a URL, or holds credentials; `said` is how it was
        given.
    CapabilityError
        If what reads it is not installed.
    """
    if folder_of(asked) is not None:
        return asked
    if is_url(asked):
        url = address_of(asked)
        reader_of(url)
        return url
    raise UsageError(
        f"{said}: neither an absolute path nor a URL",
        "give the store that the agents of hosts ship to (their --to)",
    )


def properties_text(keys: Mapping[str, str]) -> str:
    r"""Write ``agent.properties``.

    Raises
    ------
    UsageError
        If a value is not UTF-8.

    Examples
    --------
    >>> properties_text({"raw.dir": "/a\\b", "x": " y\n"})
    'raw.dir=/a\\\\b\nx=\\ y\\n\n'
    """
    lines = [f"{written(key, value, '=')}\n" for key, value in keys.items()]
    whole = "".join(lines)
    try:
        whole.encode()
    except UnicodeEncodeError as error:
        line = whole[: error.start].count("\n")
        raise UsageError(
            f"{lines[line].partition('=')[0].removeprefix('force.')}: its value is not UTF-8",
            "Java has no other settings: give it in UTF-8",
        ) from error
    return whole


def pip_spark() -> list[Path]:
    """Folders where pip may have put Spark's scripts."""
    import importlib.util

    places = [Path(sys.executable).parent]
    spec = importlib.util.find_spec("pyspark")
    if spec is not None and spec.origin:
        places.append(Path(spec.origin).parent / "bin")
    return places


def use_own_spark(env: dict[str, str]) -> None:
    """Have Spark's scripts use the Spark and the Python that Pyrometer is installed with."""
    spark = find_spark()
    env["SPARK_HOME"] = str(spark.home)
    env.setdefault("PYSPARK_PYTHON", spark.python)
