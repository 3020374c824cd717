"""Commands that documents and messages tell people to type: verbs and options that are there."""

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


def told(path: Path) -> Iterator[str]:
    """Commands in a document or in the strings of a module."""
    start = r'["`]' if path.suffix == ".py" else r"[`\n]"
    command = start + r'(?:\$ )?pyrometer ([a-z]+\b(?!:)[^\n`"]*)'
    for found in re.finditer(command, path.read_text()):
        yield _ENDS.split(found[1])[0]


def mistakes(text: str, verbs: Any) -> list[str]:
    """Verbs and options of a command that do not exist."""
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
    return sorted(word for word in asked if re.match(r"--?[a-z]", word) and word not in known)


@pytest.fixture(scope="module")
def verbs() -> Any:
    return typer.main.get_command(main.app)


def test_what_people_are_told_to_type_is_there(verbs: Any) -> None:
    found = [(path, text) for path in (*DOCS, *SOURCES) for text in told(path)]
    assert len(found) > 150
    wrong = [
        f"{path.relative_to(ROOT)}: pyrometer {text}: {', '.join(lacks)}"
        for path, text in found
        if (lacks := mistakes(text, verbs))
    ]
    assert wrong == []


def test_a_wrong_command_is_seen(verbs: Any) -> None:
    assert mistakes("run --name x", verbs) == ["--name"]
    assert mistakes("experiment plans FILE", verbs) == ["plans"]
    assert mistakes("tune sort-text --name x", verbs) == ["--name"]
