"""Words that the glossary has retired stand in no message, option, heading or page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
GLOSSARY = ROOT / "docs" / "glossary.md"


def retired_words() -> list[str]:
    """First column of the checked table: ``a, b*`` are two words, the second with any ending."""
    appendix = GLOSSARY.read_text(encoding="utf-8").split("## Retired words")[1]
    table = appendix.split("| retired | say |\n|---|---|\n")[1].split("\n\n")[0]
    cells = [row.strip("| ").split(" | ")[0] for row in table.splitlines()]
    return [word.strip() for cell in cells for word in cell.split(",")]


def retired_pattern() -> re.Pattern[str]:
    """Any retired word, as a whole word."""
    words = (
        re.escape(word).replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for word in retired_words()
    )
    return re.compile(rf"\b({'|'.join(words)})\b", re.IGNORECASE)


RETIRED = retired_pattern()


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a module that a user may read: all but docstrings, and docstrings of commands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and not (isinstance(node, ast.FunctionDef) and node.decorator_list and "cli" in path.parts)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and " " in text and id(node) not in documentation:
            yield node.lineno, text


def prose(page: str) -> Iterator[tuple[int, str]]:
    """Lines of a page without code."""
    fenced = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "`…`", line)


def test_the_glossary_names_words():
    assert {"unasked", "foretell*", "is told"} <= set(retired_words())
    assert RETIRED.search("What is foretelling? It is  told.")
    assert not RETIRED.search("cannot tell")


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
        if page != GLOSSARY and page.parent.name != "adr"
        for number, line in prose(page.read_text(encoding="utf-8"))
        if RETIRED.search(line)
    ]
    assert not found, "\n".join(found)


def test_the_front_end_does_so_too():
    modules = sorted((ROOT / "web" / "src").rglob("*.js"))
    assert len(modules) > 50
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in modules
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if RETIRED.search(line)
    ]
    assert not found, "\n".join(found)


def test_a_retired_word_is_found(tmp_path: Path):
    module = tmp_path / "module.py"
    module.write_text(
        '"""What is told here is prose."""\nHELP = "Where to write. Unasked: here."\n'
    )
    assert [line for line, text in texts(module) if RETIRED.search(text)] == [2]


def test_code_is_no_prose():
    page = "a `told` b\n```\nit is told\n```\nit is told\n"
    assert [number for number, line in prose(page) if RETIRED.search(line)] == [5]
