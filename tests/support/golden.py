"""Texts kept under ``tests/golden``: blessed on purpose with ``PYROMETER_BLESS=1``."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "golden"


def check(name: str, text: str) -> None:
    """Compare with the kept text; a missing one fails unless it is being blessed."""
    path = FOLDER / name
    if os.environ.get("PYROMETER_BLESS") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.is_file(), f"no golden {name}: look at the output, then PYROMETER_BLESS=1"
    assert text == path.read_text(encoding="utf-8"), f"{name} changed: PYROMETER_BLESS=1 if meant"
