"""What the machine attains at the moment: arithmetic, memory latency, copying.

Only the standard library is used: the workload runner measures this before each iteration,
outside of its time.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Sequence

from pyrometer.core.patience import patient

LONGEST_S = 20.0


def measure(command: Sequence[str]) -> dict[str, float | str]:
    """Run ``pyro-probe canary --json``; where it gives nothing, only ``reason`` is there."""
    try:
        done = subprocess.run(
            list(command), capture_output=True, text=True, timeout=patient(LONGEST_S), check=True
        )
        return {**medians(done.stdout)}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        return {"reason": f"canary: {type(error).__name__}: {error}"}


def medians(text: str) -> dict[str, float]:
    """Give the medians of what the probe printed.

    Examples
    --------
    >>> medians('{"alu_ns": [3, 1, 2], "latency_ns": [90], "copy_bytes_per_s": [1e9]}')["alu_ns"]
    2.0
    """
    found = json.loads(text)
    names = ("alu_ns", "latency_ns", "copy_bytes_per_s")
    return {name: float(statistics.median(found[name])) for name in names}
