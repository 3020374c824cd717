"""Pyrometer: a performance laboratory for Apache Spark."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "measure", "repeat"]


def __getattr__(name: str) -> Any:
    """Find ``measure`` and ``repeat`` when first asked for: values need none of what they need."""
    if name == "measure":
        return import_module("pyrometer.orchestrator.live").measure
    if name == "repeat":
        return import_module("pyrometer.orchestrator.repeat").repeat
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
