"""What a user's command is: pure reading of its words, so that we know where options go."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

from pyrometer.core.errors import CommandNotExecutableError

Kind = Literal["submit", "python", "java", "other"]

# All of these end in Spark's launcher, which reads SPARK_SUBMIT_OPTS.
SPARK_SCRIPTS = ("spark-submit", "spark-shell", "spark-sql", "pyspark", "sparkR", "run-example")
# Their options may stand behind the application's words, which end those of all others.
_MIXED = ("spark-shell", "spark-sql")
_SWITCHES = frozenset(
    ("--help", "-h", "--load-spark-defaults", "--supervise", "--usage-error", "--verbose", "-v",
     "--version")
)  # fmt: skip
_JOINED = re.compile(r"--[^=]+=.+", re.DOTALL)
_PYTHON = re.compile(r"(python|pypy)[0-9.]*|ipython[0-9.]*")
_HEAP = re.compile(r"(?:-Xmx|-XX:MaxHeapSize=)(\w+)")
_PROPERTY = re.compile(r"-D(spark\.[^=]+)=(.*)")

_VALUED = frozenset(
    ("-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules", "--add-opens",
     "--add-exports", "-W", "-X")
)  # fmt: skip
_MAIN = ("-m", "-jar")
_SHELL = re.compile(r"(ba|da|k|z)?sh")
_TEXT = re.compile(r"-[A-Za-z]*c")
"""The option of a shell, or of Python, whose value is a program."""
_PROGRAMS = (".py", ".jar", ".sql", ".R", ".sh")

SETTING_OF = {
    "--master": "spark.master",
    "--deploy-mode": "spark.submit.deployMode",
    "--driver-memory": "spark.driver.memory",
    "--driver-cores": "spark.driver.cores",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--driver-class-path": "spark.driver.extraClassPath",
    "--driver-library-path": "spark.driver.extraLibraryPath",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances",
    "--total-executor-cores": "spark.cores.max",
    "--queue": "spark.yarn.queue",
    "--jars": "spark.jars",
}
"""Options of Spark's scripts that say a setting, and win over ``--conf`` with the same one."""


@dataclass(frozen=True)
class Command:
    """A command as the user gave it.

    Parameters
    ----------
    argv : tuple of str
        Its words.
    kind : {"submit", "python", "java", "other"}
        ``submit``: a script of Spark's; ``python``: PySpark by way of Python; ``java``: a JVM
        that we give options to; ``other``: anything else, which gets the environment only.
    master, deploy_mode : str or None
        As given on the command line of a Spark script.
    driver_memory : str or None
        ``--driver-memory`` or ``spark.driver.memory`` on the command line.
    properties_file : str or None
        ``--properties-file`` of a Spark script.
    settings : mapping of str to str
        Spark settings that its words say; the heap of ``java`` counts as the driver's memory.
    """

    argv: tuple[str, ...]
    kind: Kind
    master: str | None = None
    deploy_mode: str | None = None
    driver_memory: str | None = None
    properties_file: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def understand(argv: Sequence[str]) -> Command:
    """Read a command.

    Examples
    --------
    >>> understand(["spark-submit", "--master", "yarn", "app.py"]).master
    'yarn'
    >>> understand(["/usr/bin/python3.11", "app.py"]).kind
    'python'
    """
    name = Path(argv[0]).name
    if name in SPARK_SCRIPTS:
        own = argv[1:] if name in _MIXED else _before_application(argv[1:])
        settings = dict(_confs(own))
        for option, setting in SETTING_OF.items():
            if value := _option(own, option):
                settings[setting] = value
        return Command(
            tuple(argv),
            "submit",
            master=settings.get("spark.master"),
            deploy_mode=settings.get("spark.submit.deployMode"),
            driver_memory=settings.get("spark.driver.memory"),
            properties_file=_option(own, "--properties-file"),
            settings=settings,
        )
    if name == "java":
        return Command(tuple(argv), "java", settings=_of_java(argv[1:]))
    return Command(tuple(argv), "python" if _PYTHON.fullmatch(name) else "other")


def program(argv: Sequence[str]) -> str:
    """Name what a command runs, without options and arguments: a script, class or jar.

    Empty where only the text of a program says it, or a shell or interpreter is all that is known.

    Examples
    --------
    >>> program(["spark-submit", "--py-files", "lib.py", "jobs/daily.py", "2026-11-01"])
    'daily.py'
    >>> program(["java", "-cp", "a.jar", "org.Main", "1"]), program(["nice", "python", "-m", "etl"])
    ('org.Main', 'etl')
    >>> program(["bash", "-c", "cd jobs && python daily.py"]), program(["python", "-c", "run()"])
    ('daily.py', '')
    """
    kinds = (understand(argv[at:]).kind for at in range(len(argv)))
    at = next((at for at, kind in enumerate(kinds) if kind != "other"), None)
    if at is None:
        told = _told_to_shell(argv)
        if told is not None:
            return next(filter(None, map(program, told)), "")
        name = Path(next((word for word in argv if word.endswith(_PROGRAMS)), argv[0])).name
        return "" if _SHELL.fullmatch(name) else name
    words = argv[at + 1 :]
    if Path(argv[at]).name in SPARK_SCRIPTS:
        own = _before_application(words)
        named = (_option(own, name) for name in ("--class", "-f", "-i", "-e"))
        found = next(filter(None, [*named, *words[len(own) :]]), argv[at])
    else:
        of_python = _PYTHON.fullmatch(Path(argv[at]).name)
        first = 0
        while first < len(words) and words[first].startswith("-") and words[first] not in _MAIN:
            if of_python and _TEXT.fullmatch(words[first]):
                return ""
            first += 2 if words[first] in _VALUED else 1
        main = [word for word in words[first : first + 2] if word not in _MAIN]
        found = main[0] if main else ""
    return Path(found).name if found.endswith(_PROGRAMS) else found


def _told_to_shell(argv: Sequence[str]) -> list[list[str]] | None:
    """Give the commands in the text that a shell is given, each behind the shell's own name."""
    for at, word in enumerate(argv):
        if not _SHELL.fullmatch(Path(word).name):
            continue
        rest = iter(argv[at + 1 :])
        for option in rest:
            if _TEXT.fullmatch(option):
                return [[word, *command] for command in _commands(next(rest, ""))]
            if not option.startswith("-"):
                break
            if option.endswith("o"):  # as in -euo pipefail
                next(rest, None)
    return None


def _commands(text: str) -> list[list[str]]:
    """Split a shell's text at its operators; without the files that it sources."""
    words = shlex.shlex(text, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    words.commenters = ""
    found: list[list[str]] = [[]]
    try:
        for word in words:
            if word and set(word) <= set(words.punctuation_chars):
                found.append([])
            else:
                found[-1].append(word)
    except ValueError:  # an open quote
        return []
    return [one for one in found if one and one[0] not in (".", "source")]


def unreachable(command: Command) -> str | None:
    """Why the driver's JVM will not run under our eyes; ``None`` if it will."""
    if command.deploy_mode == "cluster":
        return "with deploy mode cluster the driver runs on another machine"
    return None


def with_java_options(argv: Sequence[str], options: Iterable[str]) -> list[str]:
    """Put JVM options right after ``java``, so that the user's own, which follow, win."""
    return [argv[0], *options, *argv[1:]]


def with_options(argv: Sequence[str], options: Iterable[str]) -> list[str]:
    """Put Spark options right after a Spark script's name."""
    return [argv[0], *options, *argv[1:]]


def with_last_options(argv: Sequence[str], options: Iterable[str]) -> list[str]:
    """Put Spark options behind those that a Spark script has, so that they win.

    Examples
    --------
    >>> with_last_options(["spark-submit", "-c", "spark.a=1", "a.py", "-c"], ["-c", "spark.a=2"])
    ['spark-submit', '-c', 'spark.a=1', '-c', 'spark.a=2', 'a.py', '-c']
    """
    at = 1 + len(_before_application(argv[1:]))
    return [*argv[:at], *options, *argv[at:]]


def with_settings(argv: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """Have a Spark script say these settings in place of what its words say of them.

    Examples
    --------
    >>> words = ["spark-submit", "--executor-memory", "1g", "-c", "spark.a=1", "a.py", "-c"]
    >>> with_settings(words, {"spark.a": "2", "spark.executor.memory": "3g"})
    ['spark-submit', '--conf', 'spark.a=2', '--executor-memory', '3g', 'a.py', '-c']
    """
    own = argv[1:] if Path(argv[0]).name in _MIXED else _before_application(argv[1:])
    kept: list[str] = []
    words = iter(own)
    for word in words:
        alone = not word.startswith("-") or word in _SWITCHES or bool(_JOINED.fullmatch(word))
        pair = [word] if alone else [word, *islice(words, 1)]
        said = {name for name, _ in _confs(pair)}
        said |= {name for option, name in SETTING_OF.items() if _option(pair, option) is not None}
        if not said & settings.keys():
            kept += pair
    ours: list[str] = []
    for name, value in settings.items():
        option = next((one for one, setting in SETTING_OF.items() if setting == name), None)
        ours += ["--conf", f"{name}={value}"] if option is None else [option, value]
    at = len(_before_application(kept))
    return [argv[0], *kept[:at], *ours, *kept[at:], *argv[1 + len(own) :]]


def setting_words(name: str, value: str) -> list[str]:
    """Say a setting to a Spark script, by the option of its own as well where it has one.

    Examples
    --------
    >>> setting_words("spark.a", "1"), setting_words("spark.executor.cores", "2")
    (['--conf', 'spark.a=1'], ['--conf', 'spark.executor.cores=2', '--executor-cores', '2'])
    """
    own = [word for option, one in SETTING_OF.items() if one == name for word in (option, value)]
    return ["--conf", f"{name}={value}", *own]


def shown(argv: Iterable[str]) -> str:
    """Write a command as one would type it."""
    return shlex.join(argv)


def find_program(name: str, spark_home: str | None, places: Iterable[Path]) -> str | None:
    """Absolute path of a program: in Spark's home if it is a Spark script, on PATH, in `places`.

    Raises
    ------
    CommandNotExecutableError
        If a path is given, and what is there is no program.
    """
    if os.sep in name:
        if not Path(name).exists():
            return None
        if os.access(name, os.X_OK) and Path(name).is_file():
            return name
        raise CommandNotExecutableError(
            f"{name} cannot be executed: {'a folder' if Path(name).is_dir() else 'no permission'}",
            "chmod +x, or name the interpreter first: python app.py",
        )
    folders: list[Path] = []
    if spark_home and name in SPARK_SCRIPTS:
        folders.append(Path(spark_home) / "bin")
    folders += [Path(entry) for entry in os.environ.get("PATH", os.defpath).split(os.pathsep)]
    if name in SPARK_SCRIPTS:
        folders += places
    for folder in folders:
        candidate = folder / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    return None


def conf_folder(command: Command, env: Mapping[str, str]) -> Path | None:
    """Give the folder of Spark's settings that a command reads; ``None`` where it is not known."""
    if env.get("SPARK_CONF_DIR"):
        return Path(env["SPARK_CONF_DIR"])
    if env.get("SPARK_HOME"):
        return Path(env["SPARK_HOME"], "conf")
    if command.kind != "submit":
        return None
    script = shutil.which(command.argv[0], path=env.get("PATH"))
    return Path(os.path.realpath(script)).parents[1] / "conf" if script else None


def _before_application(words: Sequence[str]) -> Sequence[str]:
    """Words that spark-submit reads as its own: up to the first that is no option and no value."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 1 if words[at] in _SWITCHES or _JOINED.fullmatch(words[at]) else 2
    return words[:at]


def _option(argv: Sequence[str], name: str) -> str | None:
    found = None
    for position, word in enumerate(argv):
        if word == name and position + 1 < len(argv):
            found = argv[position + 1]
        elif word.startswith(name + "="):
            found = word[len(name) + 1 :]
    return found


def _of_java(argv: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in argv:
        if heap := _HEAP.fullmatch(word):
            found["spark.driver.memory"] = heap[1]
        elif own := _PROPERTY.fullmatch(word):
            found[own[1]] = own[2]
    return found


def _confs(argv: Sequence[str]) -> Iterable[tuple[str, str]]:
    for position, word in enumerate(argv):
        text = None
        if word in ("--conf", "-c") and position + 1 < len(argv):
            text = argv[position + 1]
        elif word.startswith("--conf="):
            text = word[len("--conf=") :]
        if text and "=" in text:
            key, _, value = text.partition("=")
            yield key.strip(), value.strip()
