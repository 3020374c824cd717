"""Settings of the kernel that a probe changed and, killed, could not put back."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from pyrometer.process import start_ticks

RECORDS = Path("/run/pyrometer")
"""Where the probe keeps what it found: a file ``<setting>-<pid>-<start>`` for each change."""

_NAME = re.compile(r"(?P<setting>[\w.]+)-(?P<pid>[0-9]+)-(?P<ticks>[0-9]+)")


@dataclass(frozen=True)
class Left:
    """A setting that is still as a dead probe set it.

    Attributes
    ----------
    setting : str
        Its name, as ``sysctl`` has it.
    found : str
        Its value before.
    records : tuple of Path
        The records of the dead.
    """

    setting: str
    found: str
    records: tuple[Path, ...]

    @property
    def remedy(self) -> str:
        """Command that puts it back."""
        records = shlex.join(map(str, self.records))
        return f"sysctl {self.setting}={shlex.quote(self.found)} && rm {records}"


def leftovers(records: Path = RECORDS) -> list[Left]:
    """Find settings whose every probe is gone; where one still runs, it will put them back.

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
