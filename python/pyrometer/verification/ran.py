"""What ran, as far as it can run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pyrometer.collect.launch.executors_place import is_here, of_host


@dataclass(frozen=True)
class Ran:
    """What ran, as far as it can run again.

    Attributes
    ----------
    workload : str or None
        Name of a workload, or its file; ``None`` for a command.
    command : tuple of str
        The words of a command.
    levels : mapping of str to str
        What the user asked for, and the workload's own variants.
    size, least_size : int or None
        Of the data, as a number, and that of the smallest named scale; ``None``: there is no scale.
    once : bool
        Its time is that of a whole process; else of an iteration.
    whole_ns : int
        The time of the run that a trial's time is compared with: of the window, or the process.
    length_s : float or None
        From launch to tables.
    iterations_s : tuple of float
        Measured iterations.
    master : str
        Where its executors were.
    profile : str or None
        It was measured with; None for that of ``pyrometer run`` itself.
    run : str
        Names it in a command.
    """

    workload: str | None
    command: tuple[str, ...]
    levels: Mapping[str, str]
    scale: str | None
    size: int | None
    least_size: int | None
    once: bool
    iterations: int
    warmup: int | Literal["auto"]
    whole_ns: int
    length_s: float | None
    iterations_s: tuple[float, ...] = ()
    master: str = "local"
    profile: str | None = None
    run: str = "RUN"

    def not_here(self, levels: Mapping[str, str]) -> list[str]:
        """Give the factors of some levels that would reach none of its executors."""
        return [] if is_here(self.master) else of_host(levels)
