"""Words that the glossary has retired stand in no message, option or heading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
RETIRED = re.compile(
    r"\b(unasked|fore(tell|told)\w*|anew|meeting|(tell|tells|told) (them |it )?(apart|again|alone)"
    r"|can(not)? be told|(is|are) told|(does|do) not tell|would tell)\b",
    re.IGNORECASE,
)
"""See docs/glossary.md, "Words we no longer use"."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a module that a user may read: all but docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and " " in text and id(node) not in documentation:
            yield node.lineno, text


def test_messages_use_the_words_of_the_glossary():
    modules = sorted((ROOT / "python" / "pyrometer").rglob("*.py"))
    assert len(modules) > 100
    found = [
        f"{path.relative_to(ROOT)}:{line}: {' '.join(text.split())}"
        for path in modules
        for line, text in texts(path)
        if RETIRED.search(text) and not re.search(r"\bSELECT\b|\bCASE WHEN\b", text)
    ]
    assert not found, "\n".join(found)


def test_declarations_and_documentation_do_so_too():
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "schema").glob("*.toml"), ROOT / "README.md"]
    assert len(pages) > 50
    found = [
        f"{page.relative_to(ROOT)}:{number}: {line.strip()}"
        for page in pages
        if page.name != "glossary.md"
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"\b(unasked|fore(tell|told)|anew)\b", line, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


def test_a_retired_word_is_found(tmp_path: Path):
    module = tmp_path / "module.py"
    module.write_text('"""Told apart here is prose."""\nHELP = "Where to write. Unasked: here."\n')
    assert [line for line, text in texts(module) if RETIRED.search(text)] == [2]
