"""Curve and layouts of an experiment in its folder, for its page: reading all trials takes long."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pyrometer.analyse.layout.model import LayoutReport
from pyrometer.analyse.scaling.curve import CurveReport
from pyrometer.report.experiment_files import write_text

FILE = "curve.json"
LAYOUTS = "layout.json"


def keep_curve(folder: Path, made: CurveReport) -> Path:
    """Keep what was told of a curve in the folder of its experiment.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    return write_text(folder / FILE, made.model_dump_json(by_alias=True) + "\n")


def keep_layouts(folder: Path, made: LayoutReport) -> Path:
    """Keep what was told of layouts likewise."""
    return write_text(folder / LAYOUTS, made.model_dump_json(by_alias=True) + "\n")


def kept_curve(folder: Path) -> dict[str, Any] | None:
    """Give the curve that is kept; ``None`` where there is none that this version reads."""
    return _kept(folder / FILE, CurveReport)


def kept_layouts(folder: Path) -> dict[str, Any] | None:
    """Give the layouts that are kept likewise."""
    return _kept(folder / LAYOUTS, LayoutReport)


def _kept(path: Path, model: type[BaseModel]) -> dict[str, Any] | None:
    try:
        made = model.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return made.model_dump(mode="json", by_alias=True)


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
