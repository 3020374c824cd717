"""speedscope's JSON (https://www.speedscope.app/file-format-schema.json), one sampled profile."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from typing import BinaryIO

from pyrometer import __version__
from pyrometer.export.names import Names
from pyrometer.export.stacks import Stacks

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
