"""Where kernels and disks of machines are kept between trials."""

from __future__ import annotations

from pathlib import Path

from pyrometer.workloads.data_cache import default_root


def cache_root() -> Path:
    """Folder of machines in the user's cache."""
    return default_root() / "guests"
