"""Pseudo-random numbers that depend on nothing but their key: no library, machine or order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]


def splitmix64(keys: U64) -> U64:
    """Mix each key into 64 uniform bits (the finaliser of SplitMix64)."""
    z = keys + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def stream(name: int, count: int, first: int = 0) -> U64:
    """Draw `count` 64-bit numbers of the stream `name`, beginning with number `first` of it.

    Streams are independent of one another, and what is drawn in pieces is what is drawn at once.
    """
    start = splitmix64(np.array([name], dtype=np.uint64))
    return splitmix64(
        np.add(start, np.arange(first, first + count, dtype=np.uint64), dtype=np.uint64)
    )
