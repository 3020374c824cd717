"""The curve of an experiment in its folder, for its page: reading all trials again takes long."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pyrometer.analyse.scaling.curve import CurveReport

FILE = "curve.json"


def keep_curve(folder: Path, made: CurveReport) -> Path:
    """Keep what was told of a curve in the folder of its experiment."""
    target = folder / FILE
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    temporary.write_text(made.model_dump_json(by_alias=True) + "\n", encoding="utf-8")
    temporary.replace(target)
    return target


def kept_curve(folder: Path) -> dict[str, Any] | None:
    """Give the curve that is kept; ``None`` where there is none that this version reads."""
    try:
        made = CurveReport.model_validate_json((folder / FILE).read_bytes())
    except (OSError, ValidationError):
        return None
    return made.model_dump(mode="json", by_alias=True)
