"""What a machine's CPUs cost its host: time that their threads ran, and waited for a CPU to run on.

A thread of QEMU is a CPU of the machine. What it waits is what the machine would call steal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_CPU = re.compile(r"CPU (\d+)/(?:KVM|TCG)")


@dataclass(frozen=True)
class Reading:
    """Threads of QEMU at a moment.

    Attributes
    ----------
    mono_ns : int
        When, on the host's clock.
    cpus : dict of int to (int, int)
        Of each CPU of the machine: time it ran, and waited to run, in ns since the start.
    other_ns : int
        Time that all other threads ran: disks, ports, the main loop.
    """

    mono_ns: int
    cpus: dict[int, tuple[int, int]]
    other_ns: int

    def line(self) -> dict[str, object]:
        """Write it as a line of ``raw/vcpus.ndjson``."""
        return {
            "mono_ns": self.mono_ns,
            "cpus": [
                {"cpu": number, "run_ns": ran, "wait_ns": waited}
                for number, (ran, waited) in sorted(self.cpus.items())
            ],
            "other_run_ns": self.other_ns,
        }


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
    cpus: dict[int, tuple[int, int]] = {}
    other = 0
    for thread in (proc / str(pid) / "task").glob("[0-9]*"):
        try:
            ran, waited = (thread / "schedstat").read_text().split()[:2]
            number = cpu_of((thread / "comm").read_text())
        except (OSError, ValueError):
            continue
        if number is None:
            other += int(ran)
        else:
            cpus[number] = (int(ran), int(waited))
    return Reading(mono_ns, cpus, other)
