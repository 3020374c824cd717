"""Pyrometer: a performance laboratory for Apache Spark."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "errors", "measure", "repeat"]


def __getattr__(name: str) -> Any:
    """Import the Python API when it is first used: values need none of what it needs."""
    if name in ("measure", "repeat"):
        return getattr(import_module("pyrometer.orchestrator.session"), name)
    if name == "errors":
        return import_module("pyrometer.core.errors")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
