"""Settings of the kernel that a probe or a run changed and, killed, could not put back."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from pyrometer.process import start_ticks

RECORDS = Path("/run/pyrometer")
"""Where what was found is kept: a file ``<setting>-<pid>-<start>`` for each change."""

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
    records : tuple of Path
        The records of the dead.
    """

    setting: str
    found: str
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
    by_setting: dict[str, list[tuple[Path, bool]]] = {}
    for path in sorted(records.glob("*")):
        match = _NAME.fullmatch(path.name)
        if match:
            lives = match["ticks"] == str(start_ticks(int(match["pid"])))
            by_setting.setdefault(match["setting"], []).append((path, lives))
    return [
        Left(setting, _found(found[0][0]), tuple(path for path, _ in found))
        for setting, found in by_setting.items()
        if not any(lives for _, lives in found)
    ]


def _found(record: Path) -> str:
    try:
        return record.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
