"""Random search: the peer that every engine has to beat (Bergstra and Bengio 2012)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pyrometer.tune.advise.simple import Simple
from pyrometer.tune.space.cube import draw, key
from pyrometer.tune.space.space import Space

TRIES = 20


class RandomSearch(Simple):
    """Draws configurations evenly from the unit cube."""

    def __init__(self, space: Space, *, seed: int = 0) -> None:
        """Make one; the same seed draws the same."""
        super().__init__(space)
        self._seed = seed

    def propose(self) -> tuple[Mapping[str, str], str] | None:
        """Draw one that was not tried."""
        known = self.history.asked() | {""}
        rng = np.random.default_rng([self._seed, len(self.history.seen)])
        for _ in range(TRIES):
            found = draw(self.space, rng)
            if key(found) not in known:
                return found, "drawn"
        return None
