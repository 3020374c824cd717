"""What one check of the machine found, and commands that checks run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that was tried.

    Parameters
    ----------
    name : str
        What: ``java``, ``spark``, ``stacks.cpu``, ``os``, ...
    tier : str or None
        At which tier or by which means, where there are several.
    available : bool
        Whether it works here.
    reason : str
        What the attempt showed.
    remedy : str or None
        The command that gives the missing; ``None`` if nothing is missing.
    """

    name: str
    tier: str | None
    available: bool
    reason: str
    remedy: str | None = None


def run_briefly(
    command: list[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command for at most a minute, without standard input, and keep what it prints."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
        env=environment,
    )


def first_line(text: str) -> str:
    """First line of a text that says something."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0][:300] if lines else "it wrote nothing"
