"""Commands that documents and messages tell people to type: verbs and options that are there.

Those in code blocks of documents also have the arguments that their verb needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from pyrometer.cli import main
from pyrometer.cli.shared.default_verb import DefaultVerb

ROOT = Path(__file__).parents[3]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sorted((ROOT / "python" / "pyrometer").rglob("*.py"))
# What follows belongs to the shell, or to the application.
_ENDS = re.compile(r"\s#\s|\s\|\s|&&|;|\s--(?=\s)")


def told(path: Path) -> Iterator[tuple[str, bool]]:
    """Commands in a document or in the strings of a module; whether they begin a line of it."""
    start = r'["`]' if path.suffix == ".py" else r"[`\n]"
    command = start + r'(?:\$ )?(pyrometer [a-z]+\b(?!:)[^\n`"]*)'
    for found in re.finditer(command, path.read_text()):
        for text in commands(found[1]):
            yield text, found[0].startswith("\n")


def commands(line: str) -> Iterator[str]:
    """Our commands of a line, those after ``&&`` too, without what belongs to others."""
    for part in line.split("&&"):
        if ours := re.match(r"\s*pyrometer (.*)", part):
            end = _ENDS.search(ours[1])
            words = ours[1][: end.start()] if end else ours[1].rstrip()
            # An application's command is an argument of ours.
            yield f"{words} COMMAND" if end and end[0].strip() == "--" else words


def mistakes(text: str, verbs: Any, whole: bool = False) -> list[str]:
    """Verbs and options of a command that do not exist; of a whole one also what is missing."""
    command, words = verbs, re.sub(r"'[^']*'", "TEXT", text).split()
    while words and hasattr(command, "get_command"):
        below = command.get_command(None, words[0])
        if below is not None:
            words = words[1:]
        elif isinstance(command, DefaultVerb):
            below = next(iter(command.commands.values()))
        else:
            return [words[0]]
        command = below
    known = {"--help"}.union(*((*one.opts, *one.secondary_opts) for one in command.params))
    asked = {word.partition("=")[0].rstrip("…,.)") for word in words}
    wrong = sorted(word for word in asked if re.match(r"--?[a-z]", word) and word not in known)
    return wrong + (missing(words, command) if whole else [])


def missing(words: list[str], command: Any) -> list[str]:
    """Arguments that a verb needs and that no word is left for."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    valued = {name for one in options if not one.is_flag for name in one.opts}
    given, left = 0, iter(words)
    for word in left:
        if word in valued:
            next(left, None)
        else:
            given += not word.startswith("-")
    return [one.name for one in arguments if one.required][given:]


@pytest.fixture(scope="module")
def verbs() -> Any:
    return typer.main.get_command(main.app)


def test_what_people_are_told_to_type_is_there(verbs: Any) -> None:
    found = [(path, *one) for path in (*DOCS, *SOURCES) for one in told(path)]
    assert len(found) > 150
    wrong = [
        f"{path.relative_to(ROOT)}: pyrometer {text}: {', '.join(lacks)}"
        for path, text, whole in found
        if (lacks := mistakes(text, verbs, whole))
    ]
    assert wrong == []


def test_a_wrong_command_is_seen(verbs: Any) -> None:
    assert mistakes("run --name x", verbs) == ["--name"]
    assert mistakes("experiment plans FILE", verbs) == ["plans"]
    assert mistakes("tune sort-text --name x", verbs) == ["--name"]


def test_a_missing_argument_is_seen(verbs: Any) -> None:
    assert mistakes("show --window measured", verbs, whole=True) == ["run"]
    assert mistakes("show RUN --window measured", verbs, whole=True) == []
    assert mistakes("show", verbs) == []


def test_each_command_of_a_line_is_looked_at() -> None:
    assert list(commands("pyrometer run tpch && pyrometer show  # again")) == ["run tpch", "show "]
    assert list(commands("pyrometer run --set a=1 -- app.sh x")) == ["run --set a=1 COMMAND"]
