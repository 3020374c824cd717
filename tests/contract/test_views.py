"""Temporary tables that modules share in SQL have an owner and declared columns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrometer.core import schema

PACKAGE = Path(__file__).parents[2] / "python" / "pyrometer"
DEFINED = re.compile(r'\.(?:define|define_view|keep)\(\s*f?"(\w+)"')
SQL = re.compile(r"\b(?:SELECT|FROM|JOIN|WHERE)\b")
READ = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)\b")


def modules() -> dict[str, str]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    assert len(found) > 100
    return found


def queries(source: str) -> Iterator[str]:
    """SQL in the strings of a module."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and SQL.search(node.value)
        ):
            yield node.value


MODULES = modules()
DEFINERS = {
    name: {module for module, text in MODULES.items() if name in DEFINED.findall(text)}
    for name in {found for text in MODULES.values() for found in DEFINED.findall(text)}
}


@pytest.mark.parametrize("view", schema.views().values(), ids=lambda view: view.name)
def test_a_shared_view_is_defined_by_its_owner(view: schema.View):
    assert view.owner in MODULES
    assert view.columns
    assert re.search(rf"\b{view.name}\b", MODULES[view.owner])


def test_a_name_that_another_module_reads_is_declared():
    read = {
        (name, module)
        for module, text in MODULES.items()
        for query in queries(text)
        for name in READ.findall(query)
        if name in DEFINERS and module not in DEFINERS[name]
    }
    assert len(read) > 30
    undeclared = {(name, module) for name, module in read if name not in schema.views()}
    # The same word for a common table expression or a column alias of its own.
    undeclared -= {
        (name, module)
        for name, module in undeclared
        if re.search(rf"\b{name}\s+AS\s*\(|AS\s+{name}\b|\b{name}\s*\(", MODULES[module])
    }
    assert not undeclared
