"""Curve and layouts of an experiment in its folder, for its page: reading all trials takes long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pyrometer.report.experiment_files import write_text

FILE = "curve.json"
LAYOUTS = "layout.json"
_CURVE_SCHEMA = "pyrometer/scale/1"
_LAYOUTS_SCHEMA = "pyrometer/layout/1"


def keep_curve(folder: Path, made: BaseModel) -> Path:
    """Keep what was told of a curve in the folder of its experiment.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    return write_text(folder / FILE, made.model_dump_json(by_alias=True) + "\n")


def keep_layouts(folder: Path, made: BaseModel) -> Path:
    """Keep what was told of layouts likewise."""
    return write_text(folder / LAYOUTS, made.model_dump_json(by_alias=True) + "\n")


def kept_curve(folder: Path) -> dict[str, Any] | None:
    """Give the curve that is kept; ``None`` where there is none that this version reads."""
    return _kept(folder / FILE, _CURVE_SCHEMA)


def kept_layouts(folder: Path) -> dict[str, Any] | None:
    """Give the layouts that are kept likewise."""
    return _kept(folder / LAYOUTS, _LAYOUTS_SCHEMA)


def _kept(path: Path, schema: str) -> dict[str, Any] | None:
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and kept.get("schema") == schema else None


def outdated(
    told: Mapping[str, Any] | None, folder: Path, finished: int, verb: str = "scale"
) -> str | None:
    """Say where what is kept is not of the `finished` trials that there are now."""
    if told is None or told["done_count"] == finished:
        return None
    return (
        f"This is of {told['done_count']} finished trials, there are {finished} now:"
        f" pyrometer {verb} {folder} tells it again."
    )
