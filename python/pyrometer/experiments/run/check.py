"""The user's own command that judges the result of a run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pyrometer.collect.launch.environment import INSIDE

LONGEST_S = 600.0
_SHOWN = 300


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
            ended = subprocess.run(
                ["/bin/sh", "-c", command.replace("{run}", '"$run"')],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env,
                timeout=longest_s, check=False,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"the check did not end within {longest_s:.0f} s"
    except OSError as error:
        return f"the check could not be run: {error.strerror}"
    if ended.returncode == 0:
        return None
    said = log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
    return f"the check ended with exit code {ended.returncode}" + (
        f": {said[:_SHOWN]}" if said else ""
    )
