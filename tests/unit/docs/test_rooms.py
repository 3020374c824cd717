"""The table of rooms in ARCHITECTURE.md has the layers that the imports are held to."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NO_ROOMS = {"__main__", "_artifacts"}


def test_rooms_stand_in_the_order_of_the_layers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("| room | what |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)(?:/|\.py)`", row.split("|")[1]) for row in table.splitlines()]
    rooms = [set(layer.split(" | ")) for layer in layers]
    assert [set(row) for row in rows] == [layer for layer in rooms if not layer & NO_ROOMS]
