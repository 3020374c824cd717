"""What one check of the machine found, and commands that checks run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyrometer.core.errors import PyrometerError
from pyrometer.core.patience import patient

BRIEFLY_S = 60.0
"""Longest time of a command that a check runs."""

_REPEATED = re.compile(r"(?:NOTE: )?Picked up \w+:")


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


def attempted(
    names: Iterable[str], check: Callable[..., Finding | Iterable[Finding]], *arguments: Any
) -> list[Finding]:
    """Do a check; where it fails, that is what was found of all that it has not come to.

    Parameters
    ----------
    names : iterable of str
        What it is about.
    check : callable
        Gives a finding, or one after another.
    *arguments
        Of `check`.
    """
    found: list[Finding] = []
    try:
        made = check(*arguments)
        for one in [made] if isinstance(made, Finding) else made:
            found.append(one)
    except (OSError, subprocess.SubprocessError, PyrometerError) as error:
        reason, remedy = _why_failed(error)
        known = {one.name for one in found}
        found += [Finding(name, None, False, reason, remedy) for name in names if name not in known]
    return found


def _why_failed(error: Exception) -> tuple[str, str | None]:
    if isinstance(error, PyrometerError):
        return error.message, error.remedy
    if isinstance(error, subprocess.TimeoutExpired):
        return (
            f"the check gave no answer within {error.timeout:.0f} s",
            "try again when this machine is less busy, or wait longer: export"
            " PYROMETER_PATIENCE=10",
        )
    return (
        f"the check failed: {error}",
        "try again; if the disk is full, free some space first, or set TMPDIR to a folder on"
        " another disk",
    )


def run_briefly(
    command: list[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command for at most a minute, without standard input, and keep what it prints."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=patient(BRIEFLY_S),
        check=False,
        stdin=subprocess.DEVNULL,
        env=environment,
    )


def said_lines(text: str) -> list[str]:
    r"""Lines of a text that say something, without those in which a JVM repeats its variables.

    Examples
    --------
    >>> said_lines("Picked up JAVA_TOOL_OPTIONS: -Da=b\n\nError: no")
    ['Error: no']
    """
    return [line for line in text.splitlines() if line.strip() and not _REPEATED.match(line)]


def first_line(text: str) -> str:
    """First line of a text that says something."""
    lines = said_lines(text)
    return lines[0][:300] if lines else "it wrote nothing"
