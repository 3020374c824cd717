"""Every Java that is installed on this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pyrometer.collect.launch.java import java_release

_LEFT_OUT = pytest.mark.skip("not installed: java. Install: apt-get install default-jdk-headless")
NO_JAVA = [pytest.param(None, id="none", marks=_LEFT_OUT)]
"""Stands for them where there is none: a test of each Java is then skipped."""


def javas(folder: Path = Path("/usr/lib/jvm")) -> list[Path]:
    """Those in a folder, the newest last; where there is none, the one on PATH, if any."""
    found = {path.resolve() for path in folder.glob("*/bin/java")}
    if not found:
        found = {Path(java).resolve() for java in [shutil.which("java")] if java}
    return sorted(found, key=lambda java: (java_release(str(java)) or 0, java))
