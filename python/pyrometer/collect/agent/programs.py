"""The agent's programs, which the plugin's jar holds."""

from __future__ import annotations

import zipfile
from pathlib import Path

from pyrometer.core.errors import CapabilityError
from pyrometer.core.installation import reinstall

NAMES = ("pyro-agent", "pyro-probe")
_FOLDER = "org/pyrometer/natives/"


def programs(jar: Path) -> dict[str, dict[str, bytes]]:
    """Read the programs of a jar, by machine (``linux-x64``) and name.

    Parameters
    ----------
    jar : Path
        The plugin's jar.

    Returns
    -------
    dict
        Only machines of which both programs are there; empty where the jar was built without.

    Raises
    ------
    CapabilityError
        If it is no readable jar.
    """
    found: dict[str, dict[str, bytes]] = {}
    try:
        with zipfile.ZipFile(jar) as opened:
            for name in opened.namelist():
                machine, _, program = name.removeprefix(_FOLDER).partition("/")
                if name.startswith(_FOLDER) and program in NAMES:
                    found.setdefault(machine, {})[program] = opened.read(name)
    except (OSError, zipfile.BadZipFile) as error:
        raise CapabilityError(f"{jar} is not a readable jar: {error}", reinstall()) from error
    return {machine: both for machine, both in found.items() if len(both) == len(NAMES)}
