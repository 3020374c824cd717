"""A driver on the cluster: what its application is given so that it sends back what it records.

Nothing of this machine reaches a driver that a manager starts elsewhere: neither JVM options nor
files. What reaches it are Spark settings and jars. So the plugin alone records there, and an agent
beside the driver ships that, with an event log, to the place that executors ship to.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyrometer import _artifacts
from pyrometer.collect.launch.command import setting_words
from pyrometer.collect.launch.environment import (
    EXECUTOR_OPTIONS,
    SHIP_SETTING,
    SHIP_TO,
    agent_keys,
    ship_keys,
    unwritable,
)
from pyrometer.collect.launch.jvm_options import with_more
from pyrometer.collect.launch.option_text import reader_of, split_options
from pyrometer.collect.launch.treatment import Applied
from pyrometer.collect.probes.base import Needs
from pyrometer.core.errors import PyrometerError
from pyrometer.store.paths import RunPaths
from pyrometer.store.remote import schemes
from pyrometer.store.services.chunk_files import folder_of
from pyrometer.store.services.object_store import address_of

PLUGIN_JAR = "PYROMETER_PLUGIN_JAR"
"""Variable that names the plugin's jar as all hosts of a cluster have it."""
PLUGIN = "org.pyrometer.plugin.PyrometerPlugin"
UPLOADS = "spark.kubernetes.file.upload.path"
"""With it, jars of this machine reach pods; without it Spark refuses them."""
WAITS = {
    "spark://": ("spark.standalone.submit.waitAppCompletion", "false"),
    "yarn": ("spark.yarn.submit.waitAppCompletion", "true"),
    "k8s://": ("spark.kubernetes.submission.waitAppCompletion", "true"),
}
"""By how a master begins, what has spark-submit return with the application, and its default.

Otherwise it returns before the application has begun, which would then be measured in part."""

_OURS = "spark.pyrometer."
_JARS = "spark.jars"
_PLUGINS = "spark.plugins"
_DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
_LOG = "spark.eventLog."
_HERE = ("raw.dir", "probe.tree", "ship.cluster.to", "ship.to")
"""Keys of an agent on this machine, which say nothing elsewhere."""


@dataclass(frozen=True)
class DriverElsewhere:
    """A driver that sends what it records.

    Attributes
    ----------
    store : str
        Folder or address that its agent, and those of its executors, ship to.
    run_id : str
        By which its records are found there.
    """

    store: str
    run_id: str


def sending(
    needs: Needs, paths: RunPaths, said: Mapping[str, str], env: Mapping[str, str]
) -> DriverElsewhere | str:
    """Give the driver on the cluster with the place that it ships to, or say why it cannot.

    Parameters
    ----------
    said, env : mapping of str to str
        As of :func:`why_silent`.

    Raises
    ------
    UsageError
        If that is no such place, or holds credentials.
    CapabilityError
        If what reads it here is not installed.
    """
    to = sends_to(needs, paths, said, env)
    silent = why_silent(needs, said, env, to)
    if silent is not None:
        return silent
    if folder_of(to) is None:
        schemes.reader_of(address_of(to))
    return DriverElsewhere(to, str(uuid.uuid4()))


def why_silent(
    needs: Needs, said: Mapping[str, str], env: Mapping[str, str], to: str
) -> str | None:
    """Say why a driver on the cluster can send nothing; ``None`` if it can.

    A Spark application ends where the class of a plugin is missing: unless the jar surely reaches
    the driver, it is not asked for.

    Parameters
    ----------
    said : mapping of str to str
        Settings that hold for the command.
    env : mapping of str to str
        Its environment.
    to : str
        Where it would ship to.
    """
    if needs.agent.get("plugin") != "on":
        return "the plugin, which would record it, is off: use --profile light or full"
    try:
        jar = _artifacts.plugin_jar()
    except PyrometerError as error:
        return error.message
    if env.get(PLUGIN_JAR):
        return None
    master = said.get("spark.master", "")
    if master.startswith("k8s://") and UPLOADS not in said:
        how = f"name it: {PLUGIN_JAR}=local:///PATH in the image, or set {UPLOADS}"
        return f"pods have no {jar.name}; {how}"
    if not master.startswith(("yarn", "k8s://")):
        return (
            f"a standalone master brings no jars to its drivers; put {jar} where all hosts have"
            f" it, and name that: {PLUGIN_JAR}=local:///PATH"
        )
    if "," in str(jar):
        return f"a comma in {jar} would cut the list of jars; name a copy of it: {PLUGIN_JAR}=PATH"
    why = unwritable(to, said)
    if why is not None:
        return f"{why}; name one with {SHIP_TO}, or a folder that all hosts share"
    return None


def options_for(
    driver: DriverElsewhere,
    said: Mapping[str, str],
    needs: Needs,
    applied: Applied,
    env: Mapping[str, str],
) -> list[str]:
    """Give the options of ``spark-submit`` that have a driver elsewhere send what it records.

    They hold the command's own lists, and are to stand behind its words.

    Parameters
    ----------
    said : mapping of str to str
        Settings that hold for the command without them.
    """
    keys = agent_keys(needs, applied)
    settings = {
        name: "true"
        for begin, (name, default) in WAITS.items()
        if said.get("spark.master", "").startswith(begin) and said.get(name, default) != "true"
    }
    for key, value in keys.items():
        kind, _, name = key.partition(".")
        if kind not in ("force", "conf", "append"):
            settings |= {} if key in _HERE else {_OURS + key: value}
        elif name.startswith(_LOG):
            # The application's log stays as it is: these are for what the driver ships.
            settings |= {_OURS + key: value} if kind == "conf" and name != f"{_LOG}dir" else {}
        elif kind == "force" or (kind == "conf" and name not in said):
            settings[name] = value
    settings |= {
        SHIP_SETTING: driver.store,
        f"{_OURS}ship.driver": "on",
        f"{_OURS}run_id": driver.run_id,
        _PLUGINS: _added(said.get(_PLUGINS), PLUGIN),
    }
    jvms = {
        EXECUTOR_OPTIONS: split_options(keys.get(f"append.{EXECUTOR_OPTIONS}", "")),
        _DRIVER_OPTIONS: [*applied.driver_options, *applied.jvm_options],
    }
    for name, options in jvms.items():
        if options:
            reader = reader_of(name, said.get("spark.master", ""))
            settings[name] = with_more(said.get(name, ""), options, reader)
    jar = env.get(PLUGIN_JAR) or _artifacts.plugin_jar().as_uri()
    given = [word for name, value in settings.items() for word in setting_words(name, value)]
    return [*given, "--jars", _added(said.get(_JARS), jar)]


def sends_to(needs: Needs, paths: RunPaths, said: Mapping[str, str], env: Mapping[str, str]) -> str:
    """Give the place that a driver elsewhere ships to: as for its executors.

    Raises
    ------
    UsageError
        If ``PYROMETER_SHIP_TO`` or ``spark.pyrometer.ship.to`` is no such place.
    """
    keys = ship_keys(needs, paths, env, said, ours=False)
    return said.get(SHIP_SETTING) or keys.get("ship.to") or keys.get("ship.cluster.to") or ""


def nothing_came(driver: DriverElsewhere) -> str:
    """Say that a driver elsewhere sent nothing, and what to look for."""
    return (
        f"Nothing of the driver: it ran on another machine, and nothing of it arrived in"
        f" {driver.store}. Hosts of the cluster have to be able to write there: name a folder that"
        f" all of them mount with {SHIP_TO}, or a store that their Hadoop writes to."
        " What comes later is added by pyrometer ingest RUN. What does not is in"
        " pyrometer-driver-records-… of the driver's folder for temporary files, as long as that is"
        " there: on YARN and Kubernetes it ends with the container."
    )


def _added(have: str | None, one: str) -> str:
    """Add an element to a list of Spark's, once."""
    elements: Sequence[str] = [part for part in (have or "").split(",") if part.strip()]
    return ",".join(elements if one in elements else [*elements, one])
