"""CPU time of a JVM by what its threads do, for the question which of them an instrument costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from pyrometer.core import schema

OTHER = "other"
LISTENERS = "listeners"
"""Threads of Spark's listener bus, the event log's among them: a driver's, elsewhere."""


def role(comm: str) -> str:
    """Role of a thread by the kernel's name for it.

    Examples
    --------
    >>> role("Executor task l"), role("spark-listener-"), role("G1 Conc#0"), role("main")
    ('task', 'listeners', 'gc', 'driver')
    >>> role("somebody")
    'other'
    """
    if comm.startswith("spark-listener"):
        return LISTENERS
    rules = (rule for rule in schema.role_rules() if rule.comm)
    return next((rule.role for rule in rules if re.search(rule.comm or "", comm)), OTHER)


def cpu_of_threads(pid: int) -> dict[int, tuple[str, int]]:
    """Name, and CPU time in ns, of each thread that lives."""
    found = {}
    for folder in Path(f"/proc/{pid}/task").iterdir():
        try:
            comm = (folder / "comm").read_text().rstrip("\n")
            found[int(folder.name)] = (comm, int((folder / "schedstat").read_text().split()[0]))
        except OSError:  # it has ended
            continue
    return found


def by_role(
    before: Mapping[int, tuple[str, int]],
    after: Mapping[int, tuple[str, int]],
    role_of: Callable[[str], str] = role,
) -> dict[str, int]:
    """Sum what threads used between two looks, by role. Those that ended between them are missing.

    Examples
    --------
    >>> by_role({1: ("main", 5)}, {1: ("main", 8), 2: ("GC Thread#0", 4), 3: ("GC Thread#1", 1)})
    {'driver': 3, 'gc': 5}
    """
    found: dict[str, int] = {}
    for tid, (comm, ns) in after.items():
        what = role_of(comm)
        found[what] = found.get(what, 0) + ns - before.get(tid, (comm, 0))[1]
    return found
