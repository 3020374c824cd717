"""What of a command lies in its machine: its program with all that this needs, and its files."""

from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyrometer.collect.launch.command import Command, understand
from pyrometer.collect.launch.launch import program_of
from pyrometer.guests import job
from pyrometer.guests.parts import programs
from pyrometer.trial.factors import Level

PYTHONS = ("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON")
"""Variables that name the Python of PySpark, in the order in which the driver reads them."""

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - nothing is written there
_CLASS_PATHS = (
    "-cp", "-classpath", "--class-path", "-p", "--module-path", "--driver-class-path",
)  # fmt: skip
_READ = (*job.SETTINGS, "CLASSPATH", "SPARK_DIST_CLASSPATH")
"""Variables whose folders are read, whatever they are."""
_WRITTEN = ("spark.local.dir", "java.io.tmpdir")
"""Options whose folders are only written to: a machine has its own."""
_FILE = re.compile(r"^file:(//)?")
_AGENT = re.compile("-(?:javaagent|agentpath):([^=]+)=?")
_PARTS = re.compile(r",|\s+(?=-)")
"""Between the parts of a list, and before each further option in a word that holds several."""
_BETWEEN = re.compile("[:#]")
"""Between files of a class path, and before the name that an archive is given."""


@dataclass(frozen=True)
class CommandFiles:
    """What of a command goes into a machine.

    Attributes
    ----------
    programs : tuple of str
        Spark, Java and Pythons: what seldom changes.
    data : tuple of str
        The program itself, and the files and folders that the command and its environment name.
    too_wide : tuple of str
        Folders that they name and that are not taken whole: `too_wide`.
    """

    programs: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    too_wide: tuple[str, ...] = ()


def files_of_command(
    argv: Sequence[str], environment: Mapping[str, str], treatment: Mapping[str, Level]
) -> CommandFiles:
    """Find what of a command is here.

    Parameters
    ----------
    argv : sequence of str
        Its words.
    environment : mapping
        What it is started with.
    treatment : mapping
        Levels of its trial.

    Raises
    ------
    UsageError, CapabilityError
        If its program is not here or cannot be executed, or a Python of it does not start.
    """
    command, env = understand(argv), dict(environment)
    program = os.path.abspath(program_of(command, env, treatment))
    words, wide = files_named(argv[1:], env)
    data = [program, *words]
    roots: list[str] = []
    if command.kind == "submit" and not env.get("SPARK_HOME"):
        roots += _spark_of(program)
    if command.kind == "java":
        roots.append(programs.java_home(program))
    pythons = [path for path in data if _is_python(path) and os.path.isfile(path)]
    pythons += [*_first_line(program), *pythons_of(env)]
    if not pythons and _wants_python(command, program):
        pythons.append("python3")
    roots += roots_of(pythons, env)
    return CommandFiles(tuple(dict.fromkeys(roots)), tuple(dict.fromkeys(data)), tuple(wide))


def files_named(
    words: Sequence[str], environment: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Find the files and folders that words and variables name, and apart those not taken whole."""
    taken: list[str] = []
    wide: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        for path in named(word):
            # What stands on a class path is read, whatever it is.
            read = before in _CLASS_PATHS or not too_wide(path, environment)
            (taken if read else wide).append(path)
    for variable, text in job.naming_files(environment).items():
        for word in _words(text):
            for path in named(word):
                read = variable in _READ or not too_wide(path, environment)
                (taken if read else wide).append(path)
    return list(dict.fromkeys(taken)), list(dict.fromkeys(wide))


def too_wide(path: str, environment: Mapping[str, str]) -> bool:
    """Whether a folder is one of those that options name to write there, and hold everything else.

    The current one, the user's own, those for temporary files, and what is above the latter two.
    """
    real = os.path.realpath(path)
    named = (environment.get("HOME") or "~", *TEMPORARY, environment.get("TMPDIR") or TEMPORARY[0])
    others = [os.path.realpath(os.path.expanduser(one)) for one in named]
    return real == os.path.realpath(".") or any(
        one == real or one.startswith(f"{real}/") for one in others
    )


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # A quote that is not closed.
        return text.split()


def pythons_of(environment: Mapping[str, str]) -> list[str]:
    """Pythons that PySpark is told to use."""
    return [environment[name] for name in PYTHONS if environment.get(name)]


def roots_of(pythons: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Files and folders that Pythons need, by path or by name on PATH; not those of our own.

    Raises
    ------
    CapabilityError
        If one of them does not start.
    """
    found = [shutil.which(one, path=environment.get("PATH")) for one in pythons]
    others = [os.path.abspath(one) for one in found if one and one != sys.executable]
    return [root for one in others for root in (one, *programs.python(one).roots)]


def named(word: str) -> list[str]:
    """Files and folders here that a word of a command names: itself, in a list or in an option.

    Examples
    --------
    >>> named("--files=/bin/sh,/none"), named("file:/bin/sh#shell"), named("s3a://bin/sh")
    (['/bin/sh'], ['/bin/sh'], [])
    >>> named("-javaagent:/bin/sh=8080:/bin/cat")
    ['/bin/sh', '/bin/cat']
    """
    parts = _PARTS.split(word)
    return _there(word) or [path for part in parts for path in _of_part(part)]


def _of_part(part: str) -> list[str]:
    rest = part
    while not (found := _there(rest)):
        if agent := _AGENT.match(rest):
            return [*_there(agent[1]), *_of_part(rest[agent.end() :])]
        if "=" not in rest:
            break
        option, _, rest = rest.partition("=")
        if option.endswith(_WRITTEN):
            return []
    if found or "://" in rest.removeprefix("file://"):
        return found
    return [path for piece in _BETWEEN.split(rest) for path in _there(piece)]


def _there(text: str) -> list[str]:
    path = _FILE.sub("", text)
    found = [path] if os.path.exists(path) else sorted(glob.glob(path))
    # A machine has a root of its own.
    return [os.path.abspath(one) for one in found if one.strip("/")]


def _spark_of(program: str) -> list[str]:
    """Home of a script of Spark's; of one that pip installed, what lies beside it."""
    home = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    if os.path.isdir(os.path.join(home, "jars")):
        return [home]
    return sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(program)), "*spark*")))


def _is_python(path: str) -> bool:
    return understand([path]).kind == "python"


def _first_line(program: str) -> list[str]:
    """Python that runs a script, by its first line."""
    try:
        with open(program, "rb") as file:
            first = file.readline(1024)
    except OSError:
        return []
    words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = words[1:]
    return words[:1] if words and _is_python(words[0]) else []


def _wants_python(command: Command, program: str) -> bool:
    """Whether Spark's scripts will start the Python that stands first on PATH."""
    if command.kind != "submit":
        return False
    asks = os.path.join(os.path.dirname(program), "find_spark_home.py")
    applications = any(word.endswith(".py") for word in command.argv[1:])
    return applications or os.path.basename(program) == "pyspark" or os.path.exists(asks)
