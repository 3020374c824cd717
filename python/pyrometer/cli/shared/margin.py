"""Option ``--margin``: differences below it count as none."""

from __future__ import annotations

from pyrometer.core.errors import UsageError


def parse_margin(text: str) -> float:
    """Read a margin.

    Raises
    ------
    UsageError
        If it is not a percentage, or not a possible margin.
    """
    try:
        found = float(text.removesuffix("%")) / 100
    except ValueError:
        found = -1.0
    if not 0 < found < 0.5:
        raise UsageError(f"--margin {text}: a percentage above 0 and below 50", "--margin 2%")
    return found
