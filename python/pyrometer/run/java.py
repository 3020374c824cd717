"""The Java that Spark's scripts would start: where it is, and whether it is new enough."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from pyrometer.errors import CapabilityError

OLDEST_JAVA = 11


def require_java(env: Mapping[str, str], needed: bool = True) -> str | None:
    """Find ``java`` as Spark's scripts do: in JAVA_HOME, else on PATH.

    Raises
    ------
    CapabilityError
        If it is needed and not there.
    """
    home = env.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if java.is_file() and os.access(java, os.X_OK):
            return new_enough(str(java))
        if needed:
            raise CapabilityError(
                f"JAVA_HOME is {home}, but there is no {java}",
                "set JAVA_HOME to a JDK 17 or newer, or unset it to use java from PATH",
            )
        return None
    found = shutil.which("java", path=env.get("PATH"))
    if found is None and needed:
        raise CapabilityError(
            "java is not installed: JAVA_HOME is not set and PATH holds no java",
            "apt-get install openjdk-17-jdk-headless   or set JAVA_HOME",
        )
    return new_enough(found)


def java_release(java: str) -> int | None:
    """Feature number of a Java, from the ``release`` file beside it; ``None`` without one."""
    try:
        text = (Path(os.path.realpath(java)).parents[1] / "release").read_text("utf-8", "replace")
    except OSError:
        return None
    found = re.search(r'JAVA_VERSION="(?:1\.)?([0-9]+)', text)
    return int(found[1]) if found else None


def new_enough(java: str | None) -> str | None:
    """Give a Java back that can be measured; one without a ``release`` file is let pass.

    Raises
    ------
    CapabilityError
        If it is too old.
    """
    # An older one does not know our options and would not start: the application would break.
    release = java_release(java) if java else None
    if release is not None and release < OLDEST_JAVA:
        raise CapabilityError(
            f"{java} is Java {release}: Pyrometer needs {OLDEST_JAVA} or newer",
            "set JAVA_HOME to a newer JDK (Spark 3.5 and 4 run on 17)",
        )
    return java
