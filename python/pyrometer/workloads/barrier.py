"""Barrier at which runners of a co-run wait for each other.

Each runner that arrives creates a file in a folder. Whatever ends a runner, nobody waits for it
once file ``over`` exists, and no runner continues once its parent process has ended. Only the
standard library is used.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyrometer.core.errors import WorkloadError

LOOK_S = 0.001

Load = Callable[[], None]
"""Runs the workload once, without counting it."""


@dataclass(frozen=True)
class Barrier:
    """Iterations in step: each begins when all runners have reached it.

    Parameters
    ----------
    folder : Path
        Folder for the files.
    position : int
        Number of this runner, from 0.
    count : int
        Number of runners.
    parent : int
        Process that started this runner.
    """

    folder: Path
    position: int
    count: int = 2
    parent: int = field(default_factory=os.getppid)

    def begin(self, load: Load) -> None:
        """Reach the first measured iteration."""

    def end(self, load: Load) -> None:
        """Reach the end of the last one."""

    def wait(self, number: int) -> None:
        """Reach iteration `number`, and wait for the others.

        Raises
        ------
        WorkloadError
            If another runner, or the parent process, has ended.
        """
        self._wait_for_all(str(number))

    def leave(self) -> None:
        """Signal all runners not to wait for this one."""
        (self.folder / "over").touch()

    def _wait_for_all(self, word: str) -> None:
        self._arrive(word)
        while not self._all_arrived(word):
            time.sleep(LOOK_S)

    def _arrive(self, word: str) -> None:
        (self.folder / f"{word}-{self.position}").touch()

    def _all_arrived(self, word: str) -> bool:
        # Checked first: a runner that leaves after all have arrived does not fail the barrier.
        over = (self.folder / "over").exists()
        if all((self.folder / f"{word}-{at}").exists() for at in range(self.count)):
            return True
        if over:
            raise WorkloadError("the other side has ended")
        if os.getppid() != self.parent:
            raise WorkloadError("what started it has ended")
        return False


@dataclass(frozen=True)
class Overlap(Barrier):
    """Every measured iteration runs under load of all others, from its start to its end.

    All begin together, or with offsets; early runners run unmeasured iterations until the last has
    begun. A runner that is done keeps running, unmeasured, until all are: the shorter program is
    repeated until the longer ends (Tuck and Tullsen, "Initial observations of the simultaneous
    multithreading Pentium 4 processor", PACT 2003). The same iterations are measured as when the
    program runs alone, as many and after as many others: measures of unequal work mislead (Hilton,
    Eswaran and Roth, "FIESTA: a sample-balanced multi-program workload methodology", MoBS 2009),
    and in a JVM later iterations are faster.

    Parameters
    ----------
    offset_s, last_s : float
        Start of this runner, and of the last one, in seconds.
    """

    offset_s: float = 0.0
    last_s: float = 0.0

    def begin(self, load: Load) -> None:
        """Wait for the others, then for the start of this one's measured iterations."""
        self._wait_for_all("ready")
        started = time.monotonic()
        time.sleep(self.offset_s)
        while self.offset_s < self.last_s and time.monotonic() < started + self.last_s:
            load()

    def end(self, load: Load) -> None:
        """Run as load until all are done."""
        self._arrive("done")
        while not self._all_arrived("done"):
            load()

    def wait(self, number: int) -> None:
        """Do not wait: iterations are of unequal length."""


def barrier(value: Mapping[str, Any] | None) -> Barrier | None:
    """Build the barrier from its JSON in the runner's specification."""
    if value is None:
        return None
    where = Path(value["folder"]), value["side"], value["sides"]
    if value.get("overlap") is None:
        return Barrier(*where)
    offset_s, last_s = value["overlap"]
    return Overlap(*where, offset_s=offset_s, last_s=last_s)
