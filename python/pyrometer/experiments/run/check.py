"""The user's own command that judges the result of a run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from pyrometer.collect.launch.environment import INSIDE

LONGEST_S = 600.0
"""A check that takes longer is ended, with all that it started: then nobody knows the result."""
_SHOWN = 300
_TAIL_BYTES = 1 << 16


def run_check(command: str, run_dir: Path, longest_s: float = LONGEST_S) -> str | None:
    """Run a command of the shell that says whether the result of a run is right.

    Its folder is the current one, ``PYROMETER_RUN_DIR`` names the run directory, and ``{run}`` in
    its text stands for it. Its output goes to ``check.txt`` in the run directory.

    Returns
    -------
    str or None
        Why the result is wrong; ``None`` if the command ends with exit code 0.
    """
    place = run_dir.absolute()
    env = {**os.environ, INSIDE: str(place), "run": str(place)}
    log = place / "check.txt"
    try:
        with log.open("wb") as out:
            argv = ["/bin/sh", "-c", command.replace("{run}", '"$run"')]
            code = _ended(argv, env, out, longest_s)
    except subprocess.TimeoutExpired:
        return f"the check did not end within {longest_s:.0f} s"
    except OSError as error:
        return f"the check could not be run: {error.strerror}"
    if code == 0:
        return None
    said = _last_line(log)
    return f"the check ended with exit code {code}" + (f": {said[:_SHOWN]}" if said else "")


def _last_line(log: Path) -> str:
    """Give the last line of an output that may be of any length."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        text = file.read(_TAIL_BYTES).decode("utf-8", "replace")
    return text.strip().rpartition("\n")[2]


def _ended(argv: list[str], env: Mapping[str, str], out: IO[bytes], longest_s: float) -> int:
    """Run a command in a session of its own, and end all of it where it does not end itself.

    Raises
    ------
    TimeoutExpired, OSError
        If it does not end in time, or cannot be started.
    """
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env,
        start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(longest_s)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
