"""Option ``--margin``: differences below it count as none."""

from __future__ import annotations

from pyrometer.core.errors import UsageError


def parse_margin(text: str, option: str = "--margin", example: str = "2%") -> float:
    """Read a margin, or another small share.

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
        raise UsageError(
            f"{option} {text}: a percentage above 0 and below 50", f"{option} {example}"
        )
    return found
