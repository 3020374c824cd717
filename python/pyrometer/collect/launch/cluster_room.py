"""What room a cluster has for executors just now, as its manager says.

Spark's standalone master tells it with its web page, YARN's ResourceManager by its REST API. Both
are asked by GET alone, without credentials and without the environment's proxy, and neither for
long: what cannot be asked so is not known.
"""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyrometer.core.errors import CapabilityError
from pyrometer.core.json_text import parse_json
from pyrometer.core.patience import patient

PATIENCE_S = 5.0
MOST_BYTES = 16 << 20
"""A master's answer has about 500 bytes for each worker and application."""
WEB_PORT = "8080"
RM_PORT, RM_PORT_TLS = "8088", "8090"
_MIB = 1 << 20
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PROPERTY = re.compile(r"<property>(.*?)</property>", re.DOTALL)
_PART = re.compile(r"<(name|value)>\s*(.*?)\s*</\1>", re.DOTALL)
_VARIABLE = re.compile(r"\$\{([\w.-]+)\}")


@dataclass(frozen=True)
class Room:
    """What is free on a host."""

    cores: int
    memory_bytes: int


def free_rooms(master: str, env: Mapping[str, str]) -> list[Room]:
    """Ask the manager of a cluster what is free.

    Parameters
    ----------
    master : str
        Address of the master, as Spark takes it.
    env : mapping of str to str
        Where the settings of Spark and Hadoop are, if not at their usual places.

    Raises
    ------
    CapabilityError
        If the manager is of another kind, or does not answer.
    """
    if master.startswith("spark://"):
        pages = list(_master_pages(master, env))
        return _first(pages, of_master, "the standalone master")
    if master == "yarn":
        pages = [f"{one}/ws/v1/cluster/nodes" for one in resource_managers(env)]
        if not pages:
            raise CapabilityError("HADOOP_CONF_DIR has no yarn-site.xml that names YARN's manager")
        return _first(pages, of_resource_manager, "YARN's ResourceManager")
    raise CapabilityError(f"what room {master or 'a local master'} has cannot be asked")


def of_master(answer: Any) -> list[Room]:
    """Read what a standalone master says of its workers.

    Raises
    ------
    ValueError
        If it is not in charge, or says something else.

    Examples
    --------
    >>> of_master({"status": "ALIVE", "workers": [
    ...     {"state": "ALIVE", "coresfree": 4, "memoryfree": 2048},
    ...     {"state": "DEAD", "coresfree": 4, "memoryfree": 2048}]})
    [Room(cores=4, memory_bytes=2147483648)]
    """
    if _at(answer, "status") != "ALIVE":
        raise ValueError("it is not the master in charge")
    workers = _at(answer, "workers")
    if not isinstance(workers, list):
        raise ValueError("it lists no workers")
    return [
        Room(_count(one, "coresfree"), _count(one, "memoryfree") * _MIB)
        for one in workers
        if _at(one, "state") == "ALIVE"
    ]


def of_resource_manager(answer: Any) -> list[Room]:
    """Read what YARN's ResourceManager says of its nodes.

    Raises
    ------
    ValueError
        If it says something else.

    Examples
    --------
    >>> of_resource_manager({"nodes": {"node": [
    ...     {"state": "RUNNING", "availableVirtualCores": 6, "availMemoryMB": 9216},
    ...     {"state": "LOST", "availableVirtualCores": 6, "availMemoryMB": 9216}]}})
    [Room(cores=6, memory_bytes=9663676416)]
    """
    nodes = _at(_at(answer, "nodes"), "node")
    if not isinstance(nodes, list):
        raise ValueError("it lists no nodes")
    return [
        Room(_free(one, "availableVirtualCores"), _free(one, "availMemoryMB") * _MIB)
        for one in nodes
        if _at(one, "state") == "RUNNING"
    ]


def resource_managers(env: Mapping[str, str]) -> list[str]:
    """Give the addresses of YARN's ResourceManagers by Hadoop's settings.

    Parameters
    ----------
    env : mapping of str to str
        With ``HADOOP_CONF_DIR`` or ``YARN_CONF_DIR``, as Spark needs it.
    """
    settings: dict[str, str] = {}
    for variable in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        if env.get(variable):
            settings |= _site(Path(env[variable], "yarn-site.xml"))
    tls = settings.get("yarn.http.policy") == "HTTPS_ONLY"
    kind, port = ("https", RM_PORT_TLS) if tls else ("http", RM_PORT)
    name = f"yarn.resourcemanager.webapp{'.https' if tls else ''}.address"
    found = []
    ids = settings.get("yarn.resourcemanager.ha.rm-ids", "").split(",")
    for suffix in [f".{one.strip()}" for one in ids if one.strip()] or [""]:
        host = settings.get(f"yarn.resourcemanager.hostname{suffix}")
        address = settings.get(f"{name}{suffix}") or (f"{host}:{port}" if host else None)
        if address:
            found.append(f"{kind}://{_expanded(address, settings)}")
    return found


def _master_pages(master: str, env: Mapping[str, str]) -> Iterator[str]:
    port = env.get("SPARK_MASTER_WEBUI_PORT") or WEB_PORT
    for one in master.removeprefix("spark://").split(","):
        try:
            host = urlsplit(f"spark://{one}").hostname
        except ValueError:
            host = None
        if host:
            yield f"http://{f'[{host}]' if ':' in host else host}:{port}/json/"


def _first(pages: Sequence[str], read: Callable[[Any], list[Room]], who: str) -> list[Room]:
    """Give the first answer that can be read."""
    refused = []
    for page in pages:
        try:
            return read(_asked(page))
        except (OSError, ValueError) as error:
            refused.append(f"{page}: {error}")
    raise CapabilityError(f"{who} does not say what is free: {'; '.join(refused) or 'no address'}")


def _asked(page: str) -> Any:
    """Ask for a page of JSON.

    Raises
    ------
    ValueError, OSError
        If there is none within the time and size that it may have.
    """
    import httpx

    deadline = time.monotonic() + patient(PATIENCE_S)
    body = bytearray()
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    try:
        with (
            httpx.Client(trust_env=False, timeout=patient(PATIENCE_S)) as client,
            client.stream("GET", page, headers=headers) as answer,
        ):
            if answer.status_code != 200:
                raise ValueError(f"status {answer.status_code}")
            for part in answer.iter_raw():
                body += part
                if len(body) > MOST_BYTES or time.monotonic() > deadline:
                    raise ValueError("the answer is too long, or takes too long")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OSError(str(error) or type(error).__name__) from error
    return parse_json(bytes(body))


def _site(path: Path) -> dict[str, str]:
    """Read a file of Hadoop's settings; one that is not there has none."""
    try:
        text = _COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return {}
    found = [dict(_PART.findall(one)) for one in _PROPERTY.findall(text)]
    return {
        html.unescape(one["name"]): html.unescape(one["value"])
        for one in found
        if {"name", "value"} <= one.keys()
    }


def _expanded(text: str, settings: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: settings.get(found[1], found[0]), text)


def _at(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _count(value: Any, key: str) -> int:
    found = _at(value, key)
    if type(found) is not int or found < 0:
        raise ValueError(f"it does not say {key}")
    return found


def _free(value: Any, key: str) -> int:
    """Read what a node has free: below zero where it gave more than it has, as YARN may."""
    found = _at(value, key)
    return 0 if type(found) is int and found < 0 else _count(value, key)
