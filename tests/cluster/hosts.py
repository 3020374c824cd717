"""Hosts of a test bed, made, used and taken away: the shell around ``bed.py``.

A bed outlives the process that made it, and is found again by its name.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyrometer.collect.host import cgroup
from pyrometer.collect.host.cgroup_plan import Hierarchy, Plan, hierarchies, plan
from pyrometer.core.errors import CapabilityError, UsageError
from tests.cluster import bed as beds
from tests.cluster.bed import Bed

INSIDE = Path(__file__).with_name("inside.py")
TOOLS = ("ip", "mount", "nsenter", "unshare")
READY_S = 20.0
END_S = 20.0
COMMAND_S = 60.0
"""After so long a command that makes or takes away a part of a bed is given up."""

_HOLDER = re.compile(r"\S*python\S* -I -S \S*/inside\.py ")


class Host:
    """One host of a bed that is up.

    Parameters
    ----------
    bed : Bed
        Its bed.
    number : int
        From 1 on.
    """

    def __init__(self, bed: Bed, number: int) -> None:
        self.bed = bed
        self.number = number
        self.name = bed.host_name(number)
        self.address = bed.address(number)
        self.groups = [str(one) for one in _groups(bed.group(number))]

    def command(
        self, words: Sequence[str], env: Mapping[str, str] | None = None, folder: str = "/var/tmp"
    ) -> list[str]:
        """Give the command that runs `words` on this host, from anywhere on the machine."""
        holder = self._holder()
        return beds.entering(self.bed, self.number, holder, self.groups, words, env or {}, folder)

    def run(
        self,
        words: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        check: bool = True,
        timeout_s: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on this host to its end."""
        return subprocess.run(
            self.command(words, env), capture_output=True, text=True, check=check,
            stdin=subprocess.DEVNULL, timeout=timeout_s,
        )  # fmt: skip

    def start(self, name: str, words: Sequence[str], env: Mapping[str, str] | None = None) -> Path:
        """Start a command that goes on when we end; returns the file with what it writes."""
        log = self.bed.folder / "logs" / f"{self.name}-{name}.log"
        with log.open("ab") as out:
            subprocess.Popen(
                self.command(words, env), stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        return log

    def path(self, inside: str) -> Path:
        """Give where the machine has a file that is the host's own."""
        return self.bed.files(self.number) / inside.strip("/")

    def processes(self) -> dict[int, str]:
        """Give the command line of each process, by the machine's number for it."""
        pids = dict.fromkeys(pid for group in _trees(self.groups) for pid in cgroup.members(group))
        return {pid: line for pid in pids if (line := _command_line(pid))}

    def kill(self, pattern: str, number: signal.Signals = signal.SIGKILL) -> list[int]:
        """Send a signal to the processes whose command line a pattern is found in."""
        found = [
            pid
            for pid, line in self.processes().items()
            if re.search(pattern, line) and not _HOLDER.search(line)
        ]
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return found

    def kill_all(self) -> None:
        """End this host as when its power fails."""
        _end(self.groups)

    def limit_network(self, bits_per_s: int) -> None:
        """Limit what it sends and what it receives."""
        for words in beds.narrowing(self.bed, self.number, self._holder(), bits_per_s):
            _do(words)

    def free_network(self) -> None:
        """Take the limit of what it sends and receives away."""
        for words in beds.widening(self.bed, self.number, self._holder()):
            _do(words)

    def limit_cpus(self, cpus: float) -> None:
        """Limit CPU time per second of wall time from now on."""
        self._limit({"cpu.quota": cpus})

    def limit_disk(self, bytes_per_s: int) -> None:
        """Limit what it reads from the disk below the bed's folder, page cache left out."""
        self._limit({"cgroup.read_bps": bytes_per_s})

    def _limit(self, levels: Mapping[str, float]) -> None:
        device = cgroup.device_of(self.bed.folder)
        planned = plan(levels, _hierarchies(), device, self.bed.group(self.number))
        running = list(self.processes())
        for folder in planned.folders:
            Path(folder).mkdir(exist_ok=True)
        for write in planned.writes:
            Path(write.path).write_text(write.text, "ascii")
        for folder in planned.folders:
            if folder in self.groups:
                continue
            self.groups.append(folder)
            for pid in running:
                with contextlib.suppress(OSError):
                    Path(folder, "cgroup.procs").write_text(str(pid), "ascii")

    def _holder(self) -> int:
        for pid, line in self.processes().items():
            # Its parent, unshare, has the same words behind its own.
            if _HOLDER.match(line):
                return pid
        raise CapabilityError(f"{self.name} is not up", "make cluster-up")


class Network:
    """The hosts of a bed that is up.

    Parameters
    ----------
    bed : Bed
        As it was made.

    Attributes
    ----------
    hosts : list of Host
        In the order of their numbers.
    """

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.hosts = [Host(bed, number) for number in bed.numbers]


def lacking() -> str | None:
    """Say what keeps this machine from having a test bed; ``None`` if nothing does."""
    if os.geteuid() != 0:
        return "root's rights"
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    if absent:
        return f"programs: {', '.join(absent)}"
    try:
        _plan(beds.HostSpec(), "testbed-try")
        _do(["unshare", *(f"--{one}" for one in (*beds.NAMESPACES, "pid")), "--fork", "true"])
    except CapabilityError as error:
        return str(error)
    return None


def up(
    name: str,
    specs: Sequence[beds.HostSpec],
    *,
    hidden: Sequence[str] = (),
    shared: Mapping[str, str] | None = None,
) -> Network:
    """Make hosts and connect them; nothing of a bed that fails to come up remains.

    Raises
    ------
    UsageError
        If there is a bed of that name.
    CapabilityError
        If this machine refuses something.
    """
    if found := leftovers(name):
        raise UsageError(
            f"a test bed {name} is there: {found[0]}", f"make cluster-down NAME={name}"
        )
    subnet = beds.free_subnet(name, _networks())
    bed = Bed(name, subnet, tuple(specs), tuple(hidden), dict(shared or {}))
    plans = [_plan(spec, bed.group(n)) for n, spec in zip(bed.numbers, bed.hosts, strict=True)]
    undo = dict.fromkeys((write.path, write.text) for one in plans for write in one.undo)
    holders: list[subprocess.Popen[bytes]] = []
    try:
        (bed.folder / "logs").mkdir(parents=True)
        (bed.folder / "bed.json").write_text(beds.to_text(bed, list(undo)), "utf-8")
        for words in beds.bridging(bed):
            _do(words)
        for number, planned in zip(bed.numbers, plans, strict=True):
            cgroup.apply(planned)
            holders.append(_hold(bed, number, planned))
        network = Network(bed)
        for host, holder in zip(network.hosts, holders, strict=True):
            _await(host, holder)
            for words in beds.cabling(bed, host.number, host._holder()):
                _do(words)
    except BaseException:
        down(name)
        raise
    return network


def find(name: str) -> Network:
    """Find a bed that is up.

    Raises
    ------
    UsageError
        If there is none of that name.
    """
    try:
        text = (beds.FOLDER / beds.checked(name) / "bed.json").read_text("utf-8")
    except OSError as error:
        raise UsageError(f"there is no test bed {name}", f"make cluster-up NAME={name}") from error
    return Network(beds.from_text(text)[0])


def down(name: str) -> list[str]:
    """Take away all that bears the name of a bed; returns what stays in spite of that."""
    folder = beds.FOLDER / beds.checked(name)
    groups = _groups(f"testbed-{name}-[0-9]*")
    _end([str(group) for group in groups])
    for interface in beds.interfaces_of(name, _interfaces()):
        # A cable goes away with its host, at a moment of the kernel's choice.
        _do(["ip", "link", "delete", interface], check=False)
    cgroup.remove(_trees([str(group) for group in groups]))
    with contextlib.suppress(OSError, ValueError, KeyError):
        for path, text in beds.from_text((folder / "bed.json").read_text("utf-8"))[1]:
            if not _groups("testbed-*"):
                Path(path).write_text(text, "ascii")
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        beds.FOLDER.rmdir()
    return leftovers(name)


def leftovers(name: str) -> list[str]:
    """Give all that bears the name of a bed: interfaces, control groups, files."""
    folder = beds.FOLDER / beds.checked(name)
    return [
        *(f"interface {one}" for one in beds.interfaces_of(name, _interfaces())),
        *(cgroup.described([str(one)]) for one in _groups(f"testbed-{name}-[0-9]*")),
        *([str(folder)] if folder.exists() else []),
    ]


def names() -> list[str]:
    """Give the names of all beds of this machine."""
    found = {path.name for path in beds.FOLDER.glob("*")}
    found |= {path.name.split("-")[1] for path in _groups("testbed-*-[0-9]*")}
    found |= {one.split("-")[1] for one in _interfaces() if one.startswith("tb-")}
    return sorted(found)


@contextlib.contextmanager
def network(
    name: str,
    specs: Sequence[beds.HostSpec],
    *,
    hidden: Sequence[str] = (),
    shared: Mapping[str, str] | None = None,
) -> Iterator[Network]:
    """Have a bed while the block lasts; one that a killed process left is taken away first."""
    down(name)
    try:
        yield up(name, specs, hidden=hidden, shared=shared)
    finally:
        down(name)


def _plan(spec: beds.HostSpec, group: str) -> Plan:
    limits = {"cpu.quota": spec.cpus, "cgroup.memory": spec.memory_mib << 20}
    if _swap_is_limited():
        limits["cgroup.swap"] = 0
    return plan(limits, _hierarchies(), None, group)


def _swap_is_limited() -> bool:
    """Whether there is swap, which would be more memory for a host, and groups can forbid it."""
    if len(Path("/proc/swaps").read_text("ascii").splitlines()) < 2:
        return False
    for mount in cgroup.mounted():
        controllers = Path(mount, "cgroup.controllers")
        if Path(mount, "memory.memsw.limit_in_bytes").exists():
            return True
        if controllers.exists() and "memory" in controllers.read_text("ascii").split():
            return True
    return False


def _hierarchies() -> list[Hierarchy]:
    """Where groups can be made, at the top: a host is limited by nothing but its own limits."""
    mountinfo = Path("/proc/self/mountinfo").read_text("utf-8")
    own = Path("/proc/self/cgroup").read_text("utf-8")
    top = "".join(f"{line.rpartition(':')[0]}:/\n" for line in own.splitlines())
    v2 = {}
    for line in mountinfo.splitlines():
        if " - cgroup2 " in line:
            mount = line.split()[4]
            texts = [
                Path(mount, file).read_text("ascii")
                for file in ("cgroup.controllers", "cgroup.subtree_control")
            ]
            v2[mount] = (texts[0], texts[1])
    return hierarchies(mountinfo, top, v2)


def _groups(pattern: str) -> list[Path]:
    return sorted(path for mount in cgroup.mounted() for path in Path(mount).glob(pattern))


def _trees(groups: Sequence[str]) -> list[str]:
    """Give groups with all that a manager made below them, the lowest first."""
    below = [str(one) for group in groups for one in Path(group).glob("**/") if str(one) != group]
    return [*sorted(below, key=len, reverse=True), *groups]


def _hold(bed: Bed, number: int, planned: Plan) -> subprocess.Popen[bytes]:
    files = bed.files(number)
    files.mkdir()
    (files / "hosts").write_text(bed.hosts_file(), "utf-8")
    program = [sys.executable, "-I", "-S", str(INSIDE), json.dumps(beds.mounts(bed, number))]
    with (bed.folder / "logs" / f"{bed.host_name(number)}.log").open("ab") as out:
        return subprocess.Popen(
            beds.holding(bed, number, planned.folders, program), stdin=subprocess.DEVNULL,
            stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip


def _await(host: Host, holder: subprocess.Popen[bytes]) -> None:
    ready, deadline = host.path("ready"), time.monotonic() + READY_S
    while not ready.exists():
        if time.monotonic() > deadline or holder.poll() is not None:
            log = host.bed.folder / "logs" / f"{host.name}.log"
            last = log.read_text("utf-8", "replace").strip().rpartition("\n")[2]
            raise CapabilityError(f"{host.name} did not come up: {last or 'it wrote nothing'}")
        time.sleep(0.02)


def _end(groups: Sequence[str]) -> None:
    deadline = time.monotonic() + END_S
    while pids := {pid for group in _trees(groups) for pid in cgroup.members(group)}:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(0.02)


def _do(words: Sequence[str], check: bool = True) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=COMMAND_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        if check:
            raise CapabilityError(f"{' '.join(words)}: no end after {COMMAND_S:g} s") from error
        return ""
    if check and done.returncode:
        raise CapabilityError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def _interfaces() -> list[str]:
    return [one["ifname"] for one in json.loads(_do(["ip", "-json", "link"]))]


def _networks() -> list[str]:
    """Networks that the machine has an address in or a route to, but for the default one."""
    found = [
        f"{one['local']}/{one['prefixlen']}"
        for interface in json.loads(_do(["ip", "-json", "-4", "addr"]))
        for one in interface["addr_info"]
    ]
    routes = (one["dst"] for one in json.loads(_do(["ip", "-json", "-4", "route"])))
    return found + [one for one in routes if one != "default"]


def _command_line(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()
