"""What is sent of a run, and how finely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["BY", "Settings", "Window"]

# Labels of samples that tell where in the application they were taken.
BY = ("stage", "operator", "sql", "thread_role", "state")


@dataclass(frozen=True)
class Settings:
    """What is sent, and how finely.

    Parameters
    ----------
    every_ns : int
        Length of a period.
    by : tuple of str
        Labels of samples, of :data:`BY`.
    operators, stages : int
        Values of these labels that are told apart in one period of one event, the heaviest; the
        rest is ``other``. So are SQL executions, as many as stages.
    part_bytes : int
        Size, uncompressed, at which a profile is parted. Pyroscope takes 4 MiB and by default
        2 MB at once.
    part_samples : int
        Samples at which it is parted; Pyroscope takes 16000.
    labels : mapping of str to str
        Labels of every profile.
    """

    every_ns: int = 10_000_000_000
    by: tuple[str, ...] = BY
    operators: int = 12
    stages: int = 24
    part_bytes: int = 1 << 20
    part_samples: int = 10_000
    labels: Mapping[str, str] = field(default_factory=dict)

    def limit(self, label: str) -> int:
        """Values of a label told apart in a period."""
        return self.operators if label == "operator" else self.stages


@dataclass(frozen=True)
class Window:
    """The time that a recording's chunks cover."""

    start_wall_ns: int
    end_wall_ns: int
    start_mono_ns: int | None

    def slices(self, every_ns: int) -> int:
        """Into how many periods of about a length it is parted."""
        return max(1, round((self.end_wall_ns - self.start_wall_ns) / every_ns))
