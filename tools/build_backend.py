"""PEP 517 backend: stages the probe and the plugin jar into the package, then lets maturin build.

The wheel carries the Python package, the extension module, the static probe, the plugin jar and
the page of the report.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import maturin
from maturin import *  # noqa: F403

ROOT = Path(__file__).resolve().parent.parent


def _stage() -> None:
    """Build what the wheel bundles, unless the caller (make) has just done so."""
    if os.environ.get("PYROMETER_STAGED") != "1":
        subprocess.run(["make", "-s", "bundled"], cwd=ROOT, check=True)
    bundled = ROOT / "python" / "pyrometer" / "_bundled"
    for name in ("pyro-probe", "pyrometer-plugin.jar", "report-page.html"):
        if not (bundled / name).is_file():
            raise SystemExit(f"{bundled / name} is missing. Run: make bundled")


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel (PEP 517)."""
    _stage()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the editable wheel (PEP 660)."""
    _stage()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
