"""What a machine's CPUs cost its host: time that their threads ran, and waited for a CPU to run on.

A thread of QEMU is a CPU of the machine, or all of them in turn. What it waits is what the machine
would call steal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_CPU = re.compile(r"CPU (\d+)/(?:KVM|TCG)")
_ALL_CPUS = "ALL CPUs/TCG"
LONGEST_TURN_S = 2.0
"""Two looks at a machine that are further apart: its host ran neither it nor us, or was stopped."""


@dataclass(frozen=True)
class Reading:
    """Threads of QEMU at a moment.

    Attributes
    ----------
    mono_ns : int
        When, on the host's clock.
    cpus : dict of int or None to (int, int)
        Of each CPU of the machine: time it ran, and waited to run, in ns since the start. ``None``:
        all of them in turn.
    other_ns : int
        Time that all other threads ran: disks, ports, the main loop.
    """

    mono_ns: int
    cpus: dict[int | None, tuple[int, int]]
    other_ns: int

    def line(self) -> dict[str, object]:
        """Write it as a line of ``raw/vcpus.ndjson``."""
        in_order = sorted(self.cpus.items(), key=lambda one: one[0] or 0)
        return {
            "mono_ns": self.mono_ns,
            "cpus": [
                {"cpu": number, "run_ns": ran, "wait_ns": waited}
                for number, (ran, waited) in in_order
            ],
            "other_run_ns": self.other_ns,
        }


class Given:
    """Time that a host has given to a machine: what it had it wait for a CPU is left out.

    A machine is not to be given up because its host is busy, or was stopped for a while.

    Examples
    --------
    >>> given = Given()
    >>> for second in (100.0, 101.0, 900.0, 901.0):
    ...     given.turn(second)
    >>> given.seconds
    4.0
    >>> given.look(Reading(0, {0: (5, 3 * 10**9), 1: (0, 10**9)}, 0))
    >>> given.seconds
    1.0
    """

    def __init__(self) -> None:
        self._last: float | None = None
        self._passed = self._waited = 0.0

    def turn(self, now_s: float) -> None:
        """Note that we run, at this time of a monotonic clock."""
        if self._last is not None:
            self._passed += min(now_s - self._last, LONGEST_TURN_S)
        self._last = now_s

    def look(self, reading: Reading) -> None:
        """Note how long its CPUs have waited; the one that waited most was needed most."""
        longest = max((waited for _, waited in reading.cpus.values()), default=0)
        self._waited = max(self._waited, longest / 1e9)

    @property
    def seconds(self) -> float:
        """Seconds since the first turn."""
        return max(0.0, self._passed - self._waited)


def cpu_of(name: str) -> int | None:
    """Which CPU of the machine a thread is, by its name; ``None``: another.

    Examples
    --------
    >>> cpu_of("CPU 3/TCG"), cpu_of("qemu-system-x86")
    (3, None)
    """
    match = _CPU.fullmatch(name.strip())
    return int(match[1]) if match else None


def read(pid: int, mono_ns: int, proc: Path = Path("/proc")) -> Reading:
    """Read the threads of QEMU; what has ended meanwhile is left out."""
    cpus: dict[int | None, tuple[int, int]] = {}
    other = 0
    for thread in (proc / str(pid) / "task").glob("[0-9]*"):
        try:
            ran, waited = (thread / "schedstat").read_text().split()[:2]
            name = (thread / "comm").read_text().strip()
        except (OSError, ValueError):
            continue
        number = cpu_of(name)
        if number is None and name != _ALL_CPUS:
            other += int(ran)
        else:
            cpus[number] = (int(ran), int(waited))
    return Reading(mono_ns, cpus, other)
