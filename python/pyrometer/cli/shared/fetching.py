"""Says how far the files of a run elsewhere have come, where that takes long."""

from __future__ import annotations

import time

from pyrometer.terminal.console import PLAIN_EVERY_S, err

FIRST_AFTER_S = 2.0


class Fetching:
    """Lines on stderr: one when a fetch takes long, then one every ten seconds.

    They stay, on a terminal too: a verb may show there what else it does.
    """

    def __init__(self) -> None:
        self._began: float | None = None
        self._printed = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Say how much of all has come, and how long the rest takes at this rate.

        Parameters
        ----------
        what : str
            The address.
        done, total : int
            Bytes; nothing has come at the beginning.
        """
        now = time.monotonic()
        if self._began is None or not done:
            self._began, self._printed = now, now + FIRST_AFTER_S - PLAIN_EVERY_S
            return
        if now - self._printed < PLAIN_EVERY_S or done >= total:
            return
        from pyrometer.core import units

        self._printed = now
        left_ns = 1e9 * (now - self._began) * (total - done) / done
        err().print(
            f"fetching {what}: {units.size(done)} of {units.size(total)},"
            f" about {units.duration(left_ns)} left",
            markup=False, soft_wrap=True,
        )  # fmt: skip
