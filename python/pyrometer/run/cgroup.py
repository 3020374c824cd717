"""Control groups around the application: what to write where, and a thin shell that does it.

Files and their meaning: the kernel's documentation, admin-guide/cgroup-v1 and cgroup-v2.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.errors import CapabilityError, UsageError
from pyrometer.plan import Level

PREFIX = "pyrometer-"
PERIOD_US = 100_000
REMOVE_S = 5.0

CONTROLLER = {
    "cgroup.memory": "memory",
    "cgroup.swap": "memory",
    "cpu.quota": "cpu",
    "cgroup.cpu_weight": "cpu",
    "cgroup.read_bps": "io",
    "cgroup.write_bps": "io",
    "cgroup.read_iops": "io",
    "cgroup.write_iops": "io",
}
"""Factors, and the controller (in the words of version 2) that applies each."""

_V1_NAMES = {"io": "blkio"}
_V2_IO = {"read_bps": "rbps", "write_bps": "wbps", "read_iops": "riops", "write_iops": "wiops"}


@dataclass(frozen=True)
class Hierarchy:
    """A mounted hierarchy of control groups and the folder of our own group in it."""

    version: int
    controllers: frozenset[str]
    folder: str


@dataclass(frozen=True)
class Write:
    """A text that goes into a file of the group."""

    path: str
    text: str


@dataclass(frozen=True)
class Plan:
    """Folders to make and what to write into them, in order."""

    folders: tuple[str, ...] = ()
    writes: tuple[Write, ...] = ()
    doubt: str | None = None


def hierarchies(mountinfo: str, groups: str, v2_controllers: Mapping[str, str]) -> list[Hierarchy]:
    """Read which hierarchies there are.

    Parameters
    ----------
    mountinfo, groups : str
        ``/proc/self/mountinfo`` and ``/proc/self/cgroup``.
    v2_controllers : Mapping[str, str]
        ``cgroup.controllers`` of each version 2 mount point.
    """
    own: dict[frozenset[str], str] = {}
    for line in groups.splitlines():
        _, listed, group = line.split(":", 2)
        own[frozenset(listed.split(",")) - {""}] = group
    found = []
    path: str | None
    for line in mountinfo.splitlines():
        front, _, back = line.partition(" - ")
        kind, _, options = back.partition(" ")
        if kind not in ("cgroup", "cgroup2"):
            continue
        root, mount = front.split()[3:5]
        if kind == "cgroup2":
            names, path = frozenset(v2_controllers.get(mount, "").split()), own.get(frozenset())
        else:
            offered = set(options.rpartition(" ")[2].split(","))
            names = next((n for n in own if n and n <= offered), frozenset())
            path = own.get(names) if names else None
        if path is not None:
            below = path[len(root) :] if root != "/" and path.startswith(root) else path
            folder = f"{mount}/{below.strip('/')}".rstrip("/")
            found.append(Hierarchy(2 if kind == "cgroup2" else 1, names, folder))
    return found


def plan(
    treatment: Mapping[str, Level],
    hosts: Sequence[Hierarchy],
    device: str | None,
    name: str,
) -> Plan:
    """Say what to make and write for the levels of a treatment.

    Parameters
    ----------
    treatment : mapping
        Levels by factor; those of no control group are passed over.
    hosts : sequence of Hierarchy
        What this host offers.
    device : str or None
        ``major:minor`` of the disk below the data; needed for limits of reading and writing.
    name : str
        Name of the group.

    Raises
    ------
    UsageError, CapabilityError
        Levels that make no sense together; no controller, no disk.
    """
    asked = {factor: treatment[factor] for factor in CONTROLLER if factor in treatment}
    if "cgroup.swap" in asked and "cgroup.memory" not in asked:
        raise UsageError("cgroup.swap needs cgroup.memory", "give both, for example 2g and 0")
    folders: dict[str, None] = {}
    writes: list[Write] = []
    doubt = None
    for controller in dict.fromkeys(CONTROLLER[factor] for factor in asked):
        host = _offering(controller, hosts)
        mine = {f.rpartition(".")[2]: v for f, v in asked.items() if CONTROLLER[f] == controller}
        if controller == "io" and device is None:
            raise CapabilityError(
                "the data lies on no block device, whose reading or writing could be limited",
                "set PYROMETER_CACHE to a folder on a local disk",
            )
        folder = f"{host.folder}/{name}"
        folders[folder] = None
        rows = (_v1 if host.version == 1 else _v2)(controller, mine, device)
        writes += [Write(f"{folder}/{file}", text) for file, text in rows]
        if controller == "io" and host.version == 1 and mine.keys() & {"write_bps", "write_iops"}:
            doubt = (
                "a write limit of a version 1 control group holds for direct writes only, not "
                "for what the page cache writes back"
            )
    return Plan(tuple(folders), tuple(writes), doubt)


def _offering(controller: str, hosts: Sequence[Hierarchy]) -> Hierarchy:
    for host in hosts:
        if (controller if host.version == 2 else _V1_NAMES.get(controller, controller)) in (
            host.controllers
        ):
            return host
    raise CapabilityError(
        f"no control group hierarchy of this host offers the controller {controller}",
        "mount one (mount -t cgroup2 none /sys/fs/cgroup), or ask who runs this container",
    )


def _v1(controller: str, levels: Mapping[str, Level], device: str | None) -> list[tuple[str, str]]:
    if controller == "memory":
        memory = int(levels["memory"])
        rows = [("memory.limit_in_bytes", str(memory))]
        if "swap" in levels:
            rows.append(("memory.memsw.limit_in_bytes", str(memory + int(levels["swap"]))))
        return rows
    if controller == "cpu":
        rows = []
        if "quota" in levels:
            rows.append(("cpu.cfs_period_us", str(PERIOD_US)))
            rows.append(("cpu.cfs_quota_us", str(round(float(levels["quota"]) * PERIOD_US))))
        if "cpu_weight" in levels:
            # Version 1 counts from 1024, version 2 from 100.
            rows.append(("cpu.shares", str(max(2, round(int(levels["cpu_weight"]) * 10.24)))))
        return rows
    return [(f"blkio.throttle.{k}_device", f"{device} {int(v)}") for k, v in levels.items()]


def _v2(controller: str, levels: Mapping[str, Level], device: str | None) -> list[tuple[str, str]]:
    if controller == "memory":
        rows = [("memory.max", str(int(levels["memory"])))]
        if "swap" in levels:
            rows.append(("memory.swap.max", str(int(levels["swap"]))))
        return rows
    if controller == "cpu":
        rows = []
        if "quota" in levels:
            rows.append(("cpu.max", f"{round(float(levels['quota']) * PERIOD_US)} {PERIOD_US}"))
        if "cpu_weight" in levels:
            rows.append(("cpu.weight", str(int(levels["cpu_weight"]))))
        return rows
    limits = " ".join(f"{_V2_IO[k]}={int(v)}" for k, v in levels.items())
    return [("io.max", f"{device} {limits}")]


def apply(planned: Plan) -> None:
    """Make the folders and write the levels.

    Raises
    ------
    CapabilityError
        If the kernel refuses; nothing is left then.
    """
    at = ""
    try:
        for at in planned.folders:
            Path(at).mkdir()
        for write in planned.writes:
            at = write.path
            Path(at).write_text(write.text, encoding="ascii")
    except OSError as error:
        remove(planned.folders)
        raise CapabilityError(
            f"{at}: {error.strerror}",
            "control groups are made by root, or below a group that systemd delegated to you",
        ) from error


@contextlib.contextmanager
def joined(folders: Sequence[str]) -> Iterator[None]:
    """Put this process into groups for a moment: what it starts meanwhile is born there."""
    came_from = {folder: Path(folder).parent / "cgroup.procs" for folder in folders}
    try:
        for folder in folders:
            (Path(folder) / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        for home in came_from.values():
            with contextlib.suppress(OSError):
                home.write_text(str(os.getpid()), encoding="ascii")


def remove(folders: Sequence[str], within_s: float = REMOVE_S) -> list[str]:
    """Remove groups; returns those that stay because a process still runs in them."""
    deadline = time.monotonic() + within_s
    left = list(folders)
    while True:
        for folder in list(left):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                continue
            left.remove(folder)
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(0.02)


def leftovers(hosts: Sequence[Hierarchy]) -> list[str]:
    """Find groups of runs whose launcher is gone: their name ends in its pid and start time."""
    found = (str(p) for h in hosts for p in Path(h.folder).glob(f"{PREFIX}*") if p.is_dir())
    return sorted(folder for folder in set(found) if not _alive(folder))


def here() -> list[Hierarchy]:
    """Read the hierarchies of this host."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    offered = {}
    for file in (f"{line.split()[4]}/cgroup.controllers" for line in mounts.splitlines()):
        with contextlib.suppress(OSError):
            offered[file.rpartition("/")[0]] = Path(file).read_text(encoding="ascii")
    return hierarchies(mounts, Path("/proc/self/cgroup").read_text(encoding="utf-8"), offered)


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
def applied(planned: Plan) -> Iterator[None]:
    """Have the groups while the block lasts; groups that a dead run left behind go first."""
    if planned.folders:
        remove(leftovers(here()), within_s=0.0)
    apply(planned)
    try:
        yield
    finally:
        remove(planned.folders)


def oom_kills(planned: Plan) -> int:
    """Count the processes that the kernel killed in the groups for want of memory."""
    count = 0
    for folder in planned.folders:
        for name in ("memory.oom_control", "memory.events"):
            with contextlib.suppress(OSError):
                for line in Path(folder, name).read_text(encoding="ascii").splitlines():
                    count += int(line.split()[1]) if line.startswith("oom_kill ") else 0
    return count


def group_name(pid: int) -> str:
    """Name of the group that the launcher `pid` makes."""
    return f"{PREFIX}{pid}-{_start_ticks(pid)}"


def _alive(folder: str) -> bool:
    pid, _, ticks = Path(folder).name.removeprefix(PREFIX).partition("-")
    return pid.isdigit() and ticks == str(_start_ticks(int(pid)))


def _start_ticks(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(stat[stat.rindex(")") + 2 :].split()[19])
