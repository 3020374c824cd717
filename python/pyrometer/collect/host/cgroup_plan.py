"""Control groups, planned: what to make and what to write where, from texts of the host.

Files and their meaning: the kernel's documentation, admin-guide/cgroup-v1 and cgroup-v2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.trial.factors import Level

PERIOD_US = 100_000

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

SUBTREE = "cgroup.subtree_control"
_V1_NAMES = {"io": "blkio"}
_V2_IO = {"read_bps": "rbps", "write_bps": "wbps", "read_iops": "riops", "write_iops": "wiops"}


@dataclass(frozen=True)
class Hierarchy:
    """A place in a mounted hierarchy of control groups where a group can be created.

    Parameters
    ----------
    version : int
        1 or 2.
    controllers : frozenset of str
        What groups created here can control.
    folder : str
        Where the group is created: below our own group in version 1. In version 2 a group with
        processes cannot have children with controllers, so it is an ancestor of ours.
    own : str
        Folder of our own group.
    enabled : frozenset of str
        Version 2: controllers that groups created here have already.
    """

    version: int
    controllers: frozenset[str]
    folder: str
    own: str = ""
    enabled: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Write:
    """A text that goes into a file of the group."""

    path: str
    text: str


@dataclass(frozen=True)
class Plan:
    """Folders to make, what to write then, in order, and what to write once they are removed."""

    folders: tuple[str, ...] = ()
    writes: tuple[Write, ...] = ()
    undo: tuple[Write, ...] = ()
    doubt: str | None = None


def hierarchies(mountinfo: str, groups: str, v2: Mapping[str, tuple[str, str]]) -> list[Hierarchy]:
    """Find where groups can be created, the nearest place first.

    Parameters
    ----------
    mountinfo, groups : str
        ``/proc/self/mountinfo`` and ``/proc/self/cgroup``.
    v2 : Mapping[str, (str, str)]
        ``cgroup.controllers`` and ``cgroup.subtree_control`` by folder of version 2.
    """
    own: dict[frozenset[str], str] = {}
    for line in groups.splitlines():
        _, listed, group = line.split(":", 2)
        own[frozenset(listed.split(",")) - {""}] = group
    found: list[Hierarchy] = []
    for line in mountinfo.splitlines():
        front, _, back = line.partition(" - ")
        kind, _, options = back.partition(" ")
        if kind not in ("cgroup", "cgroup2"):
            continue
        root, mount = front.split()[3:5]
        offered = set(options.rpartition(" ")[2].split(","))
        names = next((n for n in own if n and n <= offered), None)
        path = own.get(frozenset() if kind == "cgroup2" else names or frozenset({""}))
        if path is None:
            continue
        below = path[len(root) :] if root != "/" and path.startswith(root) else path
        folder = f"{mount}/{below.strip('/')}".rstrip("/")
        if kind == "cgroup2":
            found += _v2_folders(mount, folder, v2)
        else:
            found.append(Hierarchy(1, names or frozenset(), folder, folder))
    return found


def _v2_folders(mount: str, own: str, v2: Mapping[str, tuple[str, str]]) -> list[Hierarchy]:
    places, folder = [], own
    while folder != mount:
        folder = folder.rpartition("/")[0]
        controllers, enabled = (frozenset(t.split()) for t in v2.get(folder, ("", "")))
        # Only the root may enable more while it has processes.
        usable = controllers if folder == mount else enabled
        places.append(Hierarchy(2, usable, folder, own, enabled))
    if own == mount:
        controllers, enabled = (frozenset(t.split()) for t in v2.get(mount, ("", "")))
        places.append(Hierarchy(2, controllers, mount, mount, enabled))
    return places


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
    enabling: dict[str, list[str]] = {}
    writes: list[Write] = []
    doubt = None
    needed = dict.fromkeys(CONTROLLER[factor] for factor in asked)
    for controller in needed:
        host = _offering(controller, hosts, needed)
        mine = {f.rpartition(".")[2]: v for f, v in asked.items() if CONTROLLER[f] == controller}
        if controller == "io" and device is None:
            raise CapabilityError(
                "the data is not on a block device whose reads or writes could be limited",
                "set PYROMETER_CACHE to a folder on a local disk",
            )
        folder = f"{host.folder}/{name}"
        folders[folder] = None
        if host.version == 2 and controller not in host.enabled:
            enabling.setdefault(f"{host.folder}/{SUBTREE}", []).append(controller)
        rows = (_v1 if host.version == 1 else _v2)(controller, mine, device)
        writes += [Write(f"{folder}/{file}", text) for file, text in rows]
        if controller == "io" and host.version == 1 and mine.keys() & {"write_bps", "write_iops"}:
            doubt = (
                "a write limit of a version 1 control group holds for direct writes only, not "
                "for what the page cache writes back"
            )
    before = [Write(path, " ".join(f"+{n}" for n in names)) for path, names in enabling.items()]
    after = [Write(path, " ".join(f"-{n}" for n in names)) for path, names in enabling.items()]
    return Plan(tuple(folders), (*before, *writes), tuple(after), doubt)


def _offering(controller: str, hosts: Sequence[Hierarchy], needed: Iterable[str]) -> Hierarchy:
    first = {n: h for h in reversed(hosts) if h.version == 1 for n in needed if _v1_has(h, n)}
    # A process is in one group of version 2: one place has to give all that version 1 does not.
    rest = frozenset(needed) - first.keys()
    unified = (host for host in hosts if host.version == 2 and rest <= host.controllers)
    host = first.get(controller) or next(unified, None)
    if host is None:
        raise CapabilityError(
            f"no control group hierarchy of this host offers the controller {controller}",
            "mount one (mount -t cgroup2 none /sys/fs/cgroup), or ask who runs this container",
        )
    return host


def _v1_has(host: Hierarchy, controller: str) -> bool:
    return _V1_NAMES.get(controller, controller) in host.controllers


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
