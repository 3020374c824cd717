"""Lowest and highest offset at any time that bounds and rates allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrometer.hosts.bounds import Bounds, Floats
from pyrometer.hosts.limits import TOLERANCE_NS
from pyrometer.hosts.rates import Rates


@dataclass(frozen=True)
class _Ceilings:
    """Ceilings from which the offset rises and to which it comes at limited rates."""

    at: Floats
    behind: Floats
    ahead: Floats
    rates: Rates

    @classmethod
    def of(cls, at: Floats, ceiling: Floats, rates: Rates) -> _Ceilings:
        rising = np.minimum.accumulate(ceiling - rates.high * at)
        coming = np.minimum.accumulate((ceiling - rates.low * at)[::-1])[::-1]
        return cls(
            at,
            np.concatenate([[np.inf], rising]),
            np.concatenate([coming, [np.inf]]),
            rates,
        )

    def __call__(self, when: Floats) -> Floats:
        behind = self.behind[np.searchsorted(self.at, when, "right")]
        ahead = self.ahead[np.searchsorted(self.at, when, "left")]
        highest: Floats = np.minimum(behind + self.rates.high * when, ahead + self.rates.low * when)
        return highest


class Envelope:
    """Every offset that keeps within bounds and rates lies in it, and both of its ends do so.

    It is the extension of McShane (1934) from the bounds to all times; for clocks of limited drift
    that of Blum and Thiele (Clock synchronization using packet streams).
    """

    def __init__(self, bounds: Bounds, rates: Rates) -> None:
        below = bounds.upside_down()
        self._high = _Ceilings.of(bounds.ceiling_at, bounds.ceiling, rates)
        self._negative = _Ceilings.of(below.ceiling_at, below.ceiling, rates.opposite())
        self.rates = rates

    def low(self, when: Floats) -> Floats:
        """Lowest offset; minus infinity where nothing limits it."""
        return -self._negative(when)

    def high(self, when: Floats) -> Floats:
        """Highest offset; infinity where nothing limits it."""
        return self._high(when)


def envelope(bounds: Bounds, rates: Rates | None) -> Envelope | None:
    """Lay the envelope; ``None`` if no offset satisfies all bounds."""
    if rates is None:
        return None
    found = Envelope(bounds, rates)
    fits = bool(np.all(bounds.floor <= found.high(bounds.floor_at) + TOLERANCE_NS))
    return found if fits else None
