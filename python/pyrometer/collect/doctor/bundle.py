"""What is needed to add a machine: its topology, counters and limits as the kernel shows them.

One text file that can be read before it is sent: a line is a path below ``/`` and a line of that
file. Tests lay it out as a folder and run what reads a host on it (``tests/fixtures/topology``).
Only files of a fixed list are read, and of some only fixed fields: none names the machine, its
owner, a serial number, an address, or a program.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer import __version__
from pyrometer.core.errors import CapabilityError, UsageError

SCHEMA = "pyrometer/machine/1"
LONGEST = 4096
"""Characters of a file that are kept."""
MOST_LINES = 60_000

FILES = (
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/cpu/cpu[0-9]*/topology/*_id",
    "sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu[0-9]*/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu[0-9]*/cache/index*/id",
    "sys/devices/system/cpu/cpu[0-9]*/cache/index*/level",
    "sys/devices/system/cpu/cpu[0-9]*/cache/index*/type",
    "sys/devices/system/cpu/cpu[0-9]*/cache/index*/size",
    "sys/devices/system/cpu/cpu[0-9]*/cache/index*/shared_cpu_list",
    "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_driver",
    "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq",
    "sys/devices/system/node/has_memory",
    "sys/devices/system/node/has_cpu",
    "sys/devices/system/node/node[0-9]*/cpulist",
    "sys/devices/system/node/node[0-9]*/distance",
    "sys/devices/system/node/node[0-9]*/numastat",
    "sys/bus/event_source/devices/*/type",
    "sys/bus/event_source/devices/*/cpumask",
    "sys/bus/event_source/devices/*/cpus",
    "sys/bus/event_source/devices/*/format/*",
    "sys/bus/event_source/devices/*/events/*",
    "sys/bus/event_source/devices/*/caps/*",
    "sys/class/powercap/*/name",
    "sys/fs/resctrl/info/*/*",
    "sys/fs/resctrl/schemata",
    "sys/fs/resctrl/mon_data/*/*",
    "sys/kernel/mm/lru_gen/enabled",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/perf_event_paranoid",
    "proc/sys/kernel/perf_event_mlock_kb",
    "proc/sys/kernel/kptr_restrict",
    "proc/sys/kernel/nmi_watchdog",
    "proc/sys/kernel/numa_balancing",
)
"""What is read whole, as patterns below ``/``."""

FIELDS = {
    "proc/cpuinfo": (
        "vendor_id", "cpu family", "model", "model name", "stepping", "cache size", "flags",
        "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part",
        "CPU revision", "cpu", "revision",
    ),
    "proc/meminfo": ("MemTotal", "SwapTotal", "Hugepagesize"),
}  # fmt: skip
"""Fields that are read of files which hold more: of the first CPU alone."""

_NODE_MEMORY = "sys/devices/system/node/node[0-9]*/meminfo"


@dataclass(frozen=True)
class Bundle:
    """Lines of a bundle, and what could not be read."""

    lines: tuple[tuple[str, str], ...]
    unread: dict[str, str]

    def text(self) -> str:
        """Write it as a file.

        Examples
        --------
        >>> print(Bundle((("sys/devices/system/cpu/online", "0-3"),), {}).text().splitlines()[-1])
        sys/devices/system/cpu/online: 0-3
        """
        head = [
            f"# {SCHEMA}: what the kernel of a machine shows of CPUs, nodes and counters.",
            f"# Written by pyrometer doctor --bundle, version {__version__}, on"
            f" {platform.machine()}. It names no host, owner, address or program.",
        ]
        head += [f"# not read: {path}: {why}" for path, why in sorted(self.unread.items())]
        return "\n".join([*head, *(f"{path}: {line}" for path, line in self.lines)]) + "\n"


def gather(root: Path = Path("/")) -> Bundle:
    """Read what a bundle holds.

    Parameters
    ----------
    root : Path
        Of the file system; another one is a simulated host.
    """
    lines: list[tuple[str, str]] = []
    unread: dict[str, str] = {}
    for path in _places(root, FILES):
        _read(root, path, lines, unread, None)
    for name, fields in FIELDS.items():
        if (root / name).exists():
            _read(root, root / name, lines, unread, fields)
    for path in _places(root, (_NODE_MEMORY,)):
        _read(root, path, lines, unread, ("MemTotal",))
    if len(lines) > MOST_LINES:
        unread["the rest"] = f"more than {MOST_LINES} lines"
    return Bundle(tuple(lines[:MOST_LINES]), unread)


def _places(root: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for pattern in patterns:
        found = (one for one in root.glob(pattern) if one.is_file())
        yield from sorted(found, key=_in_order)


def _in_order(path: Path) -> list[tuple[int, str]]:
    return [
        (int(part) if part.isdecimal() else -1, part) for part in re.split(r"([0-9]+)", str(path))
    ]


def _read(
    root: Path,
    path: Path,
    lines: list[tuple[str, str]],
    unread: dict[str, str],
    fields: Sequence[str] | None,
) -> None:
    name = str(path.relative_to(root))
    try:
        text = path.read_bytes()[: LONGEST if fields is None else 1 << 20].decode(
            "utf-8", "replace"
        )
    except OSError as error:
        # Links of a PMU to other devices, counters that only root may read.
        unread[name] = error.strerror or type(error).__name__
        return
    seen: set[str] = set()
    for line in text.splitlines() or [""]:
        if fields is not None:
            key = re.sub(r"^Node [0-9]+ ", "", line).partition(":")[0].strip()
            if key not in fields or key in seen:
                continue
            seen.add(key)
        lines.append((name, "".join(one if one.isprintable() else " " for one in line).strip()))


def write(path: Path, root: Path = Path("/")) -> Bundle:
    """Write a bundle to a file that is not there yet.

    Raises
    ------
    UsageError
        If it is there, or cannot be written.
    CapabilityError
        If the kernel shows nothing of what it is made of.
    """
    found = gather(root)
    if not found.lines:
        raise CapabilityError(f"{root} shows neither CPUs nor nodes", "mount /proc and /sys")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        raise UsageError(f"{path} is there already", "choose another file") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "--bundle FILE") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(found.text())
    return found


def lay_out(text: str, root: Path) -> None:
    """Make the files of a bundle below a folder, as tests do.

    Parameters
    ----------
    text : str
        A bundle, or a recorded tree whose paths are below ``/sys``.
    root : Path
        Where to.

    Raises
    ------
    UsageError
        If a line is none, or its path leads out of the folder.
    """
    files: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        path, colon, value = line.partition(":")
        if not colon or path.startswith("/") or ".." in path.split("/") or "\0" in path:
            raise UsageError(f"line {number} is not a path with a line of its file")
        top = path.split("/")[0]
        files.setdefault(path if top in ("sys", "proc") else f"sys/{path}", []).append(
            value.removeprefix(" ")
        )
    for path, values in files.items():
        place = root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("\n".join(values) + "\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{path}: {error.strerror}", "look whether it is both a file and a folder there"
            ) from error
