"""Control groups of pods and containers, below the group of their host."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.kube.kubelet.api import Object
from tests.cluster.kube.kubelet.environment import quantity

SLICE = "kubepods"
PERIOD_US = 100_000
LEAST_QUOTA_US = 1_000
SHARES = 1024
REMOVE_S = 5.0


@dataclass(frozen=True)
class Limits:
    """What the processes of a container may have together.

    Parameters
    ----------
    shares : int
        Weight beside others, of which one CPU has 1024.
    quota_us : int or None
        CPU time in each tenth of a second; ``None``: no limit.
    memory : int or None
        Bytes; ``None``: no limit.
    """

    shares: int = 2
    quota_us: int | None = None
    memory: int | None = None


def limits(container: Object) -> Limits:
    """Read what a container asks for.

    Examples
    --------
    >>> limits({"resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}}})
    Limits(shares=512, quota_us=None, memory=1073741824)
    """
    asked = container.get("resources", {})
    most = asked.get("limits", {})
    cpu = quantity(asked.get("requests", {}).get("cpu") or most.get("cpu") or 0)
    quota = int(quantity(most["cpu"]) * PERIOD_US) if "cpu" in most else None
    return Limits(
        shares=max(2, int(cpu * SHARES)),
        quota_us=None if quota is None else max(LEAST_QUOTA_US, quota),
        memory=int(quantity(most["memory"])) if "memory" in most else None,
    )


def quality(pod: Object) -> str:
    """Give the folder of a pod's quality of service; that of guaranteed ones is none.

    Examples
    --------
    >>> quality({"spec": {"containers": [{"resources": {"limits": {"cpu": 1}}}]}})
    'burstable'
    """
    of = [one.get("resources", {}) for one in pod["spec"]["containers"]]
    if not any(one.get("requests") or one.get("limits") for one in of):
        return "besteffort"
    exact = all(
        {"cpu", "memory"} <= one.get("limits", {}).keys()
        and {**one["limits"], **one.get("requests", {})} == one["limits"]
        for one in of
    )
    return "" if exact else "burstable"


def path(pod: Object) -> str:
    """Give the path of a pod's groups below that of its host, as a kubelet names it."""
    return "/".join(part for part in (SLICE, quality(pod), f"pod{pod['metadata']['uid']}") if part)


def make(host_groups: list[str], below: str, limited: Limits = Limits()) -> list[str]:
    """Make a group in each of the host's hierarchies; returns their folders.

    Limits are applied where hierarchies are of version 1. In version 2 a host's own processes are
    in its group, which therefore cannot limit groups below it.
    """
    made = []
    for top in host_groups:
        folder = Path(top, below)
        folder.mkdir(parents=True, exist_ok=True)
        written = {
            "cpu.shares": limited.shares,
            "cpu.cfs_quota_us": limited.quota_us,
            "memory.limit_in_bytes": limited.memory,
            # Where the machine has swap, a container would not be killed but swapped, as no kubelet
            # lets it be unless it is told to.
            "memory.memsw.limit_in_bytes": limited.memory,
        }
        for name, value in written.items():
            if value is not None and (folder / name).exists():
                (folder / name).write_text(str(value), "ascii")
        made.append(str(folder))
    return made


def join(folders: list[str]) -> None:
    """Put this process into groups."""
    for folder in folders:
        Path(folder, "cgroup.procs").write_text(str(os.getpid()), "ascii")


def members(folders: list[str]) -> set[int]:
    """Give the processes in groups and in those below them."""
    found: set[int] = set()
    for folder in folders:
        for procs in Path(folder).rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                found |= {int(pid) for pid in procs.read_text("ascii").split()}
    # Version 2 has 0 for a process that cannot be seen from here: to `kill` that is our own group.
    return found - {0}


def kill(folders: list[str], within_s: float = REMOVE_S) -> None:
    """Kill what runs in groups, and whatever it starts meanwhile."""
    deadline = time.monotonic() + within_s
    while (pids := members(folders)) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def remove(folders: list[str]) -> None:
    """Remove groups, those below them first."""
    for folder in folders:
        below = [str(one) for one in Path(folder).rglob("*") if one.is_dir()]
        for one in (*sorted(below, key=len, reverse=True), folder):
            with contextlib.suppress(OSError):
                os.rmdir(one)


def out_of_memory(folders: list[str]) -> bool:
    """Whether the kernel ended a process of a group because of its limit."""
    for folder in folders:
        for name in ("memory.oom_control", "memory.events"):
            with contextlib.suppress(OSError, ValueError):
                rows = dict(line.split() for line in Path(folder, name).read_text().splitlines())
                if int(rows.get("oom_kill", 0)):
                    return True
    return False
