"""Pyrometer: a performance laboratory for Apache Spark."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "measure"]


def __getattr__(name: str) -> Any:
    """Find ``measure`` when it is first asked for: the values need none of what it needs."""
    if name == "measure":
        return import_module("pyrometer.live").measure
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
