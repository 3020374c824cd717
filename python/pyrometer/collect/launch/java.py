"""The Java that will run: where Spark's scripts find it, and what of ours it can be given."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from pyrometer.collect.launch.command import Command, conf_folder
from pyrometer.core.errors import CapabilityError
from pyrometer.core.patience import patient

OLDEST_JAVA = 11

INSTALL_JAVA = (
    "set JAVA_HOME to a JDK 17 or newer; as root, apt-get install openjdk-17-jdk-headless brings"
    " one, or openjdk-21-jdk-headless where there is no 17"
)

MODULES = ("java.instrument", "java.management", "jdk.management")
"""Modules that the agent needs; a Java may have been linked without them."""

JVM_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Variables in which a JVM looks for options itself."""

_ARCHIVE = re.compile(
    r"-XX:(?:ArchiveClassesAtExit=|\+AutoCreateSharedArchive\b|AOT(?!Mode=off)\w*=)|-Xshare:dump\b"
)
# Flags and numbers only: what names a file, a command or a wait may do more than be understood.
_HARMLESS = re.compile(
    r"-XX:[+-](?!PauseAtStartup|AlwaysPreTouch|AutoCreateSharedArchive|RecordDynamicDumpInfo)\w+"
    r"|-XX:\w+=\d+(?:\.\d+)?[kKmMgGtT]?"
    r"|-X(?:int|comp|mixed|batch|m[ns]\d+[kKmMgG]?|ss\d+[kKmMgG]?)"
)
_NO_START = ("Error: Could not create", "Error occurred during initialization")
_FLAG = re.compile(r"""(?<![\w:])-XX:[^\s"',]+""")


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
            return str(java)
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
            INSTALL_JAVA,
        )
    return found


def java_of(command: Command | None, env: Mapping[str, str], needed: bool = True) -> str | None:
    """Find the Java that a command will start; ``None`` where that cannot be said.

    Parameters
    ----------
    command : Command or None
        The command; ``None``: a built-in workload.
    env : mapping
        Its environment.
    needed : bool
        Whether there must be one.

    Raises
    ------
    CapabilityError
        If it is needed and not there.
    """
    if command is not None and command.kind == "java":
        return shutil.which(command.argv[0], path=env.get("PATH"))
    home = spark_env_home(command, env)
    return require_java({**env, "JAVA_HOME": home} if home else env, needed)


def spark_env_home(command: Command | None, env: Mapping[str, str]) -> str | None:
    """Give the JAVA_HOME that ``spark-env.sh`` sets, which Spark's scripts read; else ``None``."""
    folder = None if command is None else conf_folder(command, env)
    if folder is None or env.get("SPARK_ENV_LOADED"):
        return None
    return _sourced(folder / "spark-env.sh", tuple(sorted(env.items())))


@cache
def _sourced(file: Path, env: tuple[tuple[str, str], ...]) -> str | None:
    try:
        if b"JAVA_HOME" not in file.read_bytes():
            return None
        script = 'set -a; . "$1" >/dev/null 2>&1; printf "%s" "$JAVA_HOME"'
        done = subprocess.run(
            ["bash", "-c", script, "bash", file],
            env={**dict(env), "SPARK_CONF_DIR": str(file.parent)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patient(10),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    home = done.stdout.strip()
    return home if home and home != dict(env).get("JAVA_HOME") else None


def java_release(java: str) -> int | None:
    """Feature number of a Java, from the ``release`` file in its home; ``None`` without one."""
    found = re.match(r"(?:1\.)?([0-9]+)", java_version(java) or "")
    return int(found[1]) if found else None


def java_version(java: str) -> str | None:
    """Version of a Java, from the ``release`` file in its home; ``None`` without one."""
    found = re.search(r'JAVA_VERSION="([^"]+)"', _release_file(java))
    return found[1] if found else None


def new_enough(java: str | None) -> str | None:
    """Give a Java back that can be measured; one without a ``release`` file is let pass.

    Raises
    ------
    CapabilityError
        If it is too old.
    """
    release = java_release(java) if java else None
    if release is not None and release < OLDEST_JAVA:
        raise CapabilityError(
            f"{java} is Java {release}: Pyrometer needs {OLDEST_JAVA} or newer",
            "set JAVA_HOME to a newer JDK (Spark 3.5 and 4 run on 17)",
        )
    return java


def unfit(java: str | None, said: Iterable[str], *, guessed: bool = False) -> str | None:
    """Say why a JVM would not start, or not end well, with the agent; ``None`` if it will.

    Parameters
    ----------
    java : str or None
        The Java, where it is known.
    said : iterable of str
        All that says something of its options.
    guessed : bool
        Whether the command may start another Java: an old one starts with the agent as well, which
        then does nothing.

    Examples
    --------
    >>> unfit(None, ["-Xint -XX:AOTCache=app.aot"])
    'an archive of classes cannot be made or used beside an agent (-XX:AOTCache=)'
    """
    release = java_release(java) if java else None
    if release is not None and release < OLDEST_JAVA and not guessed:
        return f"{java} is Java {release}, and the agent needs {OLDEST_JAVA} or newer"
    listed = re.search(r'^MODULES="([^"]*)"', _release_file(java) if java else "", re.MULTILINE)
    missing = [one for one in MODULES if listed and one not in listed[1].split()]
    if missing:
        return f"{java} was linked without {', '.join(missing)}"
    found = next(filter(None, map(_ARCHIVE.search, said)), None)
    if found is not None:
        return f"an archive of classes cannot be made or used beside an agent ({found[0]})"
    return None


def _release_file(java: str) -> str:
    try:
        return (Path(os.path.realpath(java)).parents[1] / "release").read_text("utf-8", "replace")
    except (OSError, IndexError):
        return ""


def contradicted(java: str, ours: Sequence[str], said: Iterable[str]) -> str | None:
    """Ask a Java whether it starts with our options added to those of the application.

    Only flags and numbers are tried: nothing is written, loaded or waited for.

    Returns
    -------
    str or None
        The JVM's words; ``None`` if it starts, or would not start without ours either.
    """
    theirs = [word for text in said for word in _FLAG.findall(text) if _HARMLESS.fullmatch(word)]
    tried = tuple(word for word in ours if _HARMLESS.fullmatch(word))
    why = refused(java, (*tried, *theirs)) if tried else None
    return why if why is not None and refused(java, tuple(theirs)) is None else None


@cache
def refused(java: str, options: tuple[str, ...]) -> str | None:
    """Why a Java does not start with these options, in its own words; ``None`` if it does."""
    try:
        done = subprocess.run(
            [java, *options, "-version"],
            # What these say may be more than flags; flags are among the options.
            env={name: value for name, value in os.environ.items() if name not in JVM_VARIABLES},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patient(30),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"java -version: {error}"
    if done.returncode == 0:
        return None
    lines = [one for one in (done.stderr + done.stdout).splitlines() if one.strip()]
    # Which says what it objects to; most, and not all, only after that it does not start.
    specific = [one for one in lines if not one.startswith(_NO_START)]
    return f"java {' '.join(options)}: {(specific or lines or ['refused'])[0].strip()}"
