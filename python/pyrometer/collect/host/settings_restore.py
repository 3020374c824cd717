"""Settings of the kernel that a probe or a run changed and, killed, could not put back."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyrometer.core.liveness import start_ticks

RECORDS = Path("/run/pyrometer")
"""Where what was found is kept: a file ``<setting>-<pid>-<start>`` for each change.

Its first line is what was found; the second, which the probe leaves out, what was set instead."""

_NAME = re.compile(r"(?P<setting>[\w.!-]+)-(?P<pid>[0-9]+)-(?P<ticks>[0-9]+)")


@dataclass(frozen=True)
class Leftover:
    """A setting that a dead probe or run changed, as its records show.

    Attributes
    ----------
    setting : str
        Its name, as ``sysctl`` has it; ``sys.`` begins those of ``/sys``.
    found : str
        Its value before; empty: no record can be read.
    level : str or None
        Its value as the dead set it; ``None``: they did not say.
    records : tuple of Path
        The records of the dead.
    now : str or None
        Its value; ``None``: the kernel's file cannot be read.
    """

    setting: str
    found: str
    level: str | None
    records: tuple[Path, ...]
    now: str | None

    @property
    def is_changed(self) -> bool:
        """Whether it is still as the dead set it; what somebody else has set since is theirs."""
        return self.now is None or (self.now != self.found and self.level in (None, self.now))

    @property
    def reason(self) -> str:
        """The leftover, in words."""
        value = "not readable" if self.now is None else self.now
        if not self.found:
            return (
                f"{self.setting} is {value}; the record left by an earlier run does not say what it"
                " was"
            )
        if self.is_changed:
            return f"{self.setting} is {value}, left by a dead probe or run; it was {self.found}"
        return f"{self.setting} is {value}, no longer as a dead run set it: only its record is left"

    @property
    def remedy(self) -> str:
        """Command that puts it back, where that is to be done, and takes the records away."""
        away = f"rm {shlex.join(map(str, self.records))}"
        if not self.found or not self.is_changed:
            return away
        return f"echo {shlex.quote(self.found)} > {_file(self.setting)} && {away}"


def setting_of(file: str) -> str:
    """Name a kernel's file as records do.

    Examples
    --------
    >>> setting_of("/proc/sys/vm/swappiness"), setting_of("/sys/kernel/mm/lru_gen/enabled")
    ('vm.swappiness', 'sys.kernel.mm.lru_gen.enabled')
    """
    return file.removeprefix("/proc/sys/").strip("/").replace("/", ".")


def present(text: str) -> str:
    """Give the level that a kernel's file holds.

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


def holders(setting: str, records: Path = RECORDS) -> list[Path]:
    """Find the records of those that hold a setting, whether they live or not."""
    named = ((path, _NAME.fullmatch(path.name)) for path in sorted(records.glob(f"{setting}-*")))
    return [path for path, name in named if name and name["setting"] == setting]


def leftovers(records: Path = RECORDS, root: Path = Path("/")) -> list[Leftover]:
    """Find settings whose every holder is gone; where one still runs, it will put them back.

    Parameters
    ----------
    records : Path
        Where the records are.
    root : Path
        Root of the file system; another one simulates a host.
    """
    by_setting: dict[str, list[Path]] = {}
    for path in sorted(records.glob("*")):
        if match := _NAME.fullmatch(path.name):
            by_setting.setdefault(match["setting"], []).append(path)
    return [
        Leftover(setting, *described(found[0]), tuple(found), _now(_file(setting, root)))
        for setting, found in by_setting.items()
        if not any(map(lives, found))
    ]


def lives(record: Path) -> bool:
    """Whether the process whose record it is still runs."""
    match = _NAME.fullmatch(record.name)
    return match is not None and match["ticks"] == str(start_ticks(int(match["pid"])))


def described(record: Path) -> tuple[str, str | None]:
    """Give what a record keeps: the value before, and the one that was set, where it says so."""
    try:
        found, _, level = record.read_text(encoding="utf-8").strip().partition("\n")
    except OSError:
        return "", None
    return found, level or None


def put_back(records: Path = RECORDS, root: Path = Path("/")) -> list[Leftover]:
    """Put back what dead processes changed; returns what could be put back."""
    done = []
    # Who may not read or write there has nothing to put back.
    with contextlib.suppress(OSError), locked(records):
        for leftover in leftovers(records, root):
            with contextlib.suppress(OSError):
                if leftover.is_changed and leftover.found:
                    _file(leftover.setting, root).write_text(leftover.found, encoding="ascii")
                    done.append(leftover)
                for record in leftover.records:
                    record.unlink(missing_ok=True)
    return done


def _file(setting: str, root: Path = Path("/")) -> Path:
    """Give the kernel's file of a setting."""
    below = setting.replace(".", "/")
    return root / (below if below.startswith("sys/") else f"proc/sys/{below}")


def _now(file: Path) -> str | None:
    try:
        return present(file.read_text(encoding="ascii"))
    except OSError:
        return None


def keep(path: Path, text: str) -> None:
    """Write a record, whole and on the disk when this returns."""
    temporary = path.with_name(f"{path.name}.part")
    with temporary.open("w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


@contextlib.contextmanager
def locked(records: Path) -> Iterator[None]:
    """Have the records for this process alone."""
    descriptor = os.open(records, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
