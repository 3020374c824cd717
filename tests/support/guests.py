"""Workloads for tests of virtual machines: small, without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pyrometer.store.paths import RunPaths

SPIN = """\
import os

from pyrometer.workloads.contract import Workload
from pyrometer.workloads.results import checksum
from pyrometer.workloads.values import IterationResult, Prepared


class Spin(Workload):
    name = "spin"
    engine = "process"
    summary = description = source = expectation = "Adds numbers."
    scales = {"test": 3_000_000, "default": 3_000_000, "seed": 3_000_000}
    scale_unit = "numbers"

    def prepare(self, spec, cache, progress=None):
        return Prepared()

    def run(self, spark, prepared, spec):
        return IterationResult(len(os.sched_getaffinity(0)), checksum([(sum(range(spec.size)),)]))

    def verify(self, result, prepared, spec):
        return None
"""


def spinning(folder: Path) -> Path:
    """Write a workload that adds numbers; its results have the number of CPUs as rows."""
    path = folder / "spin.py"
    path.write_text(SPIN)
    return path


def check_at_once(runs: Sequence[RunPaths]) -> None:
    """Check that no run had counted all of its iterations before another began to count."""
    spans = []
    for one in runs:
        lines = [json.loads(line) for line in one.iterations.read_text().splitlines()]
        counted = [line["mono_ns"] for line in lines if not line["warmup"]]
        spans.append((counted[0], counted[-1]))
    assert max(start for start, _ in spans) < min(end for _, end in spans)
