"""What the machine must have for some conditions: control groups of memory, and swap."""

from __future__ import annotations

import atexit
import time
from contextlib import suppress
from pathlib import Path

from pyspark import SparkConf

_MOUNT = Path("/sys/fs/cgroup/memory")
_ENDING_S = 10.0
"""Executors end some time after their application."""
_LEAST_SWAP = 1 << 20
"""KiB."""


def container(conf: SparkConf) -> str:
    """Say where executors are to make their containers, and how many bytes each has.

    Containers are control groups below this process's own; at the end, they are removed.

    Raises
    ------
    OSError
        If the machine has no control groups of version 1 for memory.
    """
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = [path for _, kind, path in (one.split(":", 2) for one in lines) if kind == "memory"]
    if not own or not (_MOUNT / own[0].lstrip("/") / "memory.limit_in_bytes").exists():
        raise OSError(f"no control group of version 1 rules this memory: mount one at {_MOUNT}")
    above = _MOUNT / own[0].lstrip("/")
    atexit.register(_remove, above)
    sizes = [conf.get(f"spark.executor.{name}", "0m") for name in ("memory", "memoryOverhead")]
    return f"{above} {sum(int(str(size).removesuffix('m')) for size in sizes) << 20}"


def _remove(above: Path) -> None:
    until = time.monotonic() + _ENDING_S
    while (left := list(above.glob("executor-*"))) and time.monotonic() < until:
        for group in left:
            with suppress(OSError):
                group.rmdir()
        time.sleep(0.1)


def has_swap(meminfo: str) -> bool:
    """Whether there is a gibibyte of free swap, by the text of ``/proc/meminfo``.

    Examples
    --------
    >>> has_swap("SwapFree:        4194300 kB"), has_swap("SwapFree:              0 kB")
    (True, False)
    """
    free = (line.split()[1] for line in meminfo.splitlines() if line.startswith("SwapFree:"))
    return any(int(kib) >= _LEAST_SWAP for kib in free)
