"""What engines share that run each configuration once and keep the lowest value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from pyrometer.tune.advise.adviser import FULL, Incumbent, Observation, Suggestion
from pyrometer.tune.advise.belief import change_of
from pyrometer.tune.advise.history import History
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.space.cube import columns
from pyrometer.tune.space.space import Space


class Simple(ABC):
    """The baseline first, then what :meth:`propose` gives; believes the lowest mean it saw."""

    def __init__(self, space: Space) -> None:
        """Know nothing but the space."""
        self.space = space
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

    @abstractmethod
    def propose(self) -> tuple[Mapping[str, str], str] | None:
        """Give a configuration and why; ``None``: there is none left."""

    def tell(self, seen: Observation) -> None:
        """Take in what a trial showed."""
        self.history.seen.append(seen)

    def best(self) -> Incumbent | None:
        """Give the configuration with the lowest mean.

        How far it differs from the baseline is a surrogate's belief: one trial of each says
        nothing of the noise.
        """
        best, trials = self.lowest(), self.history.trials(self.space)
        if best is None or trials is None:
            return None
        found = Surrogate(columns(self.space), trials, [False] * len(self.space.knobs))
        change = change_of(self.space, found, best)
        return Incumbent(best, change, len(self.history.values(best)))

    def lowest(self) -> dict[str, str] | None:
        """Give the configuration with the lowest mean of those that finished."""
        pool = self.history.finished()
        means = {name: self.history.typical(one) for name, one in pool.items()}
        known = {name: mean for name, mean in means.items() if mean is not None}
        return pool[min(known, key=lambda one: known[one])] if known else None
