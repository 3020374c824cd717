"""Who else used the host's CPUs while a run lasted: processes outside of it, by CPU time.

Two looks at the process table, one before the launch and one after the application's end: what
lives at the second used what it gained since the first, or all of its time where it began in
between. Processes that came and went are not seen.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

MOST = 5
"""Processes that are recorded."""
WORTH_NS = 100_000_000
"""CPU time below which a process is not worth its name."""


# PF_KTHREAD of include/linux/sched.h, in the field "flags".
_KERNEL_THREAD = 0x200000


class Used(NamedTuple):
    """A process at one moment: its start tells it from another of its number."""

    started: int
    comm: str
    ticks: int


def parse_stat(text: str) -> Used | None:
    r"""Read start, name, CPU time in ticks from ``/proc/PID/stat``; none for a kernel thread.

    Examples
    --------
    >>> parse_stat("7 (a (b) c) S 1 7 7 0 -1 0 0 0 0 0 30 12 0 0 20 0 1 0 999 0 0\n")
    Used(started=999, comm='a (b) c', ticks=42)
    >>> parse_stat("")
    """
    comm, fields = text[text.find("(") + 1 : text.rfind(")")], text[text.rfind(")") + 2 :].split()
    if len(fields) < 20 or int(fields[6]) & _KERNEL_THREAD:
        return None
    return Used(int(fields[19]), comm, int(fields[11]) + int(fields[12]))


def process_table() -> dict[int, Used]:
    """Read every process of the host that can be seen."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            text = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        used = parse_stat(text)
        if used is not None:
            found[int(entry)] = used
    return found


def takers(
    before: Mapping[int, Used],
    after: Mapping[int, Used],
    ours: Collection[int],
    ticks_per_s: int,
) -> list[dict[str, Any]]:
    """List the processes that used most CPU between two looks, largest first.

    Parameters
    ----------
    before, after : mapping of int to Used
        The process table at both ends.
    ours : collection of int
        Processes of the run, and we ourselves.
    ticks_per_s : int
        Unit of the kernel's counters.

    Examples
    --------
    >>> before = {1: Used(0, "init", 100), 2: Used(5, "make", 100), 3: Used(6, "java", 0)}
    >>> after = {1: Used(0, "init", 100), 2: Used(9, "cc1", 70), 3: Used(6, "java", 900)}
    >>> takers(before, after, {3}, 100)
    [{'pid': 2, 'comm': 'cc1', 'cpu_ns': 700000000}]
    """
    found: list[dict[str, Any]] = []
    for pid, used in after.items():
        known = before.get(pid)
        since = known.ticks if known is not None and known.started == used.started else 0
        cpu_ns = (used.ticks - since) * 1_000_000_000 // ticks_per_s
        if pid not in ours and cpu_ns >= WORTH_NS:
            found.append({"pid": pid, "comm": used.comm, "cpu_ns": cpu_ns})
    return sorted(found, key=lambda one: (-one["cpu_ns"], one["pid"]))[:MOST]
