"""On which NUMA nodes a run's memory lies: what nodes gave out, and pages of executor JVMs.

``numastat`` of each node counts pages that were given out, from the beginning of the run to its
end; ``/proc/PID/numa_maps`` shows on which nodes a process's pages lie now. Reading the latter
makes the kernel walk the process's page tables, during which it cannot map memory: only runs whose
treatment is about nodes are looked at, seldom: soon after an executor was seen, when it has little
memory, then ever later, up to :data:`GAP_S` apart.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyrometer.collect.host.facts import descendants
from pyrometer.trial.factors import Level, parse_numbers, write_numbers

FIRST_GAP_S = 1.0
GAP_S = 20.0
EXECUTOR = b"CoarseGrainedExecutorBackend"
ABOUT_NODES = ("numa.nodes", "numa.bind", "os.numa_balancing")
"""Factors that make a run one about nodes; so does a machine that was given several."""
_ON_NODE = re.compile(r"N([0-9]{1,4})=([0-9]{1,18})")
_PAGE = re.compile(r"kernelpagesize_kB=([0-9]{1,9})")
_OF_MEMORY = ("/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage")
"""How names of files begin that are memory: ZGC's heap, shared memory, huge pages."""
LARGEST_BYTES = 64 << 20


def about_nodes(treatment: Mapping[str, Level], nodes: int, *, in_machine: bool = False) -> bool:
    """Whether a treatment is about nodes of the host, or of the machine, that it applies to."""
    return nodes > 1 and (in_machine or any(name in treatment for name in ABOUT_NODES))


def parse_numastat(text: str) -> dict[str, int]:
    r"""Read ``numastat`` of a node: pages, by what they were.

    Examples
    --------
    >>> parse_numastat("numa_hit 12\nnuma_miss 0\nbad line\n")
    {'numa_hit': 12, 'numa_miss': 0}
    """
    pairs = (line.split() for line in text.splitlines())
    return {one[0]: int(one[1]) for one in pairs if len(one) == 2 and one[1].isdecimal()}


@dataclass(frozen=True)
class Maps:
    """Memory of a process by node, files on disks left out, and the nodes it is bound to."""

    by_node: Mapping[int, int]
    bound: frozenset[int]

    @property
    def total(self) -> int:
        """Bytes on all nodes."""
        return sum(self.by_node.values())


def parse_numa_maps(text: str) -> Maps:
    r"""Read ``numa_maps`` of a process.

    Pages of files are left out: they lie where whoever read them first ran. Memory that the kernel
    shows as a file counts; the heap of a ZGC that maps it three times (before JDK 21's
    generations), up to as often.

    Examples
    --------
    >>> found = parse_numa_maps("7f00 bind:1 anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=4\n"
    ...     "7f10 default file=/lib/libc.so mapped=9 N0=9 kernelpagesize_kB=4\n")
    >>> dict(found.by_node), sorted(found.bound)
    ({0: 4096, 1: 8192}, [1])
    """
    by_node: dict[int, int] = {}
    bound: set[int] = set()
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2:
            continue
        policy, _, nodes = words[1].partition(":")
        if policy.split("=")[0] == "bind":
            with contextlib.suppress(ValueError):
                bound.update(parse_numbers(nodes))
        file = next((word[5:] for word in words[2:] if word.startswith("file=")), None)
        if file is not None and not file.startswith(_OF_MEMORY):
            continue
        size = _PAGE.search(line)
        each = 1024 * (int(size[1]) if size else 4)
        for node, pages in _ON_NODE.findall(line):
            by_node[int(node)] = by_node.get(int(node), 0) + int(pages) * each
    return Maps(by_node, frozenset(bound))


@dataclass
class NumaWatch:
    """Looks where the memory of a run lies.

    Parameters
    ----------
    wanted : bool
        Whether the run is about nodes; else nothing is looked at.
    processes : callable
        Gives the processes among which executors are looked for; by default, those below ours.
    root : Path
        Of ``/sys`` and ``/proc``; another one simulates a host.
    """

    wanted: bool
    processes: Callable[[], Sequence[int]] = lambda: descendants(os.getpid())
    root: Path = Path("/")
    clock: Callable[[], float] = time.monotonic
    _before: dict[int, dict[str, int]] = field(default_factory=dict)
    _seen: dict[int, Maps] = field(default_factory=dict)
    _next: float | None = None
    _gap: float = FIRST_GAP_S
    _refused: str | None = None

    def begin(self) -> None:
        """Read what nodes have given out so far."""
        if self.wanted:
            self._before = self._nodes()

    def look(self) -> None:
        """Look once at the executors, unless that was done a moment ago."""
        if not self.wanted or (self._next is not None and self.clock() < self._next):
            return
        looked = [self._look_at(one) for one in self.processes()]
        if any(looked):
            self._next = self.clock() + self._gap
            self._gap = min(2 * self._gap, GAP_S)

    def _look_at(self, pid: int) -> bool:
        """Look at a process; gives whether it is an executor."""
        place = self.root / "proc" / str(pid)
        try:
            if EXECUTOR not in (place / "cmdline").read_bytes():
                return False
        except OSError:
            return False
        try:
            with (place / "numa_maps").open("rb") as file:
                text = file.read(LARGEST_BYTES).decode("ascii", "replace")
        except OSError as error:
            self._refused = f"{place}/numa_maps: {error.strerror}"
            return True
        found = parse_numa_maps(text)
        # At its end a process has given its memory back: the fullest look counts.
        if pid not in self._seen or found.total >= self._seen[pid].total:
            self._seen[pid] = found
        return True

    def reached(self) -> dict[str, Any] | None:
        """Give, for the manifest, what was seen; ``None`` where nothing was to be looked at."""
        if not self.wanted:
            return None
        after = self._nodes()
        processes = [
            {
                "pid": pid,
                "bytes_by_node": {str(node): size for node, size in sorted(one.by_node.items())},
                "bound_to": write_numbers(one.bound) if one.bound else None,
                "bound_ratio": _share(one),
            }
            for pid, one in self._seen.items()
        ]
        shares = [_share(one) for one in self._seen.values()]
        ratios = [one for one in shares if one is not None]
        reason = self._refused or (
            "no executor JVM was seen" if not processes else "no executor is bound to nodes"
        )
        return {
            "nodes": [
                {"node": node, **_grown(self._before.get(node, {}), now)}
                for node, now in sorted(after.items())
            ],
            "executors": processes,
            # Every executor counts: one with its memory elsewhere is not averaged away.
            "bound_ratio": min(ratios) if ratios else None,
            "reason": None if ratios else reason,
        }

    def _nodes(self) -> dict[int, dict[str, int]]:
        found = {}
        for place in (self.root / "sys/devices/system/node").glob("node[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                text = (place / "numastat").read_text(encoding="ascii")
                found[int(place.name.removeprefix("node"))] = parse_numastat(text)
        return found


def _share(one: Maps) -> float | None:
    """Share of a process's memory that lies on the nodes that it is bound to."""
    if not one.bound or not one.total:
        return None
    return sum(size for node, size in one.by_node.items() if node in one.bound) / one.total


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int | None]:
    return {
        f"{name}_pages_count": after[name] - before[name] if name in before else None
        for name in after
    }
