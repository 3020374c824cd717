"""Limits of the virtual disks that hold data and working files: a level of ``machine.disk``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import size_of

FACTOR = "machine.disk"
IOPS = "iops"
_THOUSANDS = {"k": 10**3, "m": 10**6, "g": 10**9}
LEAST_RATE = 64 << 10
"""Bytes a second below which a request of usual size takes seconds."""
LATENCY = "latency"
MOST_LATENCY_MS = 1000
"""A boot reads some dozens of times, one after another."""


@dataclass(frozen=True)
class Limits:
    """What a disk attains at most; ``None``: what the host's attains.

    Attributes
    ----------
    read_bytes_per_s, write_bytes_per_s : int or None
        Bytes a second.
    iops : int or None
        Requests a second, reads and writes together.
    latency_ms : int or None
        By how much each request is held back.
    """

    read_bytes_per_s: int | None = None
    write_bytes_per_s: int | None = None
    iops: int | None = None
    latency_ms: int | None = None


def limits(text: str) -> Limits:
    """Read a level of ``machine.disk``.

    Raises
    ------
    UsageError
        If a limit is given twice or is none.

    Examples
    --------
    >>> limits("read=100m,iops=2000")
    Limits(read_bytes_per_s=104857600, write_bytes_per_s=None, iops=2000, latency_ms=None)
    >>> limits("iops=2k,latency=5ms")
    Limits(read_bytes_per_s=None, write_bytes_per_s=None, iops=2000, latency_ms=5)
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, level = part.partition("=")
        if name in found:
            raise UsageError(f"{FACTOR}={text}: {name} is given twice", "give it once")
        read, least = _READERS.get(name, (size_of, LEAST_RATE))
        found[name] = read(f"{FACTOR}={name}", level)
        if found[name] < least:
            raise UsageError(
                f"{FACTOR}={text}: {name}={level} is too little", f"give {least} or more"
            )
    return Limits(found.get("read"), found.get("write"), found.get(IOPS), found.get(LATENCY))


def _count(name: str, text: str) -> int:
    digits = text.rstrip("kmgKMG")
    if not digits.isdecimal() or len(text) - len(digits) > 1:
        raise UsageError(f"{name}={text}: not a number of requests", "for example iops=2000")
    return int(digits) * _THOUSANDS.get(text[len(digits) :].lower(), 1)


def _milliseconds(name: str, text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,4})ms", text)
    if match is None or not 1 <= int(match[1]) <= MOST_LATENCY_MS:
        raise UsageError(
            f"{name}={text}: not a whole number of milliseconds from 1 to {MOST_LATENCY_MS}",
            "for example latency=5ms",
        )
    return int(match[1])


# Requests are counted, not measured: a thousand of them is 1000.
_READERS = {IOPS: (_count, 1), LATENCY: (_milliseconds, 1)}
