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

from pyrometer.collect.host.disks import all_disks
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
from pyrometer.trial.factors import Factor, Level, declaration, find_factor

ROOT = Path("/")
_AS_ROOT = "run as root outside of a container"


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
    asked : str
        The factor with its level, as it was given.
    root : Path
        Root of the file system; another one simulates a host.
    """

    factor: str
    file: str
    level: str
    asked: str
    root: Path = ROOT

    @property
    def path(self) -> Path:
        """The file itself."""
        return self.root / self.file.lstrip("/")

    @property
    def now(self) -> str:
        """The level that the kernel has."""
        return present(self.path.read_text(encoding="ascii"))


def switches(
    treatment: Mapping[str, Level], root: Path = ROOT, disks: Sequence[str] = ()
) -> tuple[Switch, ...]:
    """Say which switches a treatment sets, in the order in which they are set.

    Parameters
    ----------
    treatment : mapping
        Levels by factor; those that are no switches are passed over.
    root : Path
        Root of the file system; another one simulates a host.
    disks : sequence of str
        Those whose switches it means.

    Raises
    ------
    CapabilityError
        If this host has no such switch, it has another set of levels, or it may not be written;
        with what would give it.
    """
    chosen = []
    # The kernel scales its scheduler's slice anew whenever a CPU goes offline.
    for name in sorted(treatment, key=lambda one: one != "os.smt"):
        if not name.startswith("os."):
            continue
        factor, level = find_factor(name), str(treatment[name])
        files = _files(factor, root, disks)
        if not files:
            raise CapabilityError(
                f"{name}={level}: the data is on no disk of this host", factor.needs
            )
        for file in files:
            written = factor.written.get(level, level)
            switch = Switch(name, file, written, f"{name}={level}", root)
            _require(switch, factor)
            chosen.append(switch)
    return tuple(chosen)


def is_of_disks(name: str) -> bool:
    """Whether a factor is a switch of each disk, and not of the whole host.

    Examples
    --------
    >>> is_of_disks("os.io_scheduler"), is_of_disks("os.thp")
    (True, False)
    """
    factor = declaration(name)
    return factor is not None and any("*" in file for file in factor.files)


def unsettable(name: str, root: Path = ROOT) -> str | None:
    """Say why a switch stays as it is here, and what would allow to set it; ``None``: it can be.

    Parameters
    ----------
    name : str
        Its factor.
    """
    factor = find_factor(name)
    files = _files(factor, root, all_disks(root))
    if not files:
        return f"this host has no disk ({factor.needs})"
    for file in files:
        path = root / file.lstrip("/")
        try:
            path.read_text(encoding="ascii")
        except PermissionError:
            return f"this user may not read {file} ({_AS_ROOT})"
        except OSError as error:
            return f"{file} cannot be read: {error.strerror} ({factor.needs})"
        if not os.access(path, os.W_OK):
            return f"this user may not set it ({_AS_ROOT})"
    return None


def level_here(name: str, root: Path = ROOT) -> str | None:
    """Give the level that the kernel has of a factor; ``None`` if it cannot be read.

    Parameters
    ----------
    name : str
        The factor.
    """
    factor = find_factor(name)
    try:
        files = _files(factor, root, all_disks(root))
        found = {Switch(name, file, "", name, root).now for file in files}
    except (OSError, ValueError):
        return None
    if len(found) != 1:
        return None
    now = found.pop()
    return next((level for level, text in factor.written.items() if text == now), now)


def _files(factor: Factor, root: Path, disks: Sequence[str]) -> list[str]:
    """Give the files of a switch: one, by the name that this kernel has for it; or of each disk."""
    if is_of_disks(factor.name):
        return [factor.files[0].replace("*", disk) for disk in disks]
    there = (one for one in factor.files if os.path.exists(root / one.lstrip("/")))
    return [next(there, factor.files[0])]


def _require(switch: Switch, factor: Factor) -> None:
    asked = switch.asked
    try:
        text = switch.path.read_text(encoding="ascii")
    except OSError as error:
        why = f"{asked}: {switch.file} cannot be read: {error.strerror}"
        denied = isinstance(error, PermissionError)
        raise CapabilityError(why, _AS_ROOT if denied else factor.needs) from error
    if present(text) == switch.level:
        return
    if switch.factor == "os.smt":
        _require_smt(switch, present(text), factor)
    offered = re.findall(r"[a-z-]+", text)
    # A disk without requests to schedule says "none", and nothing else.
    if ("[" in text or offered == ["none"]) and switch.level not in offered:
        raise CapabilityError(f"{asked}: this kernel offers {', '.join(offered)}", factor.needs)
    if not os.access(switch.path, os.W_OK):
        raise CapabilityError(
            f"{asked}: {switch.file} may not be written",
            f"{_AS_ROOT}, or: echo {switch.level} | sudo tee {switch.file}",
        )


def _require_smt(switch: Switch, now: str, factor: Factor) -> None:
    # "forceoff", "notsupported", "notimplemented": admin-guide/hw-vuln, sysfs-devices-system-cpu.
    if now not in ("on", "off"):
        raise CapabilityError(f"{switch.asked}: {switch.file} says {now}", factor.needs)
    offline = switch.root / "sys/devices/system/cpu/offline"
    if now == "on" and offline.is_file() and (cpus := offline.read_text("ascii").strip()):
        raise CapabilityError(
            f"{switch.asked}: CPUs {cpus} are offline by themselves, and would be brought "
            "back with the others",
            "bring them online first: echo 1 > /sys/devices/system/cpu/cpuN/online",
        )
    if cpusets := list((switch.root / "sys/fs/cgroup/cpuset").glob("*/cpuset.cpus")):
        raise CapabilityError(
            f"{switch.asked}: version 1 control group {cpusets[0].parent} would lose the "
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
        denied = isinstance(error, PermissionError)
        raise CapabilityError(
            f"{switch.asked}: {error.filename or switch.file}: {error.strerror}",
            _AS_ROOT if denied else find_factor(switch.factor).needs,
        ) from error


def _recorded(switch: Switch, records: Path) -> Path | None:
    name, found = setting_of(switch.file), switch.now
    others = holders(name, records)
    record = records / f"{name}-{os.getpid()}-{start_ticks(os.getpid())}"
    if others and found != switch.level:
        if record in others:
            raise CapabilityError(
                f"{switch.asked}: another process changed {switch.file} to {found} while we held"
                " it",
                "let nothing else set it meanwhile",
            )
        holder = others[0].name.split("-")[-2]
        raise CapabilityError(
            f"{switch.asked}: {switch.file} is held at {found} by process {holder}",
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
        raise CapabilityError(f"{switch.asked}: the kernel keeps {now} in {switch.file}")


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
