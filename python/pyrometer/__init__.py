"""Pyrometer: a performance laboratory for Apache Spark."""

from __future__ import annotations

__version__ = "0.1.0"

from pyrometer.measure import measure

__all__ = ["__version__", "measure"]
