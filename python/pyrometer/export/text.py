"""Folded stacks, one a line, and the static flame graph that is drawn of them.

speedscope's JSON (https://www.speedscope.app/file-format-schema.json), one sampled profile.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from pyrometer import __version__
from pyrometer.core.native import native
from pyrometer.export.stacks import Names, Stacks, Sum


def write_folded(stacks: Stacks, out: BinaryIO) -> None:
    """Write sorted ``frame;frame;frame weight`` lines, root first (Brendan Gregg's folded format).

    A semicolon or a line break in a name becomes a comma or a space.
    """
    with tempfile.TemporaryDirectory(prefix="pyrometer-export-") as folder:
        lines, folded = Path(folder) / "lines", Path(folder) / "folded"
        _write_lines(stacks, lines)
        native().fold(str(lines), str(folded), json.dumps({"format": "folded"}))
        _copy(folded, out)


def write_svg(stacks: Stacks, out: BinaryIO) -> None:
    """Draw the stacks as a flame graph: one SVG file that can be searched and zoomed."""
    options = {
        "source": {"format": "folded"},
        "svg": {"title": f"{stacks.run.paths.root.name}: {stacks.event}", "unit": stacks.unit},
    }
    with tempfile.TemporaryDirectory(prefix="pyrometer-export-") as folder:
        lines, drawn = Path(folder) / "lines", Path(folder) / "svg"
        _write_lines(stacks, lines, _MARKS)
        native().render_svg(str(lines), str(drawn), json.dumps(options))
        _copy(drawn, out)


# Suffix of a name by how the frame was run: FlameGraph's annotations, which colour it.
_MARKS = {
    "c2": "_[j]",
    "c1": "_[1]",
    "interpreted": "_[0]",
    "inlined": "_[i]",
    "kernel": "_[k]",
}


def _write_lines(stacks: Stacks, path: Path, marks: Mapping[str, str] | None = None) -> None:
    names = {
        number: _plain(frame.name) + (marks or {}).get(frame.kind, "")
        for number, frame in stacks.frames.items()
    }
    with path.open("wb") as out:
        for row in stacks.sums():
            if row.weight:
                out.write(f"{_path(row, names)} {row.weight}\n".encode())


def _path(row: Sum, names: Mapping[int, str]) -> str:
    parts = [*map(_plain, row.groups), *(names.get(i, "[frame missing]") for i in row.frames)]
    if row.leaf is not None:
        parts.append(_plain(row.leaf))
    return ";".join(parts)


def _plain(name: str) -> str:
    return " ".join(name.replace(";", ",").split()) or "[no name]"


def _copy(path: Path, out: BinaryIO) -> None:
    with path.open("rb") as source:
        shutil.copyfileobj(source, out)


SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"ns": "nanoseconds", "bytes": "bytes"}


def write_speedscope(stacks: Stacks, out: BinaryIO) -> None:
    """Write the stacks; frames of one name are one frame, whatever their line."""
    names = Names()
    known = {number: names.of(frame.name) for number, frame in stacks.frames.items()}
    missing = names.of("[frame missing]")
    total, comma = 0, b""
    head = {
        "$schema": SCHEMA,
        "exporter": f"pyrometer@{__version__}",
        "name": stacks.run.paths.root.name,
        "activeProfileIndex": 0,
    }
    profile = {
        "type": "sampled",
        "name": stacks.event,
        "unit": _UNITS.get(stacks.unit, "none"),
        "startValue": 0,
    }
    with tempfile.TemporaryFile() as weights:
        out.write(_open(head) + b',"profiles":[' + _open(profile) + b',"samples":[')
        for row in stacks.sums():
            if row.weight <= 0:
                continue
            path = [names.of(group) for group in row.groups]
            path += [known.get(i, missing) for i in row.frames]
            if row.leaf is not None:
                path.append(names.of(row.leaf))
            out.write(comma + json.dumps(path, separators=(",", ":")).encode())
            weights.write(comma + str(row.weight).encode())
            comma = b","
            total += row.weight
        out.write(b'],"weights":[')
        weights.seek(0)
        shutil.copyfileobj(weights, out)
    frames = ",".join(json.dumps({"name": name}) for name in names)
    out.write(b'],"endValue":%d}],"shared":{"frames":[%s]}}\n' % (total, frames.encode()))


def _open(values: Mapping[str, object]) -> bytes:
    """Encode an object without its closing brace."""
    return json.dumps(values, separators=(",", ":"))[:-1].encode()
