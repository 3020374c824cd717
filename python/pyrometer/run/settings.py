"""Switches of the kernel: set while a run lasts, then put back; what was found is kept on disk.

The record is the one that the probe keeps of its own changes (:mod:`.settings_left`): it is there
before the change and goes after it was undone, so a run that is killed leaves what to put back.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.errors import CapabilityError
from pyrometer.plan import Level
from pyrometer.plan.factors import Factor, find_factor
from pyrometer.process import start_ticks
from pyrometer.run.settings_left import RECORDS, Left, holders, leftovers, setting_of

ROOT = Path("/")


@dataclass(frozen=True)
class Switch:
    """A level of a factor that the kernel keeps in a file.

    Parameters
    ----------
    factor : str
        Its name.
    file : str
        Where the kernel keeps it, below `root`.
    level : str
        What is written.
    root : Path
        Root of the file system; another one simulates a host.
    """

    factor: str
    file: str
    level: str
    root: Path = ROOT

    @property
    def path(self) -> Path:
        """The file itself."""
        return self.root / self.file.lstrip("/")


def present(text: str) -> str:
    """Give the level that a kernel's file tells.

    Examples
    --------
    >>> present("always [madvise] never"), present("0x0007"), present("60")
    ('madvise', '7', '60')
    """
    chosen = re.search(r"\[(\S+)\]", text)
    if chosen:
        return chosen[1]
    text = text.strip()
    return str(int(text, 0)) if re.fullmatch(r"0x[0-9a-f]+", text) else text


def switches(treatment: Mapping[str, Level], root: Path = ROOT) -> tuple[Switch, ...]:
    """Say which switches a treatment sets.

    Raises
    ------
    CapabilityError
        If this host has no such switch, it has another set of levels, or it may not be written;
        with what would give it.
    """
    made = []
    for name, level in treatment.items():
        if not name.startswith("os."):
            continue
        factor = find_factor(name)
        assert factor.file is not None
        switch = Switch(name, factor.file, str(level), root)
        _require(switch, factor)
        made.append(switch)
    return tuple(made)


def _require(switch: Switch, factor: Factor) -> None:
    asked = f"{switch.factor}={switch.level}"
    try:
        text = switch.path.read_text(encoding="ascii")
    except OSError as error:
        why = f"{asked}: {switch.file} cannot be read: {error.strerror}"
        raise CapabilityError(why, factor.needs) from error
    if present(text) == switch.level:
        return
    if switch.factor == "os.smt":
        _require_smt(switch, present(text), factor)
    offered = re.findall(r"[a-z]+", text)
    if "[" in text and switch.level not in offered:
        raise CapabilityError(f"{asked}: this kernel offers {', '.join(offered)}", factor.needs)
    if not os.access(switch.path, os.W_OK):
        raise CapabilityError(
            f"{asked}: {switch.file} may not be written",
            f"run as root outside of a container, or: echo {switch.level} | sudo tee {switch.file}",
        )


def _require_smt(switch: Switch, now: str, factor: Factor) -> None:
    # "forceoff", "notsupported", "notimplemented": admin-guide/hw-vuln, sysfs-devices-system-cpu.
    if now not in ("on", "off"):
        raise CapabilityError(f"os.smt={switch.level}: {switch.file} says {now}", factor.needs)
    offline = switch.root / "sys/devices/system/cpu/offline"
    if now == "on" and offline.is_file() and (cpus := offline.read_text("ascii").strip()):
        raise CapabilityError(
            f"os.smt={switch.level}: CPUs {cpus} are offline by themselves, and would be brought "
            "back with the others",
            "bring them online first: echo 1 > /sys/devices/system/cpu/cpuN/online",
        )
    if cpusets := list((switch.root / "sys/fs/cgroup/cpuset").glob("*/cpuset.cpus")):
        raise CapabilityError(
            f"os.smt={switch.level}: version 1 control group {cpusets[0].parent} would lose the "
            "CPUs that go offline for good",
            "boot with systemd.unified_cgroup_hierarchy=1, or remove these groups",
        )


@contextlib.contextmanager
def applied(wanted: Sequence[Switch], records: Path = RECORDS) -> Iterator[list[str]]:
    """Have the switches set while the block lasts; what dead runs left is put back first.

    The list given is empty until the block has ended; then it tells what could not be put back.

    Raises
    ------
    CapabilityError
        If the kernel refuses a level, or another run holds a switch at another level; nothing is
        changed then.
    """
    root = wanted[0].root if wanted else ROOT
    put_back(records, root)
    stay: list[str] = []
    held: list[tuple[Switch, Path]] = []
    try:
        for switch in wanted:
            record = _hold(switch, records)
            if record is not None:
                held.append((switch, record))
        yield stay
    finally:
        for switch, record in reversed(held):
            stay += _release(switch, record, records)


def put_back(records: Path = RECORDS, root: Path = ROOT) -> list[Left]:
    """Put settings back that the dead left changed; gives those that could be."""
    done = []
    if not records.is_dir():
        return []
    with _locked(records):
        for left in leftovers(records):
            with contextlib.suppress(OSError):
                (root / str(left.path).lstrip("/")).write_text(left.found, encoding="ascii")
                for record in left.records:
                    record.unlink(missing_ok=True)
                done.append(left)
    return done


def _hold(switch: Switch, records: Path) -> Path | None:
    """Set a switch; gives the record, or none where this process holds it, or it needs none."""
    try:
        found = present(switch.path.read_text(encoding="ascii"))
        try:
            records.mkdir(parents=True, exist_ok=True)
        except OSError:
            if found == switch.level:
                return None
            raise
        with _locked(records):
            return _recorded(switch, found, records)
    except OSError as error:
        raise CapabilityError(
            f"{switch.factor}={switch.level}: {error.filename or switch.file}: {error.strerror}",
            "run as root outside of a container",
        ) from error


def _recorded(switch: Switch, found: str, records: Path) -> Path | None:
    name = setting_of(switch.file)
    others = holders(name, records)
    if others and found != switch.level:
        raise CapabilityError(
            f"{switch.factor}={switch.level}: {switch.file} is held at {found} by process "
            f"{others[0].name.split('-')[-2]}",
            "run one after the other",
        )
    before = others[0].read_text(encoding="ascii") if others else found
    record = records / f"{name}-{os.getpid()}-{start_ticks(os.getpid())}"
    if record in others:
        return None
    _write_synced(record, before)
    try:
        if found != switch.level:
            _set(switch, found)
    except BaseException:
        record.unlink()
        raise
    return record


def _set(switch: Switch, found: str) -> None:
    switch.path.write_text(switch.level, encoding="ascii")
    now = present(switch.path.read_text(encoding="ascii"))
    if now != switch.level:
        switch.path.write_text(found, encoding="ascii")
        raise CapabilityError(
            f"{switch.factor}={switch.level}: the kernel keeps {now} in {switch.file}"
        )


def _release(switch: Switch, record: Path, records: Path) -> list[str]:
    try:
        with _locked(records):
            if holders(setting_of(switch.file), records) == [record]:
                switch.path.write_text(record.read_text(encoding="ascii"), encoding="ascii")
            record.unlink()
    except OSError as error:
        return [f"{switch.file}: {error.strerror}"]
    return []


def _write_synced(path: Path, text: str) -> None:
    with path.open("w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
