"""Executors that agents of hosts found there: which process is whose."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrometer.core.json_text import parse_json
from pyrometer.store.paths import OF_THE_HOST

RECORDS = "executor-*.json"
TICK_NS = 10_000_000
"""A clock tick as the kernel tells times of processes in."""


@dataclass(frozen=True)
class Found:
    """An executor or driver, as the agent of its host found it.

    Attributes
    ----------
    app, executor, role : str
        Whose process it is, by its command line.
    pid : int
        Its number where the agent is.
    pid_inside : int or None
        Its number as it knows it itself.
    start_ns : int or None
        When it began, in the time that the host counts processes in.
    pod : str or None
        Name of its pod.
    seen_wall_ns : int or None
        When the agent found it, Unix time.
    uid : int or None
        Its user.
    cgroup, container : str or None
        The control group that it is in, as a path, and the container that this is.
    """

    app: str
    executor: str
    role: str
    pid: int
    pid_inside: int | None
    start_ns: int | None
    pod: str | None = None
    seen_wall_ns: int | None = None
    uid: int | None = None
    cgroup: str | None = None
    container: str | None = None

    @property
    def is_apart(self) -> bool:
        """Whether it has numbers of its own, as processes in pods and containers do."""
        return self.pid_inside is not None and self.pid_inside != self.pid


def found_in(folder: Path, apps: Collection[str]) -> list[Found]:
    """Read the records of executors of some applications; what is no such record has none."""
    read = (read_record(path) for path in sorted(folder.glob(RECORDS)))
    return [one for one in read if one is not None and one.app in apps]


def is_of_a_service(folder: Path, shipped: Path) -> bool:
    """Whether a folder of streams is that of an agent that ran as a service.

    Examples
    --------
    >>> is_of_a_service(Path("/r/host/host/18f/node"), Path("/r"))
    True
    >>> is_of_a_service(Path("/r/app-1/2/18f/node"), Path("/r"))
    False
    """
    try:
        parts = folder.relative_to(shipped).parts
    except ValueError:
        return False
    return len(parts) == 4 and parts[:2] == OF_THE_HOST


def service_folders(shipped: Path) -> list[Path]:
    """Give the folders of services' streams in a run, in order."""
    return sorted(one for one in shipped.joinpath(*OF_THE_HOST).glob("*/*") if one.is_dir())


def read_record(path: Path) -> Found | None:
    """Read what an agent wrote of an executor; ``None`` if it is no such record."""
    try:
        record = parse_json(path.read_bytes())
        said = record["found"]
        app, executor, role = said["app"], said["executor"], said["role"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    pid = _whole(said.get("pid"))
    if pid is None or not all(isinstance(one, str) and one for one in (app, executor, role)):
        return None
    ticks = _whole(said.get("start_ticks"))
    seen, uid = record.get("wall_ns"), said.get("uid")
    return Found(
        app=app,
        executor=executor,
        role=role,
        pid=pid,
        pid_inside=_whole(said.get("pid_inside")),
        start_ns=None if ticks is None else ticks * TICK_NS,
        pod=_text(said.get("pod")),
        seen_wall_ns=seen if type(seen) is int and 0 < seen < 1 << 62 else None,
        uid=uid if type(uid) is int and 0 <= uid < 1 << 32 else None,
        cgroup=_text(said.get("cgroup")),
        container=_text(said.get("container")),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    """Give a number that numbers and times of processes can be."""
    return value if type(value) is int and 0 < value < 1 << 38 else None
