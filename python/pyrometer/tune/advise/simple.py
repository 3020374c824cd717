"""What engines share that run each configuration once and keep the lowest value."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pyrometer.tune.advise.adviser import FULL, Incumbent, Observation, Suggestion
from pyrometer.tune.advise.history import History


class Simple:
    """The baseline first, then what :meth:`propose` gives; believes the lowest mean it saw.

    There is no interval: one trial of each says nothing of the noise.
    """

    def __init__(self) -> None:
        """Know nothing."""
        self.history = History()
        self._issued = 0

    def ask(self) -> Suggestion | None:
        """Give the next trial."""
        if not self.history.values({}) and not self._issued:
            self._issued += 1
            return Suggestion({}, FULL, 0, why="baseline")
        found = self.propose()
        if found is None:
            return None
        return Suggestion(found[0], FULL, 0, why=found[1])

    def propose(self) -> tuple[Mapping[str, str], str] | None:
        """Give a configuration and why; ``None``: there is none left."""
        raise NotImplementedError

    def tell(self, seen: Observation) -> None:
        """Take in what a trial showed."""
        self.history.seen.append(seen)

    def best(self) -> Incumbent | None:
        """Give the configuration with the lowest mean."""
        pool = self.history.finished()
        means = {name: self.history.typical(one) for name, one in pool.items()}
        known = {name: mean for name, mean in means.items() if mean is not None}
        if not known:
            return None
        name = min(known, key=lambda one: known[one])
        baseline = self.history.typical({})
        change = math.nan if baseline is None else known[name] / baseline - 1
        count = len(self.history.values(pool[name]))
        return Incumbent(pool[name], (change, -1.0, math.inf), count)
