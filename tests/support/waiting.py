"""Waits for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether something became true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False
