"""Where the parts that are not Python lie: the probe binary and the jars.

They lie in ``pyrometer/_bundled``: in an installed package they came with the wheel, in a checkout
``make setup`` built them there. Their versions must be the package's own.
"""

from __future__ import annotations

import os
import zipfile
from functools import cache
from pathlib import Path

from pyrometer import __version__
from pyrometer.core.errors import CapabilityError
from pyrometer.core.installation import reinstall

BUNDLED = Path(__file__).parent / "_bundled"


def probe_binary() -> Path:
    """Path of ``pyro-probe``, checked to be there and executable.

    Raises
    ------
    CapabilityError
        If it is missing or may not be executed.
    """
    path = BUNDLED / "pyro-probe"
    if not path.is_file():
        raise CapabilityError(f"the probe {path} is missing", reinstall())
    if not os.access(path, os.X_OK):
        raise CapabilityError(f"the probe {path} may not be executed", f"chmod +x {path}")
    return path


def canary_command() -> tuple[str, ...]:
    """Give the command that measures a canary.

    Raises
    ------
    CapabilityError
        If the probe is missing or may not be executed.
    """
    return (str(probe_binary()), "canary", "--json")


@cache
def plugin_jar() -> Path:
    """Path of ``pyrometer-plugin.jar``, checked to be there and of our version.

    Raises
    ------
    CapabilityError
        If it is missing, no jar, or of another version.
    """
    return _jar("plugin", "the plugin")


@cache
def workloads_jar() -> Path:
    """Path of ``pyrometer-workloads.jar`` (programs in the JVM), checked like the plugin's.

    Raises
    ------
    CapabilityError
        If it is missing, no jar, or of another version.
    """
    return _jar("workloads", "the workloads' jar")


def _jar(name: str, what: str) -> Path:
    path = BUNDLED / f"pyrometer-{name}.jar"
    if not path.is_file():
        raise CapabilityError(f"{what} {path} is missing", reinstall())
    check_version(f"{what} {path}", jar_version(path))
    return path


def jar_version(path: Path) -> str | None:
    """``Implementation-Version`` of a jar; ``None`` if it has none.

    Raises
    ------
    CapabilityError
        If it is no readable jar.
    """
    try:
        with zipfile.ZipFile(path) as jar:
            manifest = jar.read("META-INF/MANIFEST.MF").decode("utf-8", "replace")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise CapabilityError(f"{path} is not a readable jar: {error}", reinstall()) from error
    for line in manifest.splitlines():
        name, _, value = line.partition(":")
        if name == "Implementation-Version":
            return value.strip()
    return None


def check_version(what: str, version: str | None) -> None:
    """Compare the version of a part with the package's.

    Raises
    ------
    CapabilityError
        If they differ.

    Examples
    --------
    >>> check_version("the probe", __version__)
    >>> check_version("the probe", "0.0.0")
    Traceback (most recent call last):
    ...
    pyrometer.core.errors.CapabilityError: the probe is version 0.0.0, the package 0.1.0
    """
    if version != __version__:
        raise CapabilityError(
            f"{what} is version {version or 'unknown'}, the package {__version__}", reinstall()
        )
