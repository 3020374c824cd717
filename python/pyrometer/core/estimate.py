"""Estimate: no statistic travels without its interval."""

from __future__ import annotations

from pydantic import ConfigDict

from pyrometer.core.model import Model

LEVEL = 0.95
"""Confidence level of intervals, unless another is asked for."""


class Estimate(Model):
    """A value with its interval.

    Attributes
    ----------
    value, low, high : float or None
        Point and interval in the unit that the field's name says; ``None`` where
        it cannot be had.
    level : float
        Confidence level of the interval, for example 0.95.
    n : int
        Independent observations behind it.
    method : str
        How the interval was computed, for example ``"wilson"`` or ``"t"``.
    """

    model_config = ConfigDict(frozen=True)

    value: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    method: str

    def scaled(self, factor: float) -> Estimate:
        """Give it in another unit, or with another sign.

        Examples
        --------
        >>> Estimate(value=2.0, low=1.0, high=4.0, level=0.95, n=3, method="t").scaled(-1.0).low
        -4.0
        """
        ends = [None if end is None else end * factor for end in (self.low, self.high)]
        low, high = ends if factor >= 0 else ends[::-1]
        value = None if self.value is None else self.value * factor
        return self.model_copy(update={"value": value, "low": low, "high": high})
