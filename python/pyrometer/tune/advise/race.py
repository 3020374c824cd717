"""A race: whether a challenger beats the incumbent, judged after every block that both ran in.

Looks are paid for by alpha spending (:mod:`pyrometer.statistics.sequential`), so a challenger that
is as good is not sent away, and one that is no better not taken, because somebody looked often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from pyrometer.statistics.distributions import t_tail
from pyrometer.statistics.sequential import nominal

Standing = Literal["ahead", "behind", "open"]

LOOKS = 5
ALPHA = 0.1
"""Risk of a wrong decision of one race; what is taken is confirmed by fresh trials anyway."""


def standing(differences: Sequence[float], noise: tuple[float, float] | None = None) -> Standing:
    """Judge a race.

    Parameters
    ----------
    differences : sequence of float
        Log value of the challenger less that of the incumbent, one a block that both ran in.
    noise : (float, float), optional
        Deviation of such a difference and its degrees of freedom, as all trials show it; without
        it that of the differences, of which it needs two.

    Examples
    --------
    >>> standing([-0.3, -0.28, -0.31]), standing([0.01, -0.02]), standing([0.3], (0.05, 20))
    ('ahead', 'open', 'behind')
    """
    count = min(len(differences), LOOKS)
    if not count:
        return "open"
    values = np.asarray(differences[:LOOKS], float)
    if noise is None:
        if count < 2:
            return "open"
        noise = float(values.std(ddof=1)), count - 1.0
    sd, freedom = max(noise[0], 1e-9), noise[1]
    return judged(float(values.mean()) / (sd / math.sqrt(count)), freedom, count)


def judged(statistic: float, freedom: float, look: int) -> Standing:
    """Judge a race by a t statistic at its so-manieth look, from 1 to :data:`LOOKS`.

    Examples
    --------
    >>> judged(-6.0, 20, 1), judged(2.0, 20, 1), judged(2.6, 20, 5)
    ('ahead', 'open', 'behind')
    """
    p = 2 * float(t_tail(abs(statistic), freedom))
    shares = tuple((at + 1) / LOOKS for at in range(LOOKS))
    if p >= nominal(shares, ALPHA, "pocock")[look - 1]:
        return "open"
    return "ahead" if statistic < 0 else "behind"
