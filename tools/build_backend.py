"""PEP 517 backend: stages the probe and the jars into the package, then lets maturin build.

The wheel carries the Python package, the extension module, the static probe, the jars (plugin,
workloads) and the page of the report.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maturin
from maturin import *  # noqa: F403

ROOT = Path(__file__).resolve().parent.parent


BUNDLED = ROOT / "python" / "pyrometer" / "_bundled"


@contextmanager
def _staged() -> Iterator[None]:
    """Build what the wheel bundles, unless make has just done so, and lend it the declarations.

    A checkout reads ``schema/`` and ``studies/`` itself, so the copies go again after the build.
    """
    if os.environ.get("PYROMETER_STAGED") != "1":
        subprocess.run(["make", "-s", "bundled"], cwd=ROOT, check=True)
    for name in (
        "pyro-probe",
        "pyrometer-plugin.jar",
        "pyrometer-workloads.jar",
        "report-page.html",
    ):
        if not (BUNDLED / name).is_file():
            raise SystemExit(f"{BUNDLED / name} is missing. Run: make bundled")
    lent = ("schema", "studies")
    for name in lent:
        shutil.rmtree(BUNDLED / name, ignore_errors=True)
        shutil.copytree(ROOT / name, BUNDLED / name)
    try:
        yield
    finally:
        for name in lent:
            shutil.rmtree(BUNDLED / name)


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel (PEP 517)."""
    with _staged():
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
