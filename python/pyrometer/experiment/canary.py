"""Canaries: what the machine attains just before a trial, as a covariate of its time."""

from __future__ import annotations

import json
import statistics
import subprocess

from pyrometer import _artifacts
from pyrometer.errors import PyrometerError
from pyrometer.store.experiment import Canaries

LONGEST_S = 20.0


def measure() -> Canaries:
    """Measure arithmetic, memory latency and copy bandwidth for a few tenths of a second."""
    try:
        done = subprocess.run(
            [_artifacts.probe_binary(), "canary", "--json"],
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=True,
        )
        return read(done.stdout)
    except (OSError, subprocess.SubprocessError, PyrometerError, ValueError, KeyError) as error:
        return Canaries(reason=f"pyro-probe canary: {error}")


def read(text: str) -> Canaries:
    """Give the medians of what the probe printed.

    Examples
    --------
    >>> read('{"alu_ns": [3, 1, 2], "latency_ns": [90], "copy_bytes_per_s": [1e9]}').alu_ns
    2.0
    """
    found = json.loads(text)
    return Canaries(
        alu_ns=float(statistics.median(found["alu_ns"])),
        latency_ns=float(statistics.median(found["latency_ns"])),
        copy_bytes_per_s=float(statistics.median(found["copy_bytes_per_s"])),
    )
