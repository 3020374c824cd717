"""Programs that the user has built, and what an agent itself says of a store."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyrometer.collect.agent.programs import NAMES
from pyrometer.core.errors import UsageError

MACHINES = {"linux-x64": 62, "linux-arm64": 183}
"""Machines, and how the header of an ELF file names them."""
UNKNOWN = "no store of this kind is known"
"""What an agent says of a store that it was built without."""
_PATIENCE_S = 20.0
_MACHINE_AT = slice(18, 20)
AGENT = NAMES[0]


def with_own(folder: Path, machine: str, packaged: Mapping[str, bytes]) -> dict[str, bytes]:
    """Read the programs of a folder; what is not there is the package's.

    Parameters
    ----------
    folder : Path
        Folder with ``pyro-agent``, and perhaps ``pyro-probe``.
    machine : str
        Machine of the hosts.
    packaged : mapping of str to bytes
        Programs of the package.

    Raises
    ------
    UsageError
        If there is no agent, or a program is none for that machine.
    """
    found = dict(packaged)
    for name in NAMES:
        path = folder / name
        if name != AGENT and name in packaged and not path.exists():
            continue
        try:
            found[name] = path.read_bytes()
        except OSError as error:
            raise UsageError(
                f"{path}: {error.strerror}",
                "give the folder that holds it: --programs target/release",
            ) from error
        head = found[name][: _MACHINE_AT.stop]
        is_elf = head[:4] == b"\x7fELF" and len(head) == _MACHINE_AT.stop
        if not is_elf or int.from_bytes(head[_MACHINE_AT], "little") != MACHINES[machine]:
            raise UsageError(f"{path} is no program for {machine}", "--machine, or build it again")
    return found


def refuses(agent: bytes, to: str) -> str | None:
    """Ask an agent whether it can write to a store; nothing is asked of the store.

    Parameters
    ----------
    agent : bytes
        The program.
    to : str
        The store.

    Returns
    -------
    str or None
        Why it cannot, in its own words.

    Raises
    ------
    UsageError
        If it cannot be run here, or is no agent.
    """
    with tempfile.TemporaryDirectory(prefix="pyrometer-agent-") as folder:
        program, missing = Path(folder, AGENT), Path(folder, "missing")
        program.write_bytes(agent)
        program.chmod(0o700)
        # It opens the store first, and then the folder, which it does not find.
        words = [str(program), "ship", f"--to={to}", f"--raw-dir={missing}"]
        try:
            done = subprocess.run(
                [*words, "--host=h", "--app=a", "--executor=e"], stdin=subprocess.DEVNULL,
                capture_output=True, timeout=_PATIENCE_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(
                f"the agent cannot be asked whether it writes to {to}: {error}",
                "run this where the agent runs: on a machine like the hosts",
            ) from error
    said = done.stderr.decode("utf-8", "replace").strip()
    if not said.startswith(AGENT):
        raise UsageError(f"{AGENT} is no agent of Pyrometer's: it said {said[:200]!r}")
    return said.removeprefix(f"{AGENT}: ") if UNKNOWN in said else None
