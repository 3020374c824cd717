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

from pyrometer.process import start_ticks

RECORDS = Path("/run/pyrometer")
"""Where what was found is kept: a file ``<setting>-<pid>-<start>`` for each change.

Its first line is what was found; the second, which the probe leaves out, what was set instead."""

_NAME = re.compile(r"(?P<setting>[\w.]+)-(?P<pid>[0-9]+)-(?P<ticks>[0-9]+)")


@dataclass(frozen=True)
class Left:
    """A setting that is still as a dead probe or run set it.

    Attributes
    ----------
    setting : str
        Its name, as ``sysctl`` has it; ``sys.`` begins those of ``/sys``.
    found : str
        Its value before.
    level : str or None
        Its value as the dead set it; ``None``: they did not say.
    records : tuple of Path
        The records of the dead.
    """

    setting: str
    found: str
    level: str | None
    records: tuple[Path, ...]

    @property
    def path(self) -> Path:
        """The kernel's file."""
        below = self.setting.replace(".", "/")
        return Path("/") / (below if below.startswith("sys/") else f"proc/sys/{below}")

    @property
    def remedy(self) -> str:
        """Command that puts it back."""
        records = shlex.join(map(str, self.records))
        return f"echo {shlex.quote(self.found)} > {self.path} && rm {records}"


def setting_of(file: str) -> str:
    """Name a kernel's file as records do.

    Examples
    --------
    >>> setting_of("/proc/sys/vm/swappiness"), setting_of("/sys/kernel/mm/lru_gen/enabled")
    ('vm.swappiness', 'sys.kernel.mm.lru_gen.enabled')
    """
    return file.removeprefix("/proc/sys/").strip("/").replace("/", ".")


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


def holders(setting: str, records: Path = RECORDS) -> list[Path]:
    """Find the records of those that hold a setting, whether they live or not."""
    named = ((path, _NAME.fullmatch(path.name)) for path in sorted(records.glob(f"{setting}-*")))
    return [path for path, name in named if name and name["setting"] == setting]


def leftovers(records: Path = RECORDS) -> list[Left]:
    """Find settings whose every holder is gone; where one still runs, it will put them back.

    Parameters
    ----------
    records : Path
        Where the records are.
    """
    by_setting: dict[str, list[Path]] = {}
    for path in sorted(records.glob("*")):
        if match := _NAME.fullmatch(path.name):
            by_setting.setdefault(match["setting"], []).append(path)
    return [
        Left(setting, *told(found[0]), tuple(found))
        for setting, found in by_setting.items()
        if not any(map(lives, found))
    ]


def lives(record: Path) -> bool:
    """Whether the process whose record it is still runs."""
    match = _NAME.fullmatch(record.name)
    return match is not None and match["ticks"] == str(start_ticks(int(match["pid"])))


def told(record: Path) -> tuple[str, str | None]:
    """Give what a record keeps: the value before, and the one that was set, where it says so."""
    try:
        found, _, level = record.read_text(encoding="utf-8").strip().partition("\n")
    except OSError:
        return "", None
    return found, level or None


def put_back(records: Path = RECORDS, root: Path = Path("/")) -> list[Left]:
    """Put settings back that the dead left changed; gives those that could be."""
    done = []
    # Who may not read or write there has nothing to put back.
    with contextlib.suppress(OSError), locked(records):
        for left in leftovers(records):
            with contextlib.suppress(OSError):
                path = root / str(left.path).lstrip("/")
                if left.level in (None, present(path.read_text(encoding="ascii"))):
                    path.write_text(left.found, encoding="ascii")
                    done.append(left)
                for record in left.records:
                    record.unlink(missing_ok=True)
    return done


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
