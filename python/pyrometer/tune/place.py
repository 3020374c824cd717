"""Whether a folder is a tuning's: all that other verbs have to know of one."""

from __future__ import annotations

from pathlib import Path

PLAN = "tuning.json"
"""What a tuning was asked for, in its folder."""


def is_tuning(path: Path) -> bool:
    """Whether a folder holds a tuning."""
    return (path / PLAN).is_file()
