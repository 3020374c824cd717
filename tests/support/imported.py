"""Makes profiles as other tools do, and reads what was imported."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter

from tests.support.exported import Sums

from pyrometer.export.pprof import PprofWriter, ValueType
from pyrometer.store import Run


def pprof_bytes(stacks: Sums) -> bytes:
    """Make a gzipped profile of CPU time."""
    out = io.BytesIO()
    profile = PprofWriter(out, [ValueType("cpu", "nanoseconds")])
    for path, weight in stacks.items():
        profile.sample([profile.location(name) for name in reversed(path)], [weight])
    return gzip.compress(out.getvalue(), mtime=0)


def speedscope_bytes(stacks: Sums, evented: bool = False) -> bytes:
    """Make a file of CPU time, sampled or evented."""
    names = {name: at for at, name in enumerate(dict.fromkeys(n for path in stacks for n in path))}
    profile: dict[str, object] = {"name": "cpu", "unit": "nanoseconds", "startValue": 100}
    if evented:
        events, at = [], 100
        for path, weight in stacks.items():
            events += [{"type": "O", "at": at, "frame": names[name]} for name in path]
            at += weight
            events += [{"type": "C", "at": at, "frame": names[name]} for name in reversed(path)]
        profile |= {"type": "evented", "events": events, "endValue": at}
    else:
        samples = [[names[name] for name in path] for path in stacks]
        profile |= {"type": "sampled", "samples": samples, "weights": list(stacks.values())}
        profile |= {"endValue": 100 + sum(stacks.values())}
    return json.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "shared": {"frames": [{"name": name} for name in names]},
            "profiles": [profile],
        }
    ).encode()


def folded_bytes(stacks: Sums) -> bytes:
    """Make folded text."""
    return "".join(f"{';'.join(path)} {weight}\n" for path, weight in stacks.items()).encode()


def sums_of(run: Run, event: str) -> Sums:
    """Weights by names of an open run, root first."""
    names = {
        number: f"{cls}.{method}" if cls else method
        for number, cls, method in run.tables.query(
            "SELECT frame_id, class_name, method FROM frames"
        )
    }
    sums: Sums = Counter()
    for frames, weight in run.tables.query(
        "SELECT frame_ids, weight FROM samples LEFT JOIN stacks ON stack_id = java_stack"
        " WHERE event = ?",
        [event],
    ):
        sums[tuple(names[number] for number in frames)] += weight
    return sums
