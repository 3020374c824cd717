"""What the agent may do on a host, and what it then sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["all", "processes", "own"]


@dataclass(frozen=True)
class Access:
    """Rights of the agent on a host.

    Attributes
    ----------
    capabilities : tuple of str
        Names of Linux capabilities without ``CAP_``, each needed for something that is seen.
    sees : str
        What it sees with them, for people.
    """

    level: Level
    capabilities: tuple[str, ...]
    sees: str

    @property
    def as_root(self) -> bool:
        """Whether it runs as root; else as the user of the executors, without any right."""
        return bool(self.capabilities)


LEVELS: dict[Level, Access] = {
    one.level: one
    for one in (
        Access(
            "all",
            (
                "BPF", "PERFMON", "SYSLOG", "SYS_PTRACE", "DAC_READ_SEARCH", "NET_ADMIN",
                "SYS_NICE",
            ),
            "tier T0: the scheduler's and the disk's events, kernel stacks, and delays",
        ),
        Access(
            "processes",
            ("SYS_PTRACE", "DAC_READ_SEARCH"),
            "tier T2: counters, states and system calls of every process",
        ),
        Access("own", (), "tier T2 of processes of the user that it runs as"),
    )
}  # fmt: skip
"""By name, the most first. ``BPF`` and ``PERFMON`` load the programs, ``SYSLOG`` gives names in
kernel stacks, ``SYS_PTRACE`` and ``DAC_READ_SEARCH`` together open files of other users' processes,
``NET_ADMIN`` asks for delays and ended threads, ``SYS_NICE`` reads in time when CPUs are busy."""
