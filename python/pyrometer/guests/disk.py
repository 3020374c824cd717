"""Limits of the virtual disks that hold data and working files: a level of ``machine.disk``."""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.trial.factors import size_of

FACTOR = "machine.disk"
IOPS = "iops"
_THOUSANDS = {"k": 10**3, "m": 10**6, "g": 10**9}
LEAST_RATE = 64 << 10
"""Bytes a second below which a request of usual size takes seconds."""


@dataclass(frozen=True)
class Limits:
    """What a disk attains at most; ``None``: what the host's attains.

    Attributes
    ----------
    read_bytes_per_s, write_bytes_per_s : int or None
        Bytes a second.
    iops : int or None
        Requests a second, reads and writes together.
    """

    read_bytes_per_s: int | None = None
    write_bytes_per_s: int | None = None
    iops: int | None = None


def limits(text: str) -> Limits:
    """Read a level of ``machine.disk``.

    Raises
    ------
    UsageError
        If a limit is given twice or is none.
    CapabilityError
        For latency, which QEMU cannot give to a disk.

    Examples
    --------
    >>> limits("read=100m,iops=2000")
    Limits(read_bytes_per_s=104857600, write_bytes_per_s=None, iops=2000)
    >>> limits("iops=2k").iops
    2000
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, level = part.partition("=")
        if name == "latency":
            raise CapabilityError(
                f"{FACTOR}={text}: QEMU cannot delay requests of a disk; read, write and iops are"
                " what it limits",
                "bound requests: with one at a time iops=500 is 2 ms for each",
            )
        if name in found:
            raise UsageError(f"{FACTOR}={text}: {name} is given twice", "give it once")
        # Requests are counted, not measured: a thousand of them is 1000.
        read, least = (_count, 1) if name == IOPS else (size_of, LEAST_RATE)
        found[name] = read(f"{FACTOR}={name}", level)
        if found[name] < least:
            raise UsageError(
                f"{FACTOR}={text}: {name}={level} is too little", f"give {least} or more"
            )
    return Limits(found.get("read"), found.get("write"), found.get(IOPS))


def _count(name: str, text: str) -> int:
    digits = text.rstrip("kmgKMG")
    if not digits.isdecimal() or len(text) - len(digits) > 1:
        raise UsageError(f"{name}={text}: not a number of requests", "for example iops=2000")
    return int(digits) * _THOUSANDS.get(text[len(digits) :].lower(), 1)
