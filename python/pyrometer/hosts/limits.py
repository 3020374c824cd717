"""What is assumed of two clocks: how far the rate of one may be from that of the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

PPM = 1e-6

TOLERANCE_NS = 1.0
"""Times are whole nanoseconds, and so much may be lost by rounding."""

DRIFT_PPM = 1000.0
"""NTP steers each of two clocks by at most 500 ppm: the limit of the kernel, and of RFC 5905."""


@dataclass(frozen=True)
class Limits:
    """Limits of the rate of one monotonic clock against another.

    Bounds hold for every pair of clocks within these limits, however they are slewed in between.

    Attributes
    ----------
    drift_ppm : float
        Furthest that the rate is from 1, at any moment.
    wander_ppm : float
        Furthest that the rate is from a constant that is not known; without end where only
        `drift_ppm` limits it, 0 where the rate is constant: then what is possible is the polygon
        of lines between two convex hulls.

    Raises
    ------
    ValueError
        If a limit is no number or below 0, or a clock could run backwards.
    """

    drift_ppm: float = DRIFT_PPM
    wander_ppm: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.drift_ppm < 1e6:
            raise ValueError(f"drift_ppm must be at least 0 and below 1e6, not {self.drift_ppm}")
        if not self.wander_ppm >= 0:
            raise ValueError(f"wander_ppm must be at least 0, not {self.wander_ppm}")


SLEWED = Limits()
"""Clocks that NTP may slew anyhow."""

STEADY = Limits(wander_ppm=0.0)
"""Clocks that nobody slews, at one temperature."""
