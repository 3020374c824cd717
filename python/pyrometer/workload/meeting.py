"""Where two runners wait for each other before each iteration, so that both run side by side.

Files in a folder tell who has come: whatever ends a runner, nobody waits for it once ``over`` is
there. Only the standard library is used.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from pyrometer.errors import WorkloadError

LOOK_S = 0.001


@dataclass(frozen=True)
class Meeting:
    """A folder, and which of the two sides (0 or 1) this one is."""

    folder: Path
    side: int

    def wait(self, number: int) -> None:
        """Come to iteration `number`, and wait for the other.

        Raises
        ------
        WorkloadError
            If the other has ended.
        """
        (self.folder / f"{number}-{self.side}").touch()
        other = self.folder / f"{number}-{1 - self.side}"
        while not other.exists():
            if (self.folder / "over").exists():
                raise WorkloadError("the other side has ended")
            time.sleep(LOOK_S)

    def leave(self) -> None:
        """Tell the other, and all who look, that nobody comes any more."""
        (self.folder / "over").touch()
