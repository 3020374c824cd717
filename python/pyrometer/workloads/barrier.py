"""Where runners that run at once wait for each other.

Files in a folder tell who has come: whatever ends a runner, nobody waits for it once ``over`` is
there, and nobody goes on once the one that started it has ended. Only the standard library is used.
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
"""Does a runner's work once, without counting it."""


@dataclass(frozen=True)
class Barrier:
    """Iterations in step: each begins when all have come to it.

    Parameters
    ----------
    folder : Path
        Where files tell who has come.
    position : int
        Which of them this one is, from 0.
    count : int
        How many there are.
    parent : int
        Process that started this one.
    """

    folder: Path
    position: int
    count: int = 2
    parent: int = field(default_factory=os.getppid)

    def begin(self, load: Load) -> None:
        """Come to the first measured iteration."""

    def end(self, load: Load) -> None:
        """Come to the end of the last one."""

    def wait(self, number: int) -> None:
        """Come to iteration `number`, and wait for the others.

        Raises
        ------
        WorkloadError
            If another has ended.
        """
        self._meet(str(number))

    def leave(self) -> None:
        """Tell the others, and all who look, that nobody comes any more."""
        (self.folder / "over").touch()

    def _meet(self, word: str) -> None:
        self._come(word)
        while not self._all_came(word):
            time.sleep(LOOK_S)

    def _come(self, word: str) -> None:
        (self.folder / f"{word}-{self.position}").touch()

    def _all_came(self, word: str) -> bool:
        # Looked at first: who leaves after all have come does not call it off.
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
    """Each iteration that counts runs under load of all others, from its start to its end.

    All begin together, or so many seconds apart; who is first runs uncounted until the last has
    begun. Who is done runs on, uncounted, until all are: the shorter program is repeated until the
    longer ends (Tuck and Tullsen, "Initial observations of the simultaneous multithreading Pentium
    4 processor", PACT 2003). What counts is the same iterations, as many and after as many others,
    as of a program that runs alone: measures of unequal work mislead (Hilton, Eswaran and Roth,
    "FIESTA: a sample-balanced multi-program workload methodology", MoBS 2009), and an iteration in
    a JVM is faster the more went before.

    Parameters
    ----------
    offset_s, last_s : float
        When this one, and the last one, begins.
    """

    offset_s: float = 0.0
    last_s: float = 0.0

    def begin(self, load: Load) -> None:
        """Wait for the others, then for the moment at which this one begins to count."""
        self._meet("ready")
        met = time.monotonic()
        time.sleep(self.offset_s)
        while self.offset_s < self.last_s and time.monotonic() < met + self.last_s:
            load()

    def end(self, load: Load) -> None:
        """Be the load of those that are not done."""
        self._come("done")
        while not self._all_came("done"):
            load()

    def wait(self, number: int) -> None:
        """Wait for nobody: iterations are of unequal length."""


def barrier(value: Mapping[str, Any] | None) -> Barrier | None:
    """Make what a runner was told of those that run at once with it."""
    if value is None:
        return None
    where = Path(value["folder"]), value["side"], value["sides"]
    if value.get("overlap") is None:
        return Barrier(*where)
    offset_s, last_s = value["overlap"]
    return Overlap(*where, offset_s=offset_s, last_s=last_s)
