"""How many examples a property is tried on that makes a run, or starts something, for each."""

from __future__ import annotations

import os


def examples(usual: int, thorough: int) -> int:
    """Give the usual number, or that of `make test-all` where PYROMETER_THOROUGH is set."""
    return thorough if os.environ.get("PYROMETER_THOROUGH") else usual
