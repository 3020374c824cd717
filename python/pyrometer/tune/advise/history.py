"""What an engine was told, and what it says: per configuration, and as the rows of a model."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from pyrometer.core.errors import UsageError
from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.advise.model import Trials
from pyrometer.tune.space.cube import features, key
from pyrometer.tune.space.space import Configuration, Space

EARLIER = "earlier:"
"""Earlier work is taken for a fidelity of its own: another machine or size, and as such alike."""

FAILED_COST = math.log(2)
"""A trial that came to nothing is taken for one that is at least twice the baseline."""


class History:
    """Observations in the order in which they were told; earlier work has blocks below 0.

    What is asked of configurations is about this tuning alone, but for :meth:`earlier`.
    """

    def __init__(self, seen: Iterable[Observation] = ()) -> None:
        """Begin with some."""
        self.seen = list(seen)

    def before(self, block: int) -> History:
        """Leave out what was seen in this block and later ones."""
        return History(one for one in self.seen if one.block < block)

    @property
    def _own(self) -> list[Observation]:
        return [one for one in self.seen if one.block >= 0 and not one.void]

    def without(self, fidelities: Collection[str]) -> History:
        """Leave out what was seen at some fidelities of this tuning."""
        if not fidelities:
            return self
        return History(one for one in self.seen if one.block < 0 or one.fidelity not in fidelities)

    def last_block(self) -> int | None:
        """Give the largest number of a block of this tuning; earlier work has numbers below 0."""
        return max((one.block for one in self.seen if one.block >= 0), default=None)

    def values(self, configuration: Configuration, fidelity: str = FULL) -> list[float]:
        """Give the values that a configuration reached and that count."""
        name = key(configuration)
        return [
            one.value
            for one in self._own
            if one.fidelity == fidelity
            and not one.censored
            and one.failed is None
            and one.value is not None
            and key(one.configuration) == name
        ]

    def known(self, fidelity: str | None = None) -> set[str]:
        """Give the keys of everything that was tried in this tuning, at a fidelity or at any."""
        return {key(one.configuration) for one in self._own if fidelity in (None, one.fidelity)}

    def asked(self) -> set[str]:
        """Give the keys of everything that was asked for, launched or not."""
        return {key(one.configuration) for one in self.seen if one.block >= 0}

    def promising(self) -> list[tuple[dict[str, str], str]]:
        """Give configurations that finished at a cheap fidelity, and which, and never in full."""
        bad, full = self.failed(), self.known(FULL)
        found = {
            key(one.configuration): (dict(one.configuration), one.fidelity)
            for one in self._own
            if one.fidelity != FULL and one.value is not None and not one.censored
        }
        return [one for name, one in found.items() if name not in bad | full]

    def repeats(self, fidelity: str) -> int:
        """Count trials of a fidelity that ran a configuration again."""
        names = [
            key(one.configuration)
            for one in self._own
            if one.fidelity == fidelity and one.value is not None and not one.censored
        ]
        return len(names) - len(set(names))

    def failed(self) -> set[str]:
        """Give the keys of what came to nothing at least once."""
        return {
            key(one.configuration) for one in self.seen if one.failed is not None and not one.void
        }

    def finished(self, fidelity: str = FULL) -> dict[str, dict[str, str]]:
        """Give configurations by key that finished, and never came to nothing."""
        bad = self.failed()
        return {
            key(one.configuration): dict(one.configuration)
            for one in self._own
            if one.fidelity == fidelity
            and one.value is not None
            and not one.censored
            and key(one.configuration) not in bad
        }

    def earlier(self) -> list[dict[str, str]]:
        """Give the configurations of earlier work that finished, each once."""
        found = {
            key(one.configuration): dict(one.configuration)
            for one in self.seen
            if one.block < 0 and one.failed is None
        }
        return list(found.values())

    def typical(self, configuration: Configuration, fidelity: str = FULL) -> float | None:
        """Give the geometric mean of what a configuration reached; ``None`` without any."""
        found = self.values(configuration, fidelity)
        return math.exp(statistics.fmean(map(math.log, found))) if found else None

    def differences(
        self, one: Configuration, other: Configuration, fidelity: str = FULL
    ) -> list[float]:
        """Give log value of one less that of the other, by each block that both ran in."""
        mine, theirs = (self._by_block(each, fidelity) for each in (one, other))
        return [
            statistics.fmean(mine[block]) - statistics.fmean(theirs[block])
            for block in sorted(mine.keys() & theirs.keys())
        ]

    def _by_block(self, configuration: Configuration, fidelity: str) -> dict[int, list[float]]:
        name, found = key(configuration), dict[int, list[float]]()
        for one in self._own:
            if one.value is None or one.censored or one.failed:
                continue
            if one.fidelity == fidelity and key(one.configuration) == name:
                found.setdefault(one.block, []).append(math.log(one.value))
        return found

    def trials(self, space: Space) -> Trials | None:
        """Give the rows of a model; ``None`` before a baseline or anything else has a value.

        Observations of factors or levels that the space does not have are left out.
        """
        baseline = self.typical({})
        rows, configurations, numbers = [], [], {FULL: 0}
        for one in self.seen:
            if one.void or not fits(space, one.configuration):
                continue
            value, censored = one.value, one.censored
            if one.failed is not None:
                reference = self.typical({}, one.fidelity) or baseline
                if reference is None:
                    continue
                value, censored = reference * math.exp(FAILED_COST), True
            if value is None or value <= 0:
                continue
            canary = math.log(one.canary) if one.canary else 0.0
            fidelity = one.fidelity if one.block >= 0 else EARLIER + one.fidelity
            number = numbers.setdefault(fidelity, len(numbers))
            rows.append((math.log(value), censored, one.block, number, canary))
            configurations.append(one.configuration)
        if not any(not row[1] for row in rows):
            return None
        values, censored_, blocks, fidelities, canaries = zip(*rows, strict=True)
        return Trials(
            features(space, configurations),
            np.array(values),
            np.array(censored_, bool),
            np.array(blocks, np.int64),
            np.array(fidelities, np.int64),
            np.array(canaries),
            tuple(numbers),
        )


def ranks(history: History, fidelity: str) -> tuple[list[float], list[float]]:
    """Give values of configurations at the full and at another fidelity, both over the baseline."""
    full, cheap = history.finished(), history.finished(fidelity)
    pairs: Sequence[tuple[float | None, float | None]] = [
        (history.typical(full[name]), history.typical(full[name], fidelity))
        for name in full
        if name in cheap
    ]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return [a for a, _ in known], [b for _, b in known]


def fits(space: Space, configuration: Configuration) -> bool:
    """Whether a space has all factors and levels of a configuration."""
    try:
        features(space, [configuration])
    except UsageError:
        return False
    return configuration.keys() <= {one.factor for one in space.knobs}


def fitting(space: Space, configuration: Configuration) -> dict[str, str]:
    """Give the levels of a configuration that a space has."""
    return {name: one for name, one in configuration.items() if fits(space, {name: one})}
