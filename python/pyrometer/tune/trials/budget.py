"""How much a tuning may cost: so many runs, so much time, or so much core time."""

from __future__ import annotations

import math
import re
from typing import Literal

from pydantic import BaseModel

from pyrometer.core import units
from pyrometer.core.errors import UsageError

Unit = Literal["runs", "seconds", "core-seconds"]

RESERVED = 0.35
"""Share of a budget that is kept for confirmation."""
FEWEST_CONFIRMING = 6
"""Runs that a confirmation takes at least: both sides of as many blocks as a verdict needs."""
FEWEST = FEWEST_CONFIRMING + 2
"""Fewest runs of a tuning: a baseline, something else, and a confirmation that can tell."""

_RUNS = re.compile(r"([0-9]+)(?:\s*runs?)?")
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?)")
_CORE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*core[- ]?(s|seconds?|min|minutes?|h|hours?)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
DAY_S = 86400.0
"""Longest time of a trial where nobody says, and the budget counts runs."""
EXAMPLE = "--budget 25, --budget 40min, or --budget '0.5 core-hours'"


class Budget(BaseModel):
    """A budget, and its unit: what a trial takes of it is counted in the same.

    Attributes
    ----------
    text : str
        As it was written.
    """

    text: str
    amount: float
    unit: Unit

    def words(self, amount: float) -> str:
        """Say how much of it something is.

        Examples
        --------
        >>> parse_budget("40min").words(90.0), parse_budget("25").words(7.25)
        ('90.0 s', '7.2 runs')
        """
        if self.unit == "runs":
            whole = amount == int(amount)
            return units.counted(int(amount), "run") if whole else f"{amount:.1f} runs"
        if self.unit == "seconds":
            return units.duration(amount * 1e9)
        return f"{amount / 3600:.3g} core-hours"

    def reserve(self, times: float = RESERVED) -> float:
        """Part that is kept for confirmation.

        Examples
        --------
        >>> [parse_budget(text).reserve() for text in ("8", "25", "100", "40min")]
        [6.0, 8.0, 34.0, 840.0]
        """
        if self.unit != "runs":
            return times * self.amount
        whole = min(max(FEWEST_CONFIRMING, int(times * self.amount)), int(self.amount) - 2)
        # A block has two runs.
        return float(whole - whole % 2)

    def longest_s(self, cpus: int) -> float:
        """Longest time of a trial where nobody says: of a budget of time all of it, else a day.

        Parameters
        ----------
        cpus : int
            CPUs that a trial occupies.

        Examples
        --------
        >>> [parse_budget(one).longest_s(4) for one in ("25", "40min", "2 core-hours")]
        [86400.0, 2400.0, 1800.0]
        """
        if self.unit == "runs":
            return DAY_S
        return self.amount / (cpus if self.unit == "core-seconds" else 1)


def parse_timeout(text: str) -> float:
    """Read ``--timeout``, in s.

    Raises
    ------
    UsageError
        If it is no time, or none at all.

    Examples
    --------
    >>> [parse_timeout(text) for text in ("90", "90s", "20m", "40min", "2.5h")]
    [90.0, 90.0, 1200.0, 2400.0, 9000.0]
    """
    written = text.strip().lower()
    match = _TIME.fullmatch(written if not written[-1:].isdecimal() else f"{written}s")
    found = float(match[1]) * _SECONDS[match[2][0]] if match else 0.0
    if not 0 < found < math.inf:
        raise UsageError(f"--timeout {text}: a time such as 90s, 20m or 2h", "--timeout 2h")
    return found


def parse_budget(text: str) -> Budget:
    """Read ``--budget``.

    Raises
    ------
    UsageError
        If it is none, or too small for anything.

    Examples
    --------
    >>> [parse_budget(one).amount for one in ("25", "25 runs", "40 minutes", "0.5 core-hours")]
    [25.0, 25.0, 2400.0, 1800.0]
    """
    written = text.strip().lower()
    if runs := _RUNS.fullmatch(written):
        if int(runs[1]) < FEWEST:
            raise UsageError(
                f"--budget {text}: at least {FEWEST} runs, {FEWEST_CONFIRMING} of which confirm"
                " what the others found",
                f"--budget {FEWEST}, or better 25",
            )
        return Budget(text=text, amount=float(runs[1]), unit="runs")
    for pattern, unit in ((_CORE, "core-seconds"), (_TIME, "seconds")):
        if match := pattern.fullmatch(written):
            amount = float(match[1]) * _SECONDS[match[2][0]]
            if amount <= 0:
                raise UsageError(f"--budget {text}: must be above zero", EXAMPLE)
            return Budget(text=text, amount=amount, unit=unit)
    raise UsageError(
        f"--budget {text!r} is neither a number of runs, nor a time, nor core time", EXAMPLE
    )
