"""Switches of the kernel: set while a run lasts, then put back; what was found is kept on disk.

The record is like the one that the probe keeps of its changes (:mod:`.settings_restore`): it is
written before the change and removed after it was undone, so a run that is killed leaves what is
needed to put it back.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.collect.host.settings_restore import (
    RECORDS,
    described,
    holders,
    keep,
    lives,
    locked,
    present,
    put_back,
    setting_of,
)
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import CapabilityError
from pyrometer.core.liveness import start_ticks
from pyrometer.core.schema import doubt
from pyrometer.trial.factors import Factor, Level, find_factor

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

    @property
    def now(self) -> str:
        """The level that the kernel has."""
        return present(self.path.read_text(encoding="ascii"))


def switches(treatment: Mapping[str, Level], root: Path = ROOT) -> tuple[Switch, ...]:
    """Say which switches a treatment sets.

    Raises
    ------
    CapabilityError
        If this host has no such switch, it has another set of levels, or it may not be written;
        with what would give it.
    """
    chosen = []
    for name, level in treatment.items():
        if not name.startswith("os."):
            continue
        factor = find_factor(name)
        assert factor.file is not None
        switch = Switch(name, factor.file, str(level), root)
        _require(switch, factor)
        chosen.append(switch)
    return tuple(chosen)


def unsettable(name: str, root: Path = ROOT) -> str | None:
    """Say why a switch stays as it is here, and what would allow to set it; ``None``: it can be.

    Parameters
    ----------
    name : str
        Its factor.
    """
    factor = find_factor(name)
    assert factor.file is not None
    file = root / factor.file.lstrip("/")
    try:
        file.read_text(encoding="ascii")
    except OSError as error:
        return f"{factor.file} cannot be read: {error.strerror} ({factor.needs})"
    if not os.access(file, os.W_OK):
        return "this user may not set it (run as root outside of a container)"
    return None


def level_here(name: str, root: Path = ROOT) -> str | None:
    """Give the level that the kernel has of a factor; ``None`` if it cannot be read.

    Parameters
    ----------
    name : str
        The factor.
    """
    factor = find_factor(name)
    assert factor.file is not None
    try:
        return Switch(name, factor.file, "", root).now
    except (OSError, ValueError):
        return None


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
def applied(wanted: Sequence[Switch], records: Path = RECORDS) -> Iterator[list[Doubt]]:
    """Have the switches set while the block lasts; leftovers of dead runs are put back first.

    The list given is empty until the block has ended; then it says what could not be put back,
    and what somebody else had set meanwhile: that is left as it is.

    Raises
    ------
    CapabilityError
        If the kernel refuses a level, or another run holds a switch at another level; nothing is
        changed then.
    """
    put_back(records, wanted[0].root if wanted else ROOT)
    doubts: list[Doubt] = []
    held: list[tuple[Switch, Path]] = []
    try:
        for switch in wanted:
            record = _hold(switch, records)
            if record is not None:
                held.append((switch, record))
        yield doubts
    finally:
        for switch, record in reversed(held):
            doubts += _release(switch, record, records)


def _hold(switch: Switch, records: Path) -> Path | None:
    """Set a switch; gives the record, or none where this process holds it, or it needs none."""
    try:
        before = switch.now
        try:
            records.mkdir(parents=True, exist_ok=True)
            with locked(records):
                return _recorded(switch, records)
        except OSError:
            if before == switch.level:
                return None  # Who may keep no record may change no switch: it stays.
            raise
    except OSError as error:
        raise CapabilityError(
            f"{switch.factor}={switch.level}: {error.filename or switch.file}: {error.strerror}",
            "run as root outside of a container",
        ) from error


def _recorded(switch: Switch, records: Path) -> Path | None:
    name, found = setting_of(switch.file), switch.now
    others = holders(name, records)
    record = records / f"{name}-{os.getpid()}-{start_ticks(os.getpid())}"
    if others and found != switch.level:
        asked = f"{switch.factor}={switch.level}"
        if record in others:
            raise CapabilityError(
                f"{asked}: another process changed {switch.file} to {found} while we held it",
                "let nothing else set it meanwhile",
            )
        raise CapabilityError(
            f"{asked}: {switch.file} is held at {found} by process {others[0].name.split('-')[-2]}",
            "run one after the other",
        )
    if record in others:
        return None
    before = described(others[0])[0] if others else found
    keep(record, f"{before}\n{switch.level}\n")
    try:
        if found != switch.level:
            _set(switch, found)
    except BaseException:
        record.unlink()
        raise
    return record


def _set(switch: Switch, found: str) -> None:
    switch.path.write_text(switch.level, encoding="ascii")
    now = switch.now
    if now != switch.level:
        switch.path.write_text(found, encoding="ascii")
        raise CapabilityError(
            f"{switch.factor}={switch.level}: the kernel keeps {now} in {switch.file}"
        )


def _release(switch: Switch, record: Path, records: Path) -> list[Doubt]:
    """Put a switch back, unless another run that lives counts on it."""
    doubts = []
    try:
        with locked(records):
            now = switch.now
            if now != switch.level:
                text = f"{switch.file} was set to {switch.level}, and is {now} at the end."
                doubts.append(doubt("setting_changed", text))
            others = [one for one in holders(setting_of(switch.file), records) if one != record]
            if not any(map(lives, others)):
                if now == switch.level:
                    switch.path.write_text(described(record)[0], encoding="ascii")
                for one in others:
                    one.unlink()
            record.unlink()
    except OSError as error:
        doubts.append(doubt("setting_left", f"{switch.file}: {error.strerror}."))
    return doubts
