"""Troubleshooting: every heading is a message that the code still has, and none is there twice."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from pyrometer.summary.summary import every_rule

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^### (?P<heading>.+)\n\n(?P<text>(?:(?!^##).*\n)*)", re.MULTILINE)
ENTRIES = [(one["heading"], one["text"]) for one in ENTRY.finditer(PAGE)]
HEADINGS = [heading for heading, _ in ENTRIES]


@cache
def messages() -> list[str]:
    """Every string of the code, with "…" for what is put into it, docstrings left out."""
    found = []
    for path in (ROOT / "python" / "pyrometer").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (one.value if isinstance(one, ast.Constant) else "…" for one in node.values)
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Call):
                words = (one.value for one in node.args if isinstance(one, ast.Constant))
                found += [word for word in words if isinstance(word, str)]
    return found


@cache
def codes() -> set[str]:
    """Codes of every declared doubt."""
    declared = tomllib.loads((ROOT / "schema" / "doubts.toml").read_text())
    return declared.keys() - {"version"} | {rule.code for rule in every_rule()}


def test_there_are_entries_of_both_kinds() -> None:
    words = [heading.strip("`") for heading in HEADINGS]
    assert len(words) > 30
    assert len([word for word in words if word in codes()]) > 15
    assert len([word for word in words if " " in word]) > 10
    assert PAGE.count("\n### ") == len(words)


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_heading_is_a_message_of_the_code(heading: str) -> None:
    assert re.fullmatch(r"`[^`]+`", heading)
    words = heading.strip("`")
    if " " not in words:
        assert words in codes()
        return
    assert any(words.strip("… ").rstrip(": ") in message for message in messages()), words


@pytest.mark.parametrize(("heading", "text"), ENTRIES)
def test_an_entry_says_what_why_and_what_to_do(heading: str, text: str) -> None:
    starts = re.findall(r"^\*(What it means|Why|What to do)\.\*", text, re.MULTILINE)
    assert starts == ["What it means", "Why", "What to do"], heading


def test_each_anchor_is_unique() -> None:
    anchors = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in HEADINGS]
    anchors = [re.sub(r"[-\s]+", "-", anchor) for anchor in anchors]
    assert all(anchors)
    assert len(anchors) == len(set(anchors))
