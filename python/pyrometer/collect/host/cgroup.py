"""Control groups around the application: a thin shell that makes, enters and removes them.

Leftover control groups of ours: named, found again, and removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pyrometer.collect.host.cgroup_plan import (
    CONTROLLER,
    SUBTREE,
    Hierarchy,
    Plan,
    hierarchies,
    plan,
)
from pyrometer.core.errors import CapabilityError
from pyrometer.core.liveness import start_ticks
from pyrometer.trial.factors import Level

PREFIX = "pyrometer-"
REMOVE_S = 5.0
FIRST_PID_NAMESPACE = 0xEFFFFFFC
"""Number of the one that a kernel starts with: from there, root sees every process."""

_NAME = re.compile(rf"{PREFIX}(?P<pid>[0-9]+)-(?P<ticks>[0-9]+)(?:-(?P<space>[0-9]+))?")


def group_name(pid: int) -> str:
    """Name of the group that the launcher `pid` makes: its pid, start time and PID namespace."""
    return f"{PREFIX}{pid}-{start_ticks(pid)}-{_pid_namespace()}"


def _pid_namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def remove(folders: Sequence[str], within_s: float = REMOVE_S) -> list[str]:
    """Remove groups; returns those that stay because a process still runs in them."""
    deadline = time.monotonic() + within_s
    remaining = list(folders)
    while True:
        for folder in list(remaining):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                continue
            remaining.remove(folder)
        if not remaining or time.monotonic() >= deadline:
            return remaining
        time.sleep(0.02)


def leftovers(folders: Iterable[str], below: bool = False, proc: Path = Path("/proc")) -> list[str]:
    """Find groups of runs whose launcher is gone: their name says which process it was.

    Those of another PID namespace (a container) are left out, as from here one cannot tell, unless
    they are empty and it is seen that no process of that namespace is left.

    Parameters
    ----------
    folders : iterable of str
        Groups that may hold them.
    below : bool
        Whether their descendants are searched, too.
    proc : Path
        Where the processes of the host are; another folder simulates a host.
    """
    pattern = f"**/{PREFIX}*" if below else f"{PREFIX}*"
    found = {str(path) for folder in folders for path in Path(folder).glob(pattern)}
    return sorted(folder for folder in found if _lost(folder, proc))


def mounted() -> list[str]:
    """Where control groups are mounted on this host."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [line.split()[4] for line in lines if " - cgroup" in line]


def members(folder: str) -> list[int]:
    """Give the processes in a group that can be seen from here; none where it is gone."""
    return [pid for pid in _listed(folder) if pid > 0]


def _listed(folder: str) -> list[int]:
    # Version 2 lists a process of a PID namespace that is not below ours as 0.
    try:
        return [int(pid) for pid in Path(folder, "cgroup.procs").read_text("ascii").split()]
    except OSError:
        return []


def described(folders: Sequence[str]) -> str:
    """Name groups, each with the processes that still run in it."""
    return ", ".join(f"{folder} ({_held_by(members(folder))})" for folder in folders)


def _held_by(pids: Sequence[int]) -> str:
    return f"processes {' '.join(map(str, pids))}" if pids else "no process"


def removal(folders: Sequence[str]) -> str:
    """Give the command that ends what still runs in groups and removes them.

    Examples
    --------
    >>> removal(["/nowhere/pyrometer-1-1", "/nowhere/pyrometer-1-2"])
    'rmdir /nowhere/pyrometer-1-1 /nowhere/pyrometer-1-2'
    """
    pids = sorted({pid for folder in folders for pid in members(folder)})
    ending = f"kill -9 {' '.join(map(str, pids))}; sleep 1; " if pids else ""
    return f"{ending}rmdir {shlex.join(folders)}"


def _lost(folder: str, proc: Path) -> bool:
    name = _NAME.fullmatch(Path(folder).name)
    if name is None or name["ticks"] == str(start_ticks(int(name["pid"]))):
        return False
    if name["space"] is not None:
        space = int(name["space"])
        return space == _pid_namespace() or (_is_empty(folder) and _has_ended(space, proc))
    # Names of older versions do not say whose pid it is: its members do.
    return not any(map(_in_another_namespace, _listed(folder)))


def _is_empty(folder: str) -> bool:
    return not any(_listed(str(file.parent)) for file in Path(folder).rglob("cgroup.procs"))


def _has_ended(space: int, proc: Path) -> bool:
    """Whether a PID namespace has no process; false where not all processes can be seen."""
    try:
        if _namespace_of(proc / "self") != FIRST_PID_NAMESPACE or not (proc / "1").exists():
            return False
        for process in proc.glob("[0-9]*"):
            # One that ends meanwhile is in none.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if _namespace_of(process) == space:
                    return False
    except (OSError, ValueError):
        return False
    return True


def _namespace_of(process: Path) -> int:
    return int(os.readlink(process / "ns" / "pid").removeprefix("pid:[").removesuffix("]"))


def _in_another_namespace(pid: int) -> bool:
    if pid == 0:
        return True
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    # Its ids from our PID namespace inwards; one, where it is in ours.
    ids = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    return len(ids.split()) > 2


FACTS = {
    ("memory.failcnt", ""): ("memory_limit_hits_count", 1),
    ("memory.memsw.failcnt", ""): ("memory_limit_hits_count", 1),
    ("memory.oom_control", "oom_kill"): ("oom_kills_count", 1),
    ("memory.max_usage_in_bytes", ""): ("memory_peak_bytes", 1),
    ("memory.events", "max"): ("memory_limit_hits_count", 1),
    ("memory.events", "oom_kill"): ("oom_kills_count", 1),
    ("memory.peak", ""): ("memory_peak_bytes", 1),
    ("cpu.stat", "nr_throttled"): ("cpu_throttled_count", 1),
    ("cpu.stat", "throttled_time"): ("cpu_throttled_ns", 1),
    ("cpu.stat", "throttled_usec"): ("cpu_throttled_ns", 1000),
}
"""Counters of both versions: file and key in it; our name and what one unit stands for."""


def apply(planned: Plan) -> None:
    """Make the folders and write the levels.

    Raises
    ------
    CapabilityError
        If the kernel refuses; then no group remains.
    """
    at = ""
    try:
        for at in planned.folders:
            Path(at).mkdir()
        for write in planned.writes:
            at = write.path
            Path(at).write_text(write.text, encoding="ascii")
    except OSError as error:
        _leave(planned)
        raise CapabilityError(
            f"{at}: {error.strerror}",
            "run as root, or below a control group that systemd delegated to you",
        ) from error


@contextlib.contextmanager
def joined(folders: Sequence[str]) -> Iterator[None]:
    """Put this process into groups for a moment: what it starts meanwhile is born there."""
    places = {place.folder: place.own for place in here()} if folders else {}
    came_from = [Path(places[str(Path(f).parent)]) / "cgroup.procs" for f in folders]
    try:
        for folder in folders:
            (Path(folder) / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        for home in came_from:
            with contextlib.suppress(OSError):
                home.write_text(str(os.getpid()), encoding="ascii")


def here() -> list[Hierarchy]:
    """Find where groups can be created on this host."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    groups = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    unified = next((g.split(":", 2)[2] for g in groups.splitlines() if g.startswith("0::")), "/")
    v2 = {}
    for mount in (Path(line.split()[4]) for line in mounts.splitlines() if " - cgroup2 " in line):
        for folder in (mount, *(mount / part for part in _ancestors(unified))):
            with contextlib.suppress(OSError):
                v2[str(folder)] = (
                    (folder / "cgroup.controllers").read_text(encoding="ascii"),
                    (folder / SUBTREE).read_text(encoding="ascii"),
                )
    return hierarchies(mounts, groups, v2)


def _ancestors(group: str) -> list[str]:
    path = Path(group.strip("/"))
    return [str(p) for p in (path, *path.parents) if str(p) != "."]


def device_of(path: Path) -> str | None:
    """``major:minor`` of the whole disk below a path; ``None`` if it is on none."""
    number = path.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not block.exists():
        return None
    whole = block.resolve().parent if (block / "partition").exists() else block
    return (whole / "dev").read_text(encoding="ascii").strip()


def planned_here(treatment: Mapping[str, Level], data: Path) -> Plan:
    """Plan for this host and the disk below `data`; see :func:`plan`."""
    if not CONTROLLER.keys() & treatment.keys():
        return Plan()
    return plan(treatment, here(), device_of(data), group_name(os.getpid()))


@contextlib.contextmanager
def applied(planned: Plan) -> Iterator[list[str]]:
    """Have the groups while the block lasts; leftovers of dead runs are removed first.

    The list given is empty until the block has ended; then it holds the groups that stay.
    """
    if planned.folders:
        remove(leftovers(place.folder for place in here()), within_s=0.0)
    apply(planned)
    stay: list[str] = []
    try:
        yield stay
    finally:
        stay += _leave(planned)


def _leave(planned: Plan) -> list[str]:
    stay = remove(planned.folders)
    for write in planned.undo:
        # Another run may have counted on what we enabled.
        if not any(Path(write.path).parent.glob(f"{PREFIX}*")):
            with contextlib.suppress(OSError):
                Path(write.path).write_text(write.text, encoding="ascii")
    return stay


def facts(planned: Plan) -> dict[str, int]:
    """Count what the groups' limits did: reached, killed, held back; asked before they go.

    ``memory_limit_hits_count``, ``oom_kills_count``, ``memory_peak_bytes``,
    ``cpu_throttled_count`` (periods) and ``cpu_throttled_ns``, as far as the kernel reports them.
    """
    found: dict[str, int] = {}
    for folder in planned.folders:
        for (file, key), (name, unit) in FACTS.items():
            with contextlib.suppress(OSError, ValueError):
                text = Path(folder, file).read_text(encoding="ascii")
                rows = dict(line.split() for line in text.splitlines()) if key else {"": text}
                if key in rows:
                    found[name] = found.get(name, 0) + int(rows[key]) * unit
    return found
