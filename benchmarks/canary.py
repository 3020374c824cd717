"""A short look at the machine before every sample: how fast it computes and copies just now."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.execute import Metrics

_COPY_BYTES = 64 << 20


def canary() -> Metrics:
    """Time a fixed computation and a fixed copy (about 0.1 s together)."""
    start = time.perf_counter_ns()
    total = 0
    for number in range(500_000):
        total ^= number * 31
    computed = time.perf_counter_ns()
    source = np.ones(_COPY_BYTES, dtype=np.uint8)
    target = np.empty_like(source)
    copying = time.perf_counter_ns()
    np.copyto(target, source)
    copied = time.perf_counter_ns()
    return {
        "alu_ns": computed - start,
        "copy_bytes_per_s": _COPY_BYTES / max(1, copied - copying) * 1e9,
    }
