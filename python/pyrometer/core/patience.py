"""How long to wait for what takes moments: longer in a machine whose processor is emulated."""

from __future__ import annotations

import os
from collections.abc import Mapping

VARIABLE = "PYROMETER_PATIENCE"
"""Variable that says how many times as long; the jar and the runner see it, too."""
MOST = 1000


def patient(seconds: float, environment: Mapping[str, str] = os.environ) -> float:
    """Give how long to wait here for what is given this long on a processor.

    Examples
    --------
    >>> patient(2, {}), patient(2, {VARIABLE: "20"}), patient(2, {VARIABLE: "none"})
    (2.0, 40.0, 2.0)
    """
    try:
        times = int(environment.get(VARIABLE) or 1)
    except ValueError:
        times = 1
    return float(seconds * min(max(1, times), MOST))
