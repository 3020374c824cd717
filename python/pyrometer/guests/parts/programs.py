"""Where programs of this host begin that a machine needs: shell, Python, Java, Spark, ourselves."""

from __future__ import annotations

import glob
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from pyrometer.core.errors import CapabilityError

SYSTEM = (
    "/bin/bash", "/bin/sh", "/usr/bin/env", "/lib64/ld-linux-x86-64.so.2", "/etc/ld.so.cache",
    "/etc/localtime", "/usr/lib/locale/C.utf8",
)  # fmt: skip
"""Spark's scripts want bash; what is not there is done by busybox, or without."""

OPENED_LATER = (
    "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1", "libnss_files.so.2", "libresolv.so.2",
    "libdl.so.2", "libpthread.so.0", "librt.so.1", "libm.so.6",
)  # fmt: skip
"""Libraries that programs open while they run, or that lie in jars and need them."""

_ASK = """
import json, sys
print(json.dumps([sys.executable, sys.prefix, sys.base_prefix, [p for p in sys.path if p]]))
"""


@dataclass(frozen=True)
class Python:
    """Where a Python lies.

    Attributes
    ----------
    executable, prefix, base_prefix : str
        As in ``sys``.
    path : tuple of str
        Where it looks for modules.
    """

    executable: str
    prefix: str
    base_prefix: str
    path: tuple[str, ...]

    @property
    def roots(self) -> list[str]:
        """Files and folders that it needs; of its own folders alone those with modules."""
        own = glob.glob(glob.escape(f"{self.base_prefix}/lib/") + "libpython3*.so*")
        return [self.executable, f"{self.prefix}/pyvenv.cfg", *own, *self.path]


def python(executable: str) -> Python:
    """Ask a Python where it lies.

    Raises
    ------
    CapabilityError
        If it does not start.
    """
    try:
        done = subprocess.run(
            [executable, "-c", _ASK], capture_output=True, text=True, check=True, timeout=60,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise CapabilityError(f"{executable} does not start: {error}") from error
    return Python(found[0], found[1], found[2], tuple(found[3]))


def java_home(java: str) -> str:
    """Home of a Java, by its program.

    Examples
    --------
    >>> java_home("/opt/jdk/bin/java")
    '/opt/jdk'
    """
    return os.path.dirname(os.path.dirname(os.path.realpath(java)))


def parted(paths: Sequence[str], package: str) -> tuple[list[str], list[str]]:
    """Part roots in those that stay as they are, and our own package, which may be worked on.

    Examples
    --------
    >>> parted(["/co/python", "/venv/lib"], "/co/python/pyrometer")
    (['/venv/lib'], ['/co/python/pyrometer'])
    >>> parted(["/venv/site-packages"], "/venv/site-packages/pyrometer")
    (['/venv/site-packages'], [])
    """
    above = os.path.dirname(package)
    if os.path.basename(above) in ("site-packages", "dist-packages"):
        return list(paths), []
    return [one for one in paths if os.path.realpath(one) != os.path.realpath(above)], [package]
