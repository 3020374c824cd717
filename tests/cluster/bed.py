"""What a test bed consists of, and what is typed to make it: names, addresses, arguments.

Nothing here starts or opens anything. All that a bed leaves on the machine bears its name, so that
it is found again whatever became of the process that made it.
"""

from __future__ import annotations

import ipaddress
import json
import re
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath

from pyrometer.core.errors import UsageError

CLOCK = Path(__file__).with_name("clock.py")
FOLDER = Path("/var/lib/pyrometer-test-bed")
"""Holds a folder for each bed."""
NETWORK = ipaddress.ip_network("198.18.0.0/15")
"""Addresses set aside for measurements of networks (RFC 2544): nobody's own network has them."""
OWN = ("/tmp", "/var/tmp")
"""Folders of which each host has its own, empty at first."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENV = "/usr/bin/env"
"""Looked for on a host, where a folder of our PATH may be covered."""

_NAME = re.compile(r"[a-z][a-z0-9]{0,7}")
NAMESPACES = ("net", "mount", "uts", "ipc", "time")
_JOIN = 'for group in $1; do echo $$ > "$group/cgroup.procs" || exit 125; done; shift; exec "$@"'


@dataclass(frozen=True)
class HostSpec:
    """What a host is like.

    Parameters
    ----------
    cpus : float
        CPU time per second of wall time that all its processes have together.
    memory_mib : int
        Memory, page cache included.
    clock_s : float
        How far its monotonic clock is ahead of the machine's, to the nanosecond.
    own_pids : bool
        Whether it has process numbers of its own, and sees no other host's processes.
    """

    cpus: float = 1.0
    memory_mib: int = 3072
    clock_s: float = 0
    own_pids: bool = True


@dataclass(frozen=True)
class Bed:
    """Hosts on a bridge, of which the machine itself is a part.

    Parameters
    ----------
    name : str
        At most eight small letters and digits: names of interfaces are short.
    subnet : str
        The bridge's network.
    hosts : tuple of HostSpec
        Host 1 is the first.
    hidden : tuple of str
        Folders of the machine that hosts do not see.
    shared : mapping
        Folders that hosts see although an own or hidden one lies above them, and where the machine
        has each.

    Raises
    ------
    UsageError
        A name that cannot be one; more hosts than addresses.
    """

    name: str
    subnet: str
    hosts: tuple[HostSpec, ...]
    hidden: tuple[str, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked(self.name)
        if not 1 <= len(self.hosts) <= 200:
            raise UsageError(f"a test bed of {len(self.hosts)} hosts", "1 to 200")

    @property
    def folder(self) -> Path:
        """Holds all files of the bed, and is the same folder on every host."""
        return FOLDER / self.name

    @property
    def bridge(self) -> str:
        """Name of the bridge, and the beginning of the names of all interfaces."""
        return f"tb-{self.name}"

    @property
    def gateway(self) -> str:
        """Address of the machine on the bridge."""
        return str(ipaddress.ip_network(self.subnet)[1])

    @property
    def numbers(self) -> range:
        """Of the hosts, from 1 on."""
        return range(1, len(self.hosts) + 1)

    def host_name(self, number: int) -> str:
        """Give what a host calls itself."""
        return f"{self.name}-{number}"

    def address(self, number: int) -> str:
        """Give the address of a host."""
        return str(ipaddress.ip_network(self.subnet)[10 + number])

    def interface(self, number: int) -> str:
        """Give the machine's end of the cable to a host."""
        return f"{self.bridge}-{number}"

    def files(self, number: int) -> Path:
        """Give where the machine has the files of a host."""
        return self.folder / self.host_name(number)

    def group(self, number: int) -> str:
        """Name the control group of a host."""
        return f"testbed-{self.host_name(number)}"

    def hosts_file(self) -> str:
        """``/etc/hosts`` as every host has it."""
        lines = ["127.0.0.1 localhost", f"{self.gateway} client"]
        lines += [f"{self.address(n)} {self.host_name(n)}" for n in self.numbers]
        return "".join(f"{line}\n" for line in lines)


def checked(name: str) -> str:
    """Give a name if it can be one of a bed.

    Raises
    ------
    UsageError
        If it cannot.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a test bed",
            "a letter and up to seven letters or digits, all small",
        )
    return name


def free_subnet(name: str, taken: Iterable[str]) -> str:
    """Choose a network that overlaps with none of the machine's, the same one each time if it can.

    Raises
    ------
    UsageError
        If all are taken.

    Examples
    --------
    >>> first = free_subnet("a", ["192.0.2.2/24"])
    >>> free_subnet("a", ["192.0.2.2/24"]) == first, free_subnet("a", [first]) == first
    (True, False)
    """
    networks = [ipaddress.ip_network(one, strict=False) for one in taken]
    candidates = list(NETWORK.subnets(new_prefix=24))
    begin = zlib.crc32(name.encode()) % len(candidates)
    for candidate in (*candidates[begin:], *candidates[:begin]):
        if not any(candidate.overlaps(one) for one in networks if one.version == 4):
            return str(candidate)
    raise UsageError(f"all of {NETWORK} is taken", "ip -4 addr says by whom")


def to_text(bed: Bed, undo: Sequence[tuple[str, str]] = ()) -> str:
    """Write a bed, and what is written into which files once it is gone."""
    return json.dumps({**asdict(bed), "undo": [list(one) for one in undo]}, indent=1)


def from_text(text: str) -> tuple[Bed, list[tuple[str, str]]]:
    """Read what :func:`to_text` wrote."""
    fields = json.loads(text)
    undo = [(str(path), str(what)) for path, what in fields.pop("undo")]
    hosts = tuple(HostSpec(**one) for one in fields.pop("hosts"))
    return Bed(**{**fields, "hosts": hosts, "hidden": tuple(fields["hidden"])}), undo


def mounts(bed: Bed, number: int) -> dict[str, object]:
    """Say what a host mounts over the machine's files, for ``inside.py``."""
    covers = [PurePosixPath(one) for one in (*OWN, *bed.hidden)]
    outermost = [
        cover for cover in dict.fromkeys(covers) if not any(o in cover.parents for o in covers)
    ]
    files = bed.files(number)
    covered = {
        inside: source
        for inside, source in bed.shared.items()
        if any(cover in (path := PurePosixPath(inside), *path.parents) for cover in outermost)
    }
    return {
        "hostname": bed.host_name(number),
        "hosts_file": str(files / "hosts"),
        "ready": str(files / "ready"),
        "stash": str(files / "stash"),
        "covers": {str(cover): str(files / str(cover).strip("/")) for cover in outermost},
        "shared": covered,
    }


def holding(bed: Bed, number: int, groups: Sequence[str], program: Sequence[str]) -> list[str]:
    """Give the command that makes a host: a process that holds its namespaces."""
    spec = bed.hosts[number - 1]
    # unshare knows whole seconds only.
    clock = [sys.executable, "-I", "-S", str(CLOCK), str(round(spec.clock_s * 1e9))]
    others = [one for one in NAMESPACES if one != "time"]
    unshare = ["unshare", *(f"--{one}" for one in others), "--fork"]
    unshare += ["--pid", "--mount-proc"] if spec.own_pids else []
    return joining(groups, [*clock, *unshare, "--", *program])


def entering(
    bed: Bed,
    number: int,
    holder: int,
    groups: Sequence[str],
    command: Sequence[str],
    env: Mapping[str, str],
    folder: str,
) -> list[str]:
    """Give the command that runs another one on a host, with nothing of our environment."""
    spaces = [*NAMESPACES, *(("pid",) if bed.hosts[number - 1].own_pids else ())]
    variables = {"PATH": PATH, "HOME": "/tmp", "LANG": "C.UTF-8", **env}
    return joining(
        groups,
        [
            "nsenter", f"--target={holder}", *(f"--{one}" for one in spaces), "--",
            ENV, "-i", "-C", folder, *(f"{k}={v}" for k, v in variables.items()), *command,
        ],
    )  # fmt: skip


def joining(groups: Sequence[str], command: Sequence[str]) -> list[str]:
    """Give a command that is in control groups from its first moment on."""
    return ["sh", "-c", _JOIN, "sh", " ".join(groups), *command]


def bridging(bed: Bed) -> list[list[str]]:
    """Give the commands that make the bridge."""
    prefix = bed.subnet.partition("/")[2]
    return [
        ["ip", "link", "add", bed.bridge, "type", "bridge"],
        ["ip", "addr", "add", f"{bed.gateway}/{prefix}", "dev", bed.bridge],
        ["ip", "link", "set", bed.bridge, "up"],
    ]


def cabling(bed: Bed, number: int, holder: int) -> list[list[str]]:
    """Give the commands that connect a host to the bridge."""
    outer, prefix = bed.interface(number), bed.subnet.partition("/")[2]
    inside = ["nsenter", f"--target={holder}", "--net", "--", "ip"]
    return [
        ["ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", str(holder)],
        ["ip", "link", "set", outer, "master", bed.bridge, "up"],
        [*inside, "link", "set", "lo", "up"],
        [*inside, "addr", "add", f"{bed.address(number)}/{prefix}", "dev", "eth0"],
        [*inside, "link", "set", "eth0", "up"],
        # The machine is reached at all of its addresses; it forwards no further than it did.
        [*inside, "route", "add", "default", "via", bed.gateway],
    ]


def narrowing(bed: Bed, number: int, holder: int, bits_per_s: int) -> list[list[str]]:
    """Give the commands that limit what a host sends and receives."""
    limit = ["root", "tbf", "rate", f"{bits_per_s}bit", "burst", "256kb", "latency", "200ms"]
    inside = ["nsenter", f"--target={holder}", "--net", "--"]
    return [
        ["tc", "qdisc", "replace", "dev", bed.interface(number), *limit],
        [*inside, "tc", "qdisc", "replace", "dev", "eth0", *limit],
    ]


def widening(bed: Bed, number: int, holder: int) -> list[list[str]]:
    """Give the commands that take the limits of :func:`narrowing` away."""
    inside = ["nsenter", f"--target={holder}", "--net", "--"]
    return [
        ["tc", "qdisc", "delete", "dev", bed.interface(number), "root"],
        [*inside, "tc", "qdisc", "delete", "dev", "eth0", "root"],
    ]


def interfaces_of(name: str, listed: Iterable[str]) -> list[str]:
    """Pick a bed's interfaces, the bridge last.

    Examples
    --------
    >>> interfaces_of("a", ["lo", "tb-a", "tb-ab-1", "tb-a-1", "tb-a-x"])
    ['tb-a-1', 'tb-a']
    """
    pattern = re.compile(rf"tb-{re.escape(name)}(-[0-9]+)?")
    return sorted((one for one in listed if pattern.fullmatch(one)), key=len, reverse=True)
