"""pprof: gzipped ``profile.proto``, as `pyrometer.pprof` writes it."""

from __future__ import annotations

import gzip
from typing import BinaryIO

from pyrometer.export.stacks import Stacks
from pyrometer.pprof import PprofWriter, ValueType

UNITS = {"ns": "nanoseconds"}
"""Units of samples in the words of pprof and OpenTelemetry, where these differ from ours."""


def write_pprof(stacks: Stacks, out: BinaryIO) -> None:
    """Write the stacks, with the number of samples before their weight, and labels.

    Stage, operator, task, thread and iteration are labels. All are strings: pprof drops a numeric
    label that is 0, and there is a stage 0. A native frame's library stands as its file.
    """
    kind = ValueType(stacks.event or "", UNITS.get(stacks.unit, stacks.unit))
    started, ended = stacks.times_wall_ns
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=6, mtime=0) as packed:
        profile = PprofWriter(
            packed,
            [ValueType("samples", "count"), kind],
            kind if stacks.period else None,
            stacks.period,
            time_ns=started,
            duration_ns=ended - started,
        )
        known = {
            number: profile.location(frame.name, frame.library or "", frame.line)
            for number, frame in stacks.frames.items()
        }
        missing = profile.location("[frame missing]")
        for row in stacks.sums():
            leaf_first = [known.get(number, missing) for number in reversed(row.frames)]
            if row.leaf is not None:
                leaf_first.insert(0, profile.location(row.leaf))
            leaf_first.extend(profile.location(group) for group in reversed(row.groups))
            labels = {
                key: str(value)
                for key, value in zip(stacks.labels, row.labels, strict=True)
                if value is not None
            }
            profile.sample(leaf_first, (row.samples, row.weight), labels)
